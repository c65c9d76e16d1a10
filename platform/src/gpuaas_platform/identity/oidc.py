"""The OIDC provider as a client sees it: discovery, keys, the code's exchange, the ID token.

One per process, kept in the platform's parts. Talks to the provider outside of any transaction, and
knows nothing of users or roles.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import httpx2
import structlog
from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from gpuaas_contract.errors import ErrorCode
from gpuaas_platform.identity.oidc_flow import Flow
from gpuaas_platform.kernel.outbound import TargetUnreachable
from gpuaas_platform.kernel.problems import PlatformError, Unavailable
from gpuaas_platform.kernel.settings import Settings

_log = structlog.get_logger(__name__)
_ALGORITHMS: Final = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
)  # fmt: skip
_LEEWAY_SECONDS: Final = 60
_METADATA_AGE: Final = timedelta(hours=1)
_REFETCH_EVERY: Final = timedelta(seconds=5)
_ANSWER_BYTES: Final = 1_000_000
_ERROR_CODE_MAX: Final = 40
_ASKED_SECONDS: Final = 20.0


class TokenRefused(Exception):
    """The provider's answer does not prove who somebody is; the message says why, for the log."""


@dataclass(frozen=True)
class Person:
    """Somebody as the provider knows them."""

    issuer: str
    subject: str
    email: str | None
    email_verified: bool
    name: str | None
    groups: frozenset[str]


@dataclass(frozen=True)
class _Metadata:
    authorization_endpoint: str
    token_endpoint: str
    userinfo_endpoint: str | None
    jwks_uri: str
    post_secret: bool


@dataclass(frozen=True, repr=False)
class ProviderConfig:
    """What is known of a provider beforehand. `id` and `org_id` where it is a tenant's."""

    issuer: str
    name: str
    client_id: str
    client_secret: str | None
    scopes: str
    groups_claim: str
    create_users: bool
    trust_email: bool
    id: str | None = None
    org_id: str | None = None


def operator_config(settings: Settings) -> ProviderConfig:
    """The operator's provider, which the settings name."""
    if settings.oidc_issuer is None or settings.oidc_client_id is None:
        raise PlatformError(
            ErrorCode.INVALID_REQUEST, "GPUAAS_OIDC_ISSUER needs GPUAAS_OIDC_CLIENT_ID."
        )
    return ProviderConfig(
        issuer=settings.oidc_issuer,
        name=settings.oidc_name,
        client_id=settings.oidc_client_id,
        client_secret=_secret(settings.oidc_client_secret_file),
        scopes=settings.oidc_scopes,
        groups_claim=settings.oidc_groups_claim,
        create_users=settings.oidc_create_users,
        trust_email=settings.oidc_trust_email,
    )


