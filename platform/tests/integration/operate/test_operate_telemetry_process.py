"""The platform's own log lines in timelines, by a real process: kept through its death."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
from eventually import eventually_sync
from served_platform import served

from gpuaas_contract.identity import CSRF_COOKIE

EMAIL, PASSWORD = "root@example.org", "correct horse battery staple"
CORRELATION = "odd-value-1"


async def test_a_line_is_kept_through_the_death_of_its_process(
    database_url: str, tmp_path: Path
) -> None:
    await asyncio.to_thread(_killed_and_asked, database_url, tmp_path)


def _killed_and_asked(database_url: str, tmp_path: Path) -> None:
    (tmp_path / "password").write_text(PASSWORD)
    data = tmp_path / "data"
    data.mkdir()
    environment = {
        "DATA_DIR": str(data),
        "DATABASE_URL": database_url,
        "LOG_LEVEL": "info",
        "BOOTSTRAP_ADMIN_EMAIL": EMAIL,
        "BOOTSTRAP_ADMIN_PASSWORD_FILE": str(tmp_path / "password"),
    }
    with served(**environment) as first:
        first.await_listening()
        with _signed_in(first.url) as client:
            refused = client.post(
                "/gaps",
                json={"category": "app_problem", "title": "a\x00b"},
                headers={"X-Correlation-ID": CORRELATION},
            )
            assert refused.status_code in {400, 422}, refused.text
            before = _until_told(client)
        first.kill()
    with served(**environment) as second:
        second.await_listening()
        with _signed_in(second.url) as client:
            assert _until_told(client) == before
            answer = client.post("/gaps", json={"category": "app_problem", "title": "later"})
            assert answer.status_code == 201, answer.text
    assert [line["title"] for line in before] == ["value_refused_by_database"]
    assert before[0]["actor"] == "platform"


@contextmanager
def _signed_in(url: str) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=url, timeout=30) as client:
        answer = client.post("/sessions", json={"email": EMAIL, "password": PASSWORD})
        assert answer.status_code == 201, answer.text
        client.headers["X-CSRF-Token"] = client.cookies[CSRF_COOKIE]
        yield client


def _until_told(client: httpx2.Client) -> list[dict[str, Any]]:
    """The lines of the timeline, once there are any: they are written twice a second."""

    def lines() -> list[dict[str, Any]]:
        answer = client.get(f"/correlations/{CORRELATION}")
        entries = answer.json()["entries"] if answer.status_code == 200 else []
        return [entry for entry in entries if entry["kind"] == "log"]

    return eventually_sync(lines, what="a line of the log")
