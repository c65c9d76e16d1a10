"""What is asked of usage is found by an index, however much of it there is."""

from collections.abc import Sequence
from typing import Any

from billing_fixtures import T0, Ledger

from gpuaas_contract.manifest import UsageUnit
from gpuaas_platform.billing import store
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.database import Connection

MANY = """
INSERT INTO usage_records
SELECT 'use_' || lpad(n::text, 26, '0'), 'allocation', 'node_hour', 'alloc_' || n % 5000, 'a',
       'org_' || n % 20, 'proj_' || n % 200, 'sku_' || n % 40, 1, 0.5, 'EUR', 'charged', 'observed',
       $1::timestamptz + n * interval '1 minute',
       CASE WHEN n <= 19500 THEN $1::timestamptz + n * interval '1 minute' + interval '1 hour' END,
       'cor', CASE WHEN n <= 19500 THEN 'cor' END
FROM generate_series(1, 20000) AS n
"""


class Explaining:
    """Stands where a connection does: keeps the plan of every statement, runs none."""

    def __init__(self, conn: Connection) -> None:
        self._conn = conn
        self.plans: list[str] = []

    async def fetch(self, sql: str, *args: object) -> Sequence[Any]:
        rows = await self._conn.fetch(f"EXPLAIN {sql}", *args)
        self.plans.append("\n".join(row[0] for row in rows))
        return []


async def test_no_statement_reads_every_record(ledger: Ledger) -> None:
    admin = ledger.admin
    await admin.execute(MANY, T0)
    await admin.execute("ANALYZE usage_records")
    first = await admin.fetchval("SELECT min(started_at) FROM usage_records")
    last = await admin.fetchval("SELECT max(started_at) FROM usage_records")
    late = first + (last - first) * 0.95
    explaining: Any = Explaining(admin)
    for place in (Place("org_7", "proj_7"), Place("org_7")):
        for period in (
            store.Period(place, late, last),
            store.Period(place, late, last, unit=UsageUnit.NODE_HOUR),
        ):
            await store.record_list(explaining, period, None, 101)
            await store.record_list(explaining, period, (late.isoformat(), "use_x"), 101)
            for by in ("day", "project", "total"):
                await store.usage_sum(explaining, period, by)
    await store.records_of(explaining, ["alloc_7", "alloc_8"], first, last)
    await store.stretches_open(explaining, ["alloc_7"], ["sku_7"])
    await store.last_ends(explaining, ["alloc_7", "alloc_8"])
    assert [plan for plan in explaining.plans if "Seq Scan on usage_records" in plan] == []