class Provider:
    """A configured provider; asks it for its endpoints and keys when they are first needed."""

    def __init__(self, config: ProviderConfig, http: httpx2.AsyncClient) -> None:
        _secure_require(config.issuer)
        self.config = config
        self.issuer = config.issuer
        self.name = config.name
        self._client_id = config.client_id
        self._client_secret = config.client_secret
        self._scopes = config.scopes
        self._groups_claim = config.groups_claim
        self._http = http
        self._lock = asyncio.Lock()
        self._metadata: tuple[_Metadata, datetime] | None = None
        self._keys: tuple[KeySet, datetime] | None = None
        self._refetched_at: datetime | None = None

    async def check(self, now: datetime) -> None:
        """Read its description and its keys; raises where a sign-in would fail on them."""
        await self._keys_with(None, now)

    async def authorization_url(self, flow: Flow, redirect_uri: str, now: datetime) -> str:
        """Where to send the browser."""
        metadata = await self._discovered(now)
        query = {
            "response_type": "code",
            "client_id": self._client_id,
            "redirect_uri": redirect_uri,
            "scope": self._scopes,
            "state": flow.state,
            "nonce": flow.nonce,
            "code_challenge": flow.challenge,
            "code_challenge_method": "S256",
        }
        joint = "&" if "?" in metadata.authorization_endpoint else "?"
        return f"{metadata.authorization_endpoint}{joint}{urlencode(query)}"

    async def person(self, code: str, flow: Flow, redirect_uri: str, now: datetime) -> Person:
        """Redeem a code and check what it proves."""
        metadata = await self._discovered(now)
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": flow.verifier,
        }
        auth = None
        if self._client_secret is None or metadata.post_secret:
            form["client_id"] = self._client_id
        if self._client_secret is not None:
            if metadata.post_secret:
                form["client_secret"] = self._client_secret
            else:
                auth = httpx2.BasicAuth(self._client_id, self._client_secret)
        answer = await self._asked("POST", metadata.token_endpoint, data=form, auth=auth)
        id_token, access_token = answer.get("id_token"), answer.get("access_token")
        if not isinstance(id_token, str):
            raise TokenRefused("the provider sent no ID token")
        claims = await self._claims(id_token, flow, now)
        if self._incomplete(claims) and metadata.userinfo_endpoint and access_token:
            more = await self._asked(
                "GET",
                metadata.userinfo_endpoint,
                headers={"Authorization": f"Bearer {access_token}"},
            )
            if more.get("sub") != claims["sub"]:
                raise TokenRefused("the user info is somebody else's")
            claims = {**more, **claims}
        return self._person(claims)

    async def _claims(self, id_token: str, flow: Flow, now: datetime) -> dict[str, Any]:
        """The claims of an ID token, once its signature and every claim we rely on holds."""
        try:
            kid = jws.extract_compact(id_token.encode()).headers().get("kid")
            keys = await self._keys_with(kid, now)
            token = jwt.decode(id_token, keys, algorithms=list(_ALGORITHMS))
            jwt.JWTClaimsRegistry(
                now=int(now.timestamp()),
                leeway=_LEEWAY_SECONDS,
                iss={"essential": True, "value": self.issuer},
                aud={"essential": True, "value": self._client_id},
                sub={"essential": True},
                exp={"essential": True},
                iat={"essential": True},
                nonce={"essential": True, "value": flow.nonce},
            ).validate(token.claims)
        except (JoseError, ValueError, KeyError) as error:
            raise TokenRefused(f"{type(error).__name__}: {error}") from error
        claims = token.claims
        others = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        if (others or "azp" in claims) and claims.get("azp") != self._client_id:
            raise TokenRefused("the ID token was made for another client")
        return claims

    async def _keys_with(self, kid: str | None, now: datetime) -> KeySet:
        """The provider's keys; fetched again when a token names one we have not seen.

        Not more often than every few seconds: a flood of made-up key ids must not reach the
        provider.
        """
        async with self._lock:
            if self._keys is None or now - self._keys[1] > _METADATA_AGE:
                self._keys = await self._keys_fetched(now), now
            known = {key.kid for key in self._keys[0].keys}
            due = self._refetched_at is None or now - self._refetched_at >= _REFETCH_EVERY
            if kid is not None and kid not in known and due:
                self._refetched_at = now
                self._keys = await self._keys_fetched(now), now
                _log.info("oidc_keys_fetched_again", issuer=self.issuer)
            return self._keys[0]

    async def _keys_fetched(self, now: datetime) -> KeySet:
        metadata = await self._discovered(now)
        found = await self._asked("GET", metadata.jwks_uri)
        signing = [key for key in found.get("keys", ()) if isinstance(key, dict) and _signs(key)]
        try:
            return KeySet.import_key_set({"keys": signing})
        except (JoseError, ValueError) as error:
            raise TokenRefused(f"the provider's keys cannot be read: {error}") from error

    async def _discovered(self, now: datetime) -> _Metadata:
        if self._metadata is not None and now - self._metadata[1] <= _METADATA_AGE:
            return self._metadata[0]
        where = f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"
        found = await self._asked("GET", where)
        if found.get("issuer") != self.issuer:
            raise TokenRefused(f"the provider calls itself {found.get('issuer')}")
        methods = found.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        try:
            made = _Metadata(
                authorization_endpoint=str(found["authorization_endpoint"]),
                token_endpoint=str(found["token_endpoint"]),
                userinfo_endpoint=found.get("userinfo_endpoint"),
                jwks_uri=str(found["jwks_uri"]),
                post_secret="client_secret_basic" not in methods,
            )
        except KeyError as error:
            raise TokenRefused(f"the provider's description lacks {error}") from error
        for where in (made.authorization_endpoint, made.token_endpoint, made.jwks_uri):
            if not _secure(where):
                raise TokenRefused("the provider's description names an address without https")
        self._metadata = made, now
        return made

    async def _asked(self, method: str, url: str, **how: Any) -> dict[str, Any]:  # noqa: ANN401 - the client's options
        """The JSON object the provider answers with."""
        if not _secure(url):
            raise TokenRefused("an address of the provider is without https")
        try:
            async with (
                asyncio.timeout(_ASKED_SECONDS),
                self._http.stream(method, url, **how) as answer,
            ):
                body = await _body(answer)
        except (httpx2.HTTPError, TargetUnreachable, OSError) as error:
            _log.warning("oidc_provider_silent", url=url, error=type(error).__name__)
            raise Unavailable("The identity provider") from error
        except (httpx2.InvalidURL, UnicodeError) as error:
            raise TokenRefused("an address of the provider cannot be") from error
        if answer.status_code >= 500:
            raise Unavailable("The identity provider")
        found = _object(answer, body)
        if answer.status_code != 200:
            code = str(found.get("error", ""))[:_ERROR_CODE_MAX]
            raise TokenRefused(f"the provider answered {answer.status_code} {code}")
        return found

    def _incomplete(self, claims: Mapping[str, Any]) -> bool:
        return "email" not in claims or self._groups_claim not in claims

    def _person(self, claims: Mapping[str, Any]) -> Person:
        groups = claims.get(self._groups_claim, ())
        groups = [groups] if isinstance(groups, str) else groups
        email = claims.get("email")
        return Person(
            issuer=self.issuer,
            subject=str(claims["sub"]),
            email=email if isinstance(email, str) else None,
            email_verified=claims.get("email_verified") in (True, "true"),
            name=claims["name"] if isinstance(claims.get("name"), str) else None,
            groups=frozenset(str(group) for group in groups)
            if isinstance(groups, (list, tuple))
            else frozenset(),
        )


