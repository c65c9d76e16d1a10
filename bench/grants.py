"""Access grants a second: signing alone, and whole requests to a real platform.

Signing: one thread, a parsed public key and a certificate each. Requests: a real
`gpuaas-platform serve` on its embedded PostgreSQL, asked by 16 connections with a personal token;
each certificate's grant, serial, audit row and event were committed before it was answered. Once
with a request for each machine, once with a request for 16 machines, as a controller asks.
Run it with `python -m bench.grants`, or through `make bench`.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from bench.peers_load import Ask, Outcome, Pressure, load, numbers_from, request_bytes
from bench.peers_servers import OURS, Place, server_running
from gpuaas_contract.common import CSRF_HEADER
from gpuaas_contract.identity import CSRF_COOKIE
from gpuaas_platform.custody.certificates import (
    Certificate,
    certificate_sign,
    public_key_line,
    public_key_parse,
)
from gpuaas_platform.kernel.embedded import EmbeddedPostgres

LIMIT = 1000.0
_TOGETHER = 16
_SIGN_SECONDS = 3.0
_EMAIL = "bench@example.test"
_KEY = public_key_line(Ed25519PrivateKey.generate().public_key())
_SKU = {"name": "small", "display_name": "Small", "cpus": 2, "memory_mib": 4096}


@dataclass(frozen=True)
class Row:
    """One figure."""

    name: str
    per_second: float
    p50_ms: float
    p99_ms: float
    note: str


async def measure() -> list[Row]:
    """Sign alone, then ask a platform."""
    rows = [_signing()]
    with _database_running() as (folder, url):
        recipe = replace(OURS, fill=_fill)
        async with server_running(recipe, folder / "platform", url) as server:
            for ask, machines in zip(server.asks, (1, _TOGETHER), strict=True):
                outcome = await asyncio.to_thread(
                    load, server.address, ask, Pressure(), numbers_from(1)
                )
                if outcome.bad or not outcome.latencies:
                    raise RuntimeError(f"not every answer was good: {outcome.first_bad}")
                rows.append(_requests(ask.name, outcome, machines))
    return rows


def within(rows: list[Row]) -> bool:
    """Whether certificates are given out fast enough to a controller that asks for many."""
    return rows[-1].per_second >= LIMIT


def _signing() -> Row:
    authority, now = Ed25519PrivateKey.generate(), datetime.now(UTC)
    waits: list[float] = []
    began = time.perf_counter()
    while (before := time.perf_counter()) - began < _SIGN_SECONDS:
        wanted = Certificate(
            public_key=public_key_parse(_KEY),
            serial=len(waits) + 1,
            key_id="grant=grant_x caller=user_x correlation=cor_x",
            principal="alloc_x",
            valid_after=now,
            valid_before=now + timedelta(minutes=5),
            source_address=["10.0.0.0/8"],
            force_command=None,
            pty=False,
        )
        certificate_sign(authority, wanted)
        waits.append(time.perf_counter() - before)
    rate = len(waits) / (time.perf_counter() - began)
    return _row("signed", rate, waits, "one thread")


def _requests(name: str, outcome: Outcome, machines: int) -> Row:
    note = f"over HTTP, limit {LIMIT:g}/s" if machines > 1 else "over HTTP"
    return _row(name, outcome.per_second * machines, outcome.latencies, note)


def _row(name: str, rate: float, waits: list[float], note: str) -> Row:
    ordered = sorted(waits)
    middle, late = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)]
    return Row(name, rate, 1000 * middle, 1000 * late, note)


async def _fill(place: Place, client: httpx2.AsyncClient) -> tuple[Ask, Ask]:
    """A project with a machine, and a token of somebody who may reach it."""
    url = f"{place.url}/api/v1"

    async def made(path: str, body: object, headers: dict[str, str] | None = None) -> Any:  # noqa: ANN401 - JSON
        answer = await client.post(f"{url}{path}", json=body, headers=headers)
        if not answer.is_success:
            raise RuntimeError(f"{path} answered {answer.status_code}: {answer.text[:300]}")
        return answer.json()

    await made("/sessions", {"email": _EMAIL, "password": (place.folder / "password").read_text()})
    me = (await client.get(f"{url}/whoami")).json()["id"]
    csrf = {CSRF_HEADER: client.cookies[CSRF_COOKIE]}
    token = (await made("/personal-tokens", {"name": "bench"}, csrf))["secret"]
    client.cookies.clear()
    known = {"Authorization": f"Bearer {token}"}
    tenant = (await made("/tenants", {"name": "bench", "admin_user_id": me}, known))["id"]
    project = (await made(f"/tenants/{tenant}/projects", {"name": "bench"}, known))["id"]
    await made("/regions", {"name": "north", "display_name": "North"}, known)
    await made("/skus", _SKU | {"price_per_hour": "1"}, known)
    node = {"region": "north", "sku": "small", "address": "n.lab", "host_keys": [_KEY]}
    wanted = {"sku": "small", "region": "north"}
    held = []
    for number in range(_TOGETHER):
        await made("/nodes", node | {"name": f"n{number}"}, known)
        path = f"/projects/{project}/allocations"
        held.append((await made(path, wanted | {"name": f"a{number}"}, known))["id"])
    path = f"/api/v1/allocations/{held[0]}/access-grants"
    one = request_bytes("POST", path, known, json.dumps({"public_key": _KEY}).encode())
    body = json.dumps({"public_key": _KEY, "allocation_ids": held}).encode()
    all_of_them = request_bytes("POST", "/api/v1/access-grants", known, body)
    return (
        Ask("granted one by one", lambda _: one, partial(_certificates, 1)),
        Ask(
            f"granted {_TOGETHER} at once", lambda _: all_of_them, partial(_certificates, _TOGETHER)
        ),
    )


def _certificates(count: int, status: int, body: bytes) -> bool:
    return status == 201 and body.count(b"-cert-v01@openssh.com ") == count


@contextmanager
def _database_running() -> Iterator[tuple[Path, str]]:
    """A folder for all that is made, and a PostgreSQL in it by its URL."""
    with tempfile.TemporaryDirectory(prefix="gpuaas-bench-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # the database runs as a user of its own
        database = EmbeddedPostgres(folder)
        try:
            yield folder, database.start()
        finally:
            database.stop()


def main() -> None:
    """Measure and show."""
    for row in asyncio.run(measure()):
        print(
            f"{row.name:18} {row.per_second:7.0f}/s  p50 {row.p50_ms:6.2f} ms"
            f"  p99 {row.p99_ms:6.2f} ms  {row.note}"
        )


if __name__ == "__main__":
    main()
