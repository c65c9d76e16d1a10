"""What an ID token must prove: signature, issuer, audience, time, nonce; nothing else passes."""

import base64
import hmac
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

from gpuaas_platform.identity.oidc import Person, Provider, TokenRefused, operator_config
from gpuaas_platform.identity.oidc_flow import Flow
from gpuaas_platform.kernel.problems import PlatformError
from gpuaas_platform.kernel.settings import Settings

ISSUER = "https://id.example.org"
NOW = datetime(2026, 3, 1, tzinfo=UTC)
FLOW = Flow("secret", "/")
KEY = RSAKey.generate_key(2048, {"kid": "one"})


class FakeProvider:
    """The provider's side of the wire, in memory: answers with the token it was given."""

    def __init__(self, token: str, user_info: dict[str, Any] | None = None) -> None:
        self.token = token
        self.user_info = user_info or {}
        self.keys = [KEY.as_dict(private=False)]
        self.asked: list[httpx2.Request] = []

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request)
        match request.url.path:
            case "/.well-known/openid-configuration":
                return httpx2.Response(200, json=self.metadata())
            case "/keys":
                return httpx2.Response(200, json={"keys": self.keys})
            case "/token":
                return httpx2.Response(200, json={"id_token": self.token, "access_token": "at"})
            case _:
                return httpx2.Response(200, json=self.user_info)

    def metadata(self) -> dict[str, Any]:
        return {
            "issuer": ISSUER,
            "authorization_endpoint": f"{ISSUER}/authorize",
            "token_endpoint": f"{ISSUER}/token",
            "userinfo_endpoint": f"{ISSUER}/me",
            "jwks_uri": f"{ISSUER}/keys",
        }


def claims(**changed: Any) -> dict[str, Any]:
    usual = {
        "iss": ISSUER,
        "aud": "gpuaas",
        "sub": "42",
        "exp": int(NOW.timestamp()) + 300,
        "iat": int(NOW.timestamp()) - 1,
        "nonce": FLOW.nonce,
        "email": "ada@example.org",
        "groups": ["staff"],
    }
    return {k: v for k, v in (usual | changed).items() if v is not None}


def signed(payload: dict[str, Any], key: RSAKey = KEY) -> str:
    return jwt.encode({"alg": "RS256", "kid": key.kid}, payload, key)


def part(value: dict[str, Any]) -> str:
    return text(json.dumps(value).encode())


def text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


async def person_of(fake: FakeProvider, **settings: Any) -> Person:
    given = {"oidc_issuer": ISSUER, "oidc_client_id": "gpuaas", "data_dir": Path("/nowhere")}
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(fake.answer)) as http:
        provider = Provider(operator_config(Settings.model_validate(given | settings)), http)
        return await provider.person("code", FLOW, "https://us/callback", NOW)


async def test_a_sound_token_tells_who_it_is() -> None:
    fake = FakeProvider(signed(claims()))
    found = await person_of(fake)
    assert (found.subject, found.email) == ("42", "ada@example.org")
    assert found.groups == {"staff"}
    assert not found.email_verified
    form = fake.asked[1].content.decode()
    assert "code_verifier=" in form
    assert "client_id=gpuaas" in form


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "https://other.example.org"},
        {"iss": None},
        {"aud": "somebody-else"},
        {"aud": ["somebody-else"]},
        {"aud": None},
        {"aud": ["gpuaas", "somebody-else"]},
        {"aud": ["gpuaas", "somebody-else"], "azp": "somebody-else"},
        {"azp": "somebody-else"},
        {"exp": int(NOW.timestamp()) - 61},
        {"exp": None},
        {"exp": float("nan")},
        {"iat": int(NOW.timestamp()) + 120},
        {"iat": None},
        {"nonce": "another sign-in's"},
        {"nonce": None},
        {"sub": None},
    ],
)
async def test_a_claim_that_does_not_hold_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(TokenRefused):
        await person_of(FakeProvider(signed(claims(**changed))))


async def test_another_key_under_a_known_name_is_refused() -> None:
    impostor = RSAKey.generate_key(2048, {"kid": "one"})
    with pytest.raises(TokenRefused):
        await person_of(FakeProvider(signed(claims(), impostor)))


async def test_an_unsigned_token_is_refused() -> None:
    with pytest.raises(TokenRefused):
        await person_of(FakeProvider(f"{part({'alg': 'none'})}.{part(claims())}."))


async def test_a_public_key_is_no_shared_secret() -> None:
    body = f"{part({'alg': 'HS256', 'kid': 'one'})}.{part(claims())}"
    forged = hmac.digest(KEY.as_pem(private=False), body.encode(), "sha256")
    with pytest.raises(TokenRefused):
        await person_of(FakeProvider(f"{body}.{text(forged)}"))


async def test_a_published_shared_secret_is_not_used() -> None:
    shared = OctKey.generate_key(256, {"kid": "shared"})
    token = jwt.encode({"alg": "HS256", "kid": "shared"}, claims(), shared)
    fake = FakeProvider(token)
    fake.keys.append(shared.as_dict(private=True))
    with pytest.raises(TokenRefused):
        await person_of(fake)


async def test_user_info_fills_in_what_the_token_lacks() -> None:
    more = {"sub": "42", "groups": ["staff"], "email": "ada@example.org", "email_verified": True}
    found = await person_of(FakeProvider(signed(claims(groups=None, email=None)), more))
    assert found.email_verified
    assert found.groups == {"staff"}


async def test_user_info_of_somebody_else_is_refused() -> None:
    with pytest.raises(TokenRefused):
        await person_of(FakeProvider(signed(claims(groups=None)), {"sub": "43"}))


async def test_a_provider_that_calls_itself_otherwise_is_refused() -> None:
    with pytest.raises(TokenRefused):
        await person_of(FakeProvider(signed(claims())), oidc_issuer="https://id.example.org/")


async def test_plain_http_is_for_this_machine_only() -> None:
    with pytest.raises(PlatformError):
        await person_of(FakeProvider(""), oidc_issuer="http://id.example.org")