async def _body(answer: httpx2.Response) -> bytes:
    """The answer's body; a provider may be a tenant's, so no more is read than is needed."""
    body = b""
    async for part in answer.aiter_bytes():
        body += part
        if len(body) > _ANSWER_BYTES:
            raise TokenRefused("the provider's answer is too long")
    return body


def _object(answer: httpx2.Response, body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except ValueError as error:
        raise TokenRefused(f"the provider answered {answer.status_code} and no JSON") from error
    if not isinstance(found, dict):
        raise TokenRefused("the provider's answer is no JSON object")
    return found


def _signs(key: Mapping[str, Any]) -> bool:
    """Whether a published key may verify signatures; a symmetric one must never."""
    return key.get("use", "sig") == "sig" and key.get("kty") in {"RSA", "EC", "OKP"}


def _secret(file: Path | None) -> str | None:
    return None if file is None else file.read_text().strip()


def _secure_require(issuer: str) -> None:
    if not _secure(issuer):
        raise PlatformError(
            ErrorCode.INVALID_REQUEST, "The address of an identity provider begins with https://."
        )


def _secure(url: str) -> bool:
    """Only HTTPS, but for a provider on this machine."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    if parts.scheme == "https":
        return True
    return parts.scheme == "http" and parts.hostname in {"127.0.0.1", "::1", "localhost"}
