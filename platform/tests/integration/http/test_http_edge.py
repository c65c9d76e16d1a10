"""Bodies, headers and links that hold for every route: nesting, caching, TLS, the Host header."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from platform_calls import bearer

from gpuaas_contract.permissions import RoleName
from gpuaas_platform.http.app import asgi_make
from gpuaas_platform.http.edge import Edge
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.public_url import base_of, public_base
from gpuaas_platform.kernel.settings import Settings

JSON = {"Content-Type": "application/json"}
TOO_DEEP = "/: JSON may be nested 64 levels deep at most"


@pytest.fixture
def admin(callers: Any) -> dict[str, str]:
    return bearer(callers.add(RoleName.PLATFORM_ADMIN))


@pytest.fixture
async def https(platform: Platform) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of the application as it is served behind TLS."""
    edge = Edge(platform.parts["test.app"], max_body_bytes=1024, https=True)
    transport = httpx2.ASGITransport(edge)
    async with httpx2.AsyncClient(transport=transport, base_url="http://test") as made:
        yield made


def nested(levels: int, start: str = '{"a":', end: str = "}") -> str:
    """Objects or arrays in each other, so many levels deep."""
    return start * (levels - 1) + "{}" + end * (levels - 1)


@pytest.mark.parametrize("levels", [65, 500, 100_000])
@pytest.mark.parametrize("shape", [('{"a":', "}"), ("[", "]")])
async def test_deeply_nested_json_is_refused(
    client: httpx2.AsyncClient, admin: dict[str, str], shape: tuple[str, str], levels: int
) -> None:
    for path in ("/regions", "/projects/proj_x/app-instances", "/sessions"):
        answer = await client.post(path, content=nested(levels, *shape), headers=admin | JSON)
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request"), path
        assert answer.json()["detail"] == TOO_DEEP


async def test_deeply_nested_settings_are_refused(
    client: httpx2.AsyncClient, admin: dict[str, str]
) -> None:
    body = f'{{"settings": {nested(500)}}}'
    answer = await client.patch("/app-instances/inst_x", content=body, headers=admin | JSON)
    assert (answer.status_code, answer.json()["detail"]) == (422, TOO_DEEP)


async def test_a_media_type_in_capitals_is_held_to_it_too(
    client: httpx2.AsyncClient, admin: dict[str, str]
) -> None:
    headers = admin | {"Content-Type": "application/JSON; charset=utf-8"}
    answer = await client.post("/regions", content=nested(500), headers=headers)
    assert (answer.status_code, answer.json()["detail"]) == (422, TOO_DEEP)


async def test_nesting_is_counted_outside_of_strings_and_across_pieces(
    client: httpx2.AsyncClient, admin: dict[str, str]
) -> None:
    words = {"name": "north", "display_name": '[{"' * 30 + "\\" * 30}
    made = await client.post("/regions", content=json.dumps(words), headers=admin | JSON)
    assert made.status_code == 201, made.text

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, 1000, 7):
            yield nested(200).encode()[start : start + 7]

    answer = await client.post("/regions", content=pieces(), headers=admin | JSON)
    assert (answer.status_code, answer.json()["detail"]) == (422, TOO_DEEP)


async def test_json_in_another_encoding_hides_no_nesting(
    client: httpx2.AsyncClient, admin: dict[str, str]
) -> None:
    body = ('{"\u2222": ' + nested(500) + "}").encode("utf-16-le")
    answer = await client.post("/regions", content=body, headers=admin | JSON)
    assert (answer.status_code, answer.json()["detail"]) == (422, "/: JSON is sent as UTF-8")


async def test_no_answer_of_the_api_is_stored_by_a_cache(
    client: httpx2.AsyncClient, admin: dict[str, str]
) -> None:
    made = await client.post("/device-sign-ins", json={"name": "laptop"})
    assert made.json()["secret"]
    read = await client.get("/regions", headers=admin)
    refused = await client.get("/regions")
    for answer in (made, read, refused):
        assert answer.headers["Cache-Control"] == "no-store"


async def test_https_is_required_of_browsers_where_the_public_url_has_it(
    platform: Platform, client: httpx2.AsyncClient, https: httpx2.AsyncClient
) -> None:
    path = "/api/v1/auth/methods"
    assert (await https.get(path)).headers["Strict-Transport-Security"] == "max-age=31536000"
    assert "Strict-Transport-Security" not in (await client.get("/auth/methods")).headers
    platform.settings.__dict__["public_url"] = "https://gpuaas.example.org/"
    served = httpx2.ASGITransport(asgi_make(platform))
    async with httpx2.AsyncClient(transport=served, base_url="http://test") as made:
        assert "Strict-Transport-Security" in (await made.get(path)).headers


async def test_links_come_from_the_public_url_and_never_from_the_host_header(
    platform: Platform, client: httpx2.AsyncClient, admin: dict[str, str]
) -> None:
    forged = admin | {"Host": "attacker.example"}
    region = {"name": "north", "display_name": "North"}
    sku = {"name": "small", "display_name": "S", "cpus": 1, "memory_mib": 1, "price_per_hour": "1"}
    assert (await client.post("/regions", json=region, headers=admin)).is_success
    assert (await client.post("/skus", json=sku, headers=admin)).is_success

    async def linked(name: str) -> tuple[str, str]:
        shown = await client.post("/device-sign-ins", json={"name": "laptop"}, headers=forged)
        node = {"name": name, "region": "north", "sku": "small", "address": "127.0.0.9"}
        made = await client.post("/enrolments", json={"node": node}, headers=forged)
        assert "attacker" not in shown.text + made.text
        url: str = shown.json()["verification_url"]
        return url, made.json()["command"].split()[-2]

    page, platform_url = await linked("n1")
    assert page.startswith("/device?code=")
    assert platform_url == "http://127.0.0.1:8470"
    platform.settings.__dict__["public_url"] = "https://gpuaas.example.org/"
    page, platform_url = await linked("n2")
    assert page.startswith("https://gpuaas.example.org/device?code=")
    assert platform_url == "https://gpuaas.example.org"


def test_a_public_url_is_used_without_its_last_slash() -> None:
    settings = Settings(public_url="https://gpuaas.example.org/")
    assert public_base(settings) == base_of(settings, 1, None) == "https://gpuaas.example.org"
    assert public_base(Settings()) == ""
