"""The real OIDC provider as a test's process, and a person at its pages."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin

import httpx2
from oidc_provider import CLIENT_ID, CLIENT_SECRET, PASSWORD

from gpuaas_platform.kernel.settings import Settings

REDIRECT_URI = "http://test/api/v1/auth/oidc/callback"


class RunningProvider:
    """A provider on loopback."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer

    def settings(self, folder: Path, **more: object) -> Settings:
        """Settings of a platform that signs people in through it."""
        secret = folder / "client-secret"
        secret.write_text(CLIENT_SECRET + "\n")
        given: dict[str, object] = {
            "data_dir": folder,
            "rate_limit_per_second": 1e6,
            "rate_limit_burst": 1_000_000,
            "public_url": "http://test",
            "oidc_issuer": self.issuer,
            "oidc_client_id": CLIENT_ID,
            "oidc_client_secret_file": secret,
        }
        return Settings.model_validate(given | more)

    async def change(self, **wanted: object) -> None:
        """Rotate its keys (`rotate=True`), say who is in which group (`groups={…}`), or where
        it may send browsers back to as well (`redirect_uri=…`).
        """
        async with httpx2.AsyncClient(timeout=60) as client:
            answer = await client.post(f"{self.issuer}/test/state", json=wanted)
            assert answer.status_code == 200, answer.text

    async def visit(self, url: str, name: str) -> str:
        """Sign in at the provider's own pages; the address it sends the browser back to."""
        await self.change(forget_codes=True)
        async with httpx2.AsyncClient(base_url=self.issuer, timeout=60) as client:
            answer = await client.get(url)
            for _ in range(12):
                if answer.is_redirect:
                    url = urljoin(str(answer.request.url), answer.headers["location"])
                    if url.startswith(REDIRECT_URI):
                        return url
                    answer = await client.get(url)
                    continue
                form = _Form(answer.text)
                known = {"login": name, "password": PASSWORD, "answer": "accept"}
                filled = form.fields | {k: v for k, v in known.items() if k in form.seen}
                answer = await client.post(str(answer.request.url), data=filled)
        raise AssertionError(f"the provider led nowhere: {answer.status_code} {answer.text[:2000]}")


class _Form(HTMLParser):
    """The hidden fields of a page's forms, and the names of all."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self.seen: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        name = found.get("name")
        if tag in {"input", "button"} and name:
            self.seen.add(name)
            if found.get("type") == "hidden":
                self.fields[name] = found.get("value") or ""


@contextmanager
def provider_running(redirect_uri: str = REDIRECT_URI) -> Iterator[RunningProvider]:
    """A provider for the length of a block, that sends browsers back to this address alone."""
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("oidc_provider.py")), redirect_uri],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield RunningProvider(json.loads(process.stdout.readline())["issuer"])
    finally:
        process.communicate("", timeout=60)
