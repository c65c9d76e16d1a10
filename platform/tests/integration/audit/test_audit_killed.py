"""Kill -9 between any two statements of the chain's and the relay's step changes nothing."""

import tempfile
from pathlib import Path
from typing import Literal

import asyncpg
import pytest
from duty_process import duty_process
from eventually import eventually
from statement_proxy import Plan, statement_proxy

from gpuaas_platform.audit.chain import entries_chain
from gpuaas_platform.audit.verify import Scope, chain_verify
from gpuaas_platform.events.store.sequence import outbox_relay
from gpuaas_platform.kernel.database import Database

CHAIN, STATEMENTS = b"FROM audit_unchained u JOIN", 4  # take, read the tail, append, commit
RELAY = b"FROM relay("  # one statement
_ENTRIES = 7
_EVENTS = 9


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    ("part", "marker", "statement"),
    [("chain", CHAIN, number) for number in range(STATEMENTS)] + [("relay", RELAY, 0)],
)
async def test_killed_between_statements(
    database_url: str, part: str, marker: bytes, statement: int, when: Literal["before", "after"]
) -> None:
    with tempfile.TemporaryDirectory(prefix="gpuaas-proxy-") as folder:
        await _fill(database_url)
        sockets = Path(database_url.rsplit("host=", 1)[1])
        proxied = database_url.replace(str(sockets), folder)
        plan = Plan(marker, statement, when)
        async with statement_proxy(sockets, Path(folder), plan):
            with duty_process(part, proxied, Path(folder)) as process:
                plan.act = lambda _: process.kill()

                async def killed() -> bool:
                    return process.poll() is not None

                await eventually(killed, within=120)
        assert plan.acted.is_set()
    await _assert_whole(database_url)


async def _fill(url: str) -> None:
    """Entries and events that wait, as mutations left them."""
    conn = await asyncpg.connect(url, server_settings={"search_path": "gpuaas"})
    await conn.execute(
        "INSERT INTO audit_entries (id, at, action, outcome, actor_kind, actor_id, target_kind,"
        " target_id, correlation_id, source) SELECT 'aud_' || n, now(), 'a.b', 'allowed', 'user',"
        " 'u', 'thing', 't', 'c', 'local' FROM generate_series(1, $1::int) AS n",
        _ENTRIES,
    )
    await conn.execute(
        "INSERT INTO audit_unchained (entry_id) SELECT 'aud_' || n"
        " FROM generate_series(1, $1::int) AS n",
        _ENTRIES,
    )
    await conn.execute(
        "INSERT INTO outbox (id, type, subject, at, correlation_id, data) SELECT 'evt_' || n,"
        " 'a.b', 's', now(), 'c', jsonb_build_object('n', n)"
        " FROM generate_series(1, $1::int) AS n",
        _EVENTS,
    )
    await conn.close()


async def _assert_whole(url: str) -> None:
    db = Database(url, size=4)
    await db.open()
    try:
        async with db.connection() as conn:  # whoever comes next
            await entries_chain(conn, 500)
            await outbox_relay(conn, 500)
        found = await chain_verify(db, Scope())
        assert (found.fault, found.verified_to, found.waiting) == (None, _ENTRIES, 0)
        rows = await db.fetch("SELECT seq, data FROM events WHERE type = 'a.b' ORDER BY seq")
        assert [(row["seq"], row["data"]["n"]) for row in rows] == [
            (n, n) for n in range(1, _EVENTS + 1)
        ]
        assert await db.fetchval("SELECT count(*) FROM outbox") == 0
    finally:
        await db.close()
