"""A reader of OCI registries: manifests and blobs by digest, as their specification says.

Used by `pulling.py`. Signs in where the registry asks for it (basic, or a token from the place the
registry names), follows redirects to where blobs really lie without taking the password along, and
checks nothing of the content: that is the caller's.
"""

import base64
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode, urljoin, urlsplit

import httpcore2
import msgspec

from gpuaas_platform.artifacts.blob_store import CHUNK
from gpuaas_platform.kernel.outbound import Guard, GuardedBackend
from gpuaas_platform.kernel.problems import Unavailable
from gpuaas_platform.kernel.tls import client_context

MANIFEST_MAX: Final = 4 * 1024 * 1024
_SECONDS: Final = {"connect": 10.0, "read": 30.0, "write": 30.0, "pool": 30.0}
_REDIRECTS: Final = 5
_ACCEPT: Final = ", ".join(
    [
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.v2+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
    ]
)
_CHALLENGE: Final = re.compile(r'(\w+)="([^"]*)"')


class RegistryRefused(Exception):
    """The registry answered, and trying again would not change it."""


@dataclass(frozen=True, repr=False)
class Login:
    """Who the platform is to a registry."""

    username: str
    password: str


@dataclass(frozen=True)
class Repository:
    """Where to pull from."""

    address: str
    plain_http: bool
    login: Login | None
    guard: Guard | None

    @property
    def base(self) -> str:
        """The beginning of every URL of the repository."""
        parts = urlsplit(self.address)
        scheme = "http" if self.plain_http else "https"
        return f"{scheme}://{parts.netloc}/v2{parts.path}"

    @property
    def name(self) -> str:
        """What the registry calls it."""
        return urlsplit(self.address).path.lstrip("/")


class Registry:
    """Connections to one repository. Use as an async context manager through `registry_open`."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._pools = {
            scheme: httpcore2.AsyncConnectionPool(
                ssl_context=client_context(),
                max_connections=4,
                network_backend=GuardedBackend(repository.guard, encrypted=scheme == "https"),
            )
            for scheme in ("http", "https")
        }
        self._authorization: str | None = None

    async def close(self) -> None:
        """Close every connection."""
        for pool in self._pools.values():
            await pool.aclose()

    async def manifest(self, digest: str) -> bytes:
        """A manifest, as the registry has it."""
        url = f"{self._repository.base}/manifests/{digest}"
        async with self._asked(url, {"Accept": _ACCEPT}) as response:
            return await _read(response, MANIFEST_MAX)

    async def blob(self, digest: str) -> AsyncIterator[bytes]:
        """A blob, as it comes."""
        url = f"{self._repository.base}/blobs/{digest}"
        async with self._asked(url, {}) as response:
            gathered = bytearray()
            async for chunk in response.aiter_stream():
                gathered += chunk
                if len(gathered) >= CHUNK:
                    yield bytes(gathered)
                    gathered.clear()
            yield bytes(gathered)

    @asynccontextmanager
    async def _asked(
        self, url: str, headers: Mapping[str, str]
    ) -> AsyncIterator[httpcore2.Response]:
        """An answer with the content; signs in once if the registry asks for it."""
        try:
            async with self._followed(url, headers) as response:
                if response.status != 401 or self._authorization is not None:
                    yield _good(response)
                    return
                challenge = _header(response, b"www-authenticate")
            self._authorization = await self._signed_in(challenge)
            async with self._followed(url, headers) as response:
                yield _good(response)
        except (httpcore2.NetworkError, httpcore2.TimeoutException) as error:
            raise Unavailable(f"The registry {urlsplit(url).netloc}", retry_after=10) from error
        except httpcore2.ProtocolError as error:
            raise Unavailable(f"The registry {urlsplit(url).netloc}", retry_after=10) from error

    @asynccontextmanager
    async def _followed(
        self, url: str, headers: Mapping[str, str]
    ) -> AsyncIterator[httpcore2.Response]:
        home = urlsplit(url).netloc
        for _ in range(_REDIRECTS):
            sent = {"Host": urlsplit(url).netloc, "User-Agent": "gpuaas-platform", **headers}
            if self._authorization is not None and urlsplit(url).netloc == home:
                sent["Authorization"] = self._authorization
            async with self._get(url, sent) as response:
                if response.status not in {301, 302, 303, 307, 308}:
                    yield response
                    return
                url = urljoin(url, _header(response, b"location"))
        raise RegistryRefused("the registry redirects without end")

    @asynccontextmanager
    async def _get(self, url: str, headers: Mapping[str, str]) -> AsyncIterator[httpcore2.Response]:
        pool = self._pools.get(urlsplit(url).scheme)
        if pool is None:
            raise RegistryRefused("the registry redirects to something that is not HTTP")
        async with pool.stream(
            "GET", url, headers=list(headers.items()), extensions={"timeout": _SECONDS}
        ) as response:
            yield response

    async def _signed_in(self, challenge: str) -> str:
        """The header a registry's challenge asks for."""
        login = self._repository.login
        basic = None
        if login is not None:
            pair = f"{login.username}:{login.password}".encode()
            basic = f"Basic {base64.b64encode(pair).decode()}"
        kind, _, rest = challenge.partition(" ")
        if kind.lower() == "bearer":
            return await self._token(dict(_CHALLENGE.findall(rest)), basic)
        if basic is None:
            raise RegistryRefused("the registry asks for a user name and a password")
        return basic

    async def _token(self, asked: Mapping[str, str], basic: str | None) -> str:
        realm = asked.get("realm", "")
        scope = asked.get("scope") or f"repository:{self._repository.name}:pull"
        url = f"{realm}?{urlencode({'service': asked.get('service', ''), 'scope': scope})}"
        headers = {"Host": urlsplit(url).netloc, "User-Agent": "gpuaas-platform"}
        if basic is not None:
            headers["Authorization"] = basic
        async with self._get(url, headers) as response:
            told = await _read(_good(response), MANIFEST_MAX)
        try:
            answer = msgspec.json.decode(told, type=dict)
        except msgspec.DecodeError as error:
            raise RegistryRefused("the registry's token service answers no token") from error
        token = answer.get("token") or answer.get("access_token")
        if not isinstance(token, str):
            raise RegistryRefused("the registry's token service answers no token")
        return f"Bearer {token}"


@asynccontextmanager
async def registry_open(repository: Repository) -> AsyncIterator[Registry]:
    """A registry for the length of a block."""
    registry = Registry(repository)
    try:
        yield registry
    finally:
        await registry.close()


def _good(response: httpcore2.Response) -> httpcore2.Response:
    if response.status == 200:
        return response
    if response.status >= 500 or response.status == 429:
        raise Unavailable(f"The registry answers {response.status} and", retry_after=10)
    raise RegistryRefused(
        {
            401: "the registry does not accept the user name and password",
            403: "the registry does not let the platform read this repository",
            404: "the registry has no such manifest or blob",
        }.get(response.status, f"the registry answers {response.status}")
    )


async def _read(response: httpcore2.Response, limit: int) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_stream():
        body += chunk
        if len(body) > limit:
            raise RegistryRefused(f"the registry sends more than {limit} bytes")
    return bytes(body)


def _header(response: httpcore2.Response, name: bytes) -> str:
    found = [value for key, value in response.headers if key.lower() == name]
    return found[0].decode("latin-1") if found else ""
