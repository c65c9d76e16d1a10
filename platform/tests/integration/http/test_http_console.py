"""The console's files: hashed ones for ever, the page never cached, nothing outside the folder."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from gpuaas_platform.http.edge import Edge
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    folder = tmp_path / "dist"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html>page")
    (folder / "assets" / "a-1.js").write_text("plain")
    (folder / "assets" / "a-1.js.br").write_bytes(b"brotli")
    (tmp_path / "secret.txt").write_text("outside")
    return Settings(data_dir=tmp_path, console_dir=folder)


@pytest.fixture
async def browser(platform: Platform) -> AsyncIterator[httpx2.AsyncClient]:
    edge = Edge(platform.parts["test.app"], max_body_bytes=1024)
    transport = httpx2.ASGITransport(edge)
    async with httpx2.AsyncClient(transport=transport, base_url="http://test") as made:
        yield made


@pytest.mark.parametrize("path", ["/", "/instances/inst_1", "/sign-in?return_to=/x"])
async def test_deep_links_get_the_page(browser: httpx2.AsyncClient, path: str) -> None:
    answer = await browser.get(path)
    assert answer.text.endswith("page")
    assert answer.headers["Cache-Control"] == "no-cache"
    assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
    assert "unsafe" not in answer.headers["Content-Security-Policy"]


async def test_hashed_files_are_kept_and_compressed(browser: httpx2.AsyncClient) -> None:
    headers = {"Accept-Encoding": "br"}
    async with browser.stream("GET", "/assets/a-1.js", headers=headers) as answer:
        raw = b"".join([chunk async for chunk in answer.aiter_raw()])
    assert raw == b"brotli"
    assert answer.headers["Content-Encoding"] == "br"
    assert "immutable" in answer.headers["Cache-Control"]
    plain = await browser.get("/assets/a-1.js", headers={"Accept-Encoding": "identity"})
    assert plain.text == "plain"


async def test_missing_asset_is_no_page(browser: httpx2.AsyncClient) -> None:
    """A page kept for ever under a script's name would break the console after an update."""
    answer = await browser.get("/assets/a-0.js")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    "path", ["/../secret.txt", "/%2e%2e/secret.txt", "/assets/../../secret.txt"]
)
async def test_nothing_outside_the_folder(browser: httpx2.AsyncClient, path: str) -> None:
    assert "outside" not in (await browser.get(path)).text


async def test_unknown_api_path_is_a_problem(browser: httpx2.AsyncClient) -> None:
    answer = await browser.get("/api/v1/nothing")
    assert answer.headers["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("name", ["%00", "a" * 300, "a/" * 1500, "%f0%9f%98%80" * 70])
@pytest.mark.parametrize("folder", ["", "assets/"])
async def test_a_name_no_file_can_have_is_not_found(
    browser: httpx2.AsyncClient, capfd: pytest.CaptureFixture[str], folder: str, name: str
) -> None:
    answer = await browser.get(f"/{folder}{name}")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert answer.json()["detail"] == "There is no such page."
    assert "Traceback" not in "".join(capfd.readouterr())
