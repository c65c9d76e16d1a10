"""Whose word counts about where a request came from: a proxy on this host, and those named."""

import asyncio
import json

import httpx2
from served_platform import served

FAR = {"X-Forwarded-For": "203.0.113.9"}
NAMED, UNNAMED = "127.0.0.2", "127.0.0.3"
WRONG_PASSWORD, NEEDS_TLS = 401, 409


async def test_only_known_proxies_say_who_calls(database_url: str) -> None:
    trusted = json.dumps([f"{NAMED}/32"])
    with served(DATABASE_URL=database_url, TRUSTED_PROXIES=trusted) as platform:
        url = await asyncio.to_thread(platform.await_listening)
        assert await _sign_in(url, "127.0.0.1", FAR) == NEEDS_TLS
        assert await _sign_in(url, NAMED, FAR) == NEEDS_TLS
        assert await _sign_in(url, NAMED, FAR | {"X-Forwarded-Proto": "https"}) == WRONG_PASSWORD
        assert await _sign_in(url, UNNAMED, FAR) == WRONG_PASSWORD, "believed somebody unknown"


async def _sign_in(url: str, proxy: str, headers: dict[str, str]) -> int:
    """The answer to a sign-in of nobody, asked for from this address.

    A password that came from another machine in the clear is refused before it is looked at.
    """
    who = {"email": "nobody@example.org", "password": "correct horse battery"}
    transport = httpx2.AsyncHTTPTransport(local_address=proxy)
    async with httpx2.AsyncClient(transport=transport, headers=headers) as client:
        return (await client.post(f"{url}/sessions", json=who)).status_code
