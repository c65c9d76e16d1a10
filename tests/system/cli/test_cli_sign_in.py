"""Signing in with a browser: the command shows a code, a person lets it in, also through OIDC."""

import base64
import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest
from cli_site import BIN, EMAIL, PASSWORD, Site, served_site
from oidc_fixtures import REDIRECT_URI, RunningProvider, provider_running
from oidc_provider import CLIENT_ID, CLIENT_SECRET

from gpuaas_platform.identity.totp import code_at

_PUBLIC = REDIRECT_URI.removesuffix("/api/v1/auth/oidc/callback")


@pytest.fixture(scope="module")
def provider() -> Iterator[RunningProvider]:
    with provider_running() as made:
        yield made


@pytest.fixture(scope="module")
def site(provider: RunningProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A platform whose people sign in with a password or through a real provider."""
    secret = Path(tmp_path_factory.mktemp("oidc")) / "client-secret"
    secret.write_text(CLIENT_SECRET)
    with served_site(
        GPUAAS_PUBLIC_URL=_PUBLIC,
        GPUAAS_OIDC_ISSUER=provider.issuer,
        GPUAAS_OIDC_CLIENT_ID=CLIENT_ID,
        GPUAAS_OIDC_CLIENT_SECRET_FILE=str(secret),
    ) as made:
        yield made


@pytest.fixture
def browser(site: Site) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=f"{site.url}/api/v1", timeout=30) as client:
        yield client


async def test_somebody_of_an_organisation_signs_in_through_its_provider(
    site: Site, browser: httpx2.Client, provider: RunningProvider
) -> None:
    login, code = begun(site, "--name", "ada")
    start = browser.get("/auth/oidc/start", params={"return_to": f"/device?code={code}"})
    back = await provider.visit(start.headers["location"], "ada")
    landed = browser.get(back.replace(_PUBLIC, site.url))
    assert landed.headers["location"] == f"/device?code={code}"

    shown = browser.get(f"/device-sign-ins/{code}").json()
    assert (shown["status"], shown["name"].startswith("gpuaas on ")) == ("pending", True)
    assert decided(browser, code, approve=True) == "approved"

    out, err = login.communicate(timeout=60)
    assert login.returncode == 0, err
    assert "as ada@example.org" in out
    assert site.done("whoami", "--context", "ada")["email"] == "ada@example.org"
    assert site.gpuaas("logout", "ada").code == 0
    assert browser.get("/personal-tokens").json()["items"] == []


def test_a_terminal_that_is_refused_says_so(site: Site, browser: httpx2.Client) -> None:
    assert browser.post("/sessions", json={"email": EMAIL, "password": PASSWORD}).is_success
    login, code = begun(site, "--name", "refused")
    assert decided(browser, code, approve=False) == "denied"
    _, err = login.communicate(timeout=60)
    assert login.returncode == 1
    assert "denied" in err
    assert site.gpuaas("context", "show", "refused").code == 1


def test_whoever_cannot_be_asked_is_told_the_ways(site: Site) -> None:
    said = site.gpuaas("login", "--url", site.url, "--no-input")
    assert said.code == 1
    assert "--browser" in said.err


def begun(site: Site, *words: str) -> tuple[subprocess.Popen[str], str]:
    """A login that waits, and the code it shows."""
    login = site.process("gpuaas", "login", "--browser", "--url", site.url, *words)
    assert login.stderr is not None
    opened, compare = login.stderr.readline(), login.stderr.readline()
    page = urlsplit(opened.split()[-1])
    code = compare.split()[-1]
    assert f"{page.scheme}://{page.netloc}{page.path}?{page.query}" == (
        f"{_PUBLIC}/device?code={code}"
    )
    assert re.fullmatch(r"[A-Z]{4}-[A-Z]{4}", code)
    return login, code


def decided(browser: httpx2.Client, code: str, *, approve: bool) -> str:
    headers = {"X-CSRF-Token": browser.cookies["gpuaas_csrf"]}
    answer = browser.post(
        f"/device-sign-ins/{code}/decide", json={"approve": approve}, headers=headers
    )
    assert answer.status_code == 200, answer.text
    status: str = json.loads(answer.text)["status"]
    return status


def test_a_password_asks_for_the_code_of_the_second_factor(
    site: Site, browser: httpx2.Client
) -> None:
    """At a terminal it is asked for; without one the message says how to give it."""
    assert browser.post("/sessions", json={"email": EMAIL, "password": PASSWORD}).is_success
    codes = second_factor(browser)
    words = ("login", "--url", site.url, "--email", EMAIL, "--password-file", "password")
    try:
        alone = site.gpuaas(*words, "--name", "coded")
        assert alone.code == 3
        assert "Send the code of your authenticator app" in alone.err
        assert "gpuaas login --code CODE" in alone.err
        given = site.gpuaas(*words, "--name", "coded", "--code", codes.pop())
        assert (given.code, given.err) == (0, "")
        out, asked = typed(site, codes.pop(), *words, "--name", "typed")
        assert "code of your authenticator app, or a recovery code:" in asked
        assert f"as {EMAIL}" in out
    finally:
        changed(browser, f"/second-factors/{factor_id(browser)}/remove", PROOF)


PROOF = {"current_password": PASSWORD}


def second_factor(browser: httpx2.Client) -> list[str]:
    """Set one up; its recovery codes."""
    begun = changed(browser, "/second-factors", PROOF).json()
    secret = base64.b32decode(begun["secret"])
    body = {"code": code_at(secret, int(time.time()) // 30)}
    codes: list[str] = changed(browser, f"/second-factors/{begun['id']}/confirm", body).json()[
        "recovery_codes"
    ]
    return codes


def factor_id(browser: httpx2.Client) -> str:
    found: str = browser.get("/second-factors").json()["items"][0]["id"]
    return found


def changed(browser: httpx2.Client, path: str, body: dict[str, str]) -> httpx2.Response:
    headers = {"X-CSRF-Token": browser.cookies["gpuaas_csrf"]}
    answer = browser.post(path, json=body, headers=headers)
    assert answer.is_success, answer.text
    return answer


def typed(site: Site, line: str, *words: str) -> tuple[str, str]:
    """What a command says at a terminal at which one line is typed."""
    terminal, its_end = os.openpty()
    try:
        process = subprocess.Popen(
            [str(BIN / "gpuaas"), *words],
            cwd=site.folder,
            env=site.environment(),
            stdin=its_end,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        os.write(terminal, f"{line}\n".encode())
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    finally:
        os.close(terminal)
        os.close(its_end)
    return out, err
