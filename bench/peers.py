"""Requests a second beside dstack's and Prefect's servers: an authenticated list, a small mutation.

All three from their packages, one process each, on one real PostgreSQL with a database each, asked
by the same 16 connections in the same run; while one is asked, the others stand still. What is
asked is the nearest each has. The list: 50 of our projects, 50 of dstack's projects, 50 of
Prefect's flows. The mutation: we create a project, and its audit row, its event in the outbox, the
trace of the request and the stored answer for its idempotency key are in the same transaction;
dstack creates a secret, with its event in the transaction, no stored answer (its projects cost an
RSA key each, which would measure that); Prefect creates a flow, its event goes through memory after
the commit and may be lost, no stored answer. We and dstack look the token up in the database for
every request; Prefect compares one password. Answers that are not what was asked for do not count.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.peers_environment import PeersPostgres, environment_ready
from bench.peers_load import Outcome, Pressure, load, numbers_from
from bench.peers_servers import OURS, PEERS, Server, server_running

LIMIT_RATIO = 5.0
_ROUNDS = 3
_Found = dict[tuple[str, str], list[Outcome]]


@dataclass(frozen=True)
class Row:
    """One server under one kind of request; `ours_to_theirs` is how many times as many we serve."""

    request: str
    server: str
    per_second: float
    p50_ms: float
    p99_ms: float
    not_counted: int
    ours_to_theirs: float


async def measure() -> list[Row]:
    """Start all three, then measure one after the other, round by round."""
    environment_ready()
    with _database_running() as (folder, url):
        async with AsyncExitStack() as stack:
            servers = []
            for recipe in (OURS, *PEERS):
                running = server_running(recipe, folder / recipe.name, url)
                servers.append(await stack.enter_async_context(running))
                servers[-1].pause()
            return await _compared(servers, Pressure())


def within(rows: list[Row]) -> bool:
    """Whether we serve so many times what each of the others serves, of both kinds."""
    return all(row.ours_to_theirs >= LIMIT_RATIO for row in rows if row.server != OURS.name)


@contextmanager
def _database_running() -> Iterator[tuple[Path, str]]:
    """A folder for all that is made, and a PostgreSQL in it by its URL."""
    with tempfile.TemporaryDirectory(prefix="gpuaas-bench-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # the database runs as a user of its own
        database = PeersPostgres(folder / "database")
        try:
            yield folder, database.start()
        finally:
            database.stop()


async def _compared(servers: list[Server], pressure: Pressure) -> list[Row]:
    """In rounds, so that what else the machine does falls on all of them.

    All lists come before all mutations: a list must find the same rows in every round.
    """
    found: _Found = {}
    numbers = numbers_from(1)
    for which in range(2):
        for _ in range(_ROUNDS):
            for server in servers:
                ask = server.asks[which]
                server.resume()
                outcome = await asyncio.to_thread(load, server.address, ask, pressure, numbers)
                server.pause()
                if not outcome.latencies:
                    raise RuntimeError(f"{server.name} answered nothing good: {outcome.first_bad}")
                found.setdefault((server.name, ask.name), []).append(outcome)
    return [_row(found, server, request) for server, request in found]


def _row(found: _Found, server: str, request: str) -> Row:
    outcomes = found[server, request]
    waits = sorted(wait for outcome in outcomes for wait in outcome.latencies)
    return Row(
        request=request,
        server=server,
        per_second=_rate(outcomes),
        p50_ms=1000 * waits[len(waits) // 2],
        p99_ms=1000 * waits[int(len(waits) * 0.99)],
        not_counted=sum(outcome.bad for outcome in outcomes),
        ours_to_theirs=_rate(found[OURS.name, request]) / _rate(outcomes),
    )


def _rate(outcomes: list[Outcome]) -> float:
    return statistics.median(outcome.per_second for outcome in outcomes)


def main() -> None:
    """Measure and show."""
    for row in asyncio.run(measure()):
        print(
            f"{row.request:9} {row.server:8} {row.per_second:8.0f}/s"
            f"  p50 {row.p50_ms:7.1f} ms  p99 {row.p99_ms:7.1f} ms"
            f"  not counted {row.not_counted}  ours/theirs {row.ours_to_theirs:.1f}"
        )


if __name__ == "__main__":
    main()
