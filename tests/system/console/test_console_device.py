"""Letting a terminal in, in a real browser: `gpuaas login` waits beside it."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from console_ground import BIN, OWNER, PASSWORD, Ground
from playwright.async_api import expect


@pytest.fixture
def login(site: Ground, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A terminal that waits to be let in."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    process = subprocess.Popen(
        [str(BIN / "gpuaas"), "login", "--browser", "--url", site.home],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield process
    process.kill()
    process.communicate()


def shown(login: subprocess.Popen[str]) -> tuple[str, str]:
    """The page and the code a terminal shows."""
    assert login.stderr is not None
    opened, compare = login.stderr.readline(), login.stderr.readline()
    page = urlsplit(opened.split()[-1])
    return f"{page.path}?{page.query}", compare.split()[-1]


async def test_a_terminal_is_let_in_after_signing_in(
    visit: Any, login: subprocess.Popen[str]
) -> None:
    where, code = shown(login)
    page = await visit()
    await page.goto(where)
    await page.get_by_label("Email").fill(OWNER)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await expect(page.get_by_role("heading", name=code)).to_be_visible()
    await expect(page.get_by_text("gpuaas on ")).to_be_visible()
    await page.get_by_role("button", name="Let it in").click()
    await expect(page.get_by_text("The terminal is let in.")).to_be_visible()
    out, err = login.communicate(timeout=60)
    assert login.returncode == 0, err
    assert f"as {OWNER}" in out


async def test_a_terminal_is_refused_by_its_code_typed(
    visit: Any, login: subprocess.Popen[str]
) -> None:
    _, code = shown(login)
    page = await visit(OWNER)
    await page.goto("/device")
    await page.get_by_label("Code").fill(code.lower())
    await page.get_by_role("button", name="Continue").click()
    await page.get_by_role("button", name="Refuse").click()
    await expect(page.get_by_text("The terminal was refused.")).to_be_visible()
    _, err = login.communicate(timeout=60)
    assert login.returncode == 1
    assert "denied" in err
