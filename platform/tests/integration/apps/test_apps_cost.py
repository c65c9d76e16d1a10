"""What is asked often is found by an index, however many operations there are."""

from collections.abc import Sequence
from typing import Any

from apps_fixtures import Site

from gpuaas_contract.states import OperationStatus
from gpuaas_platform.apps.store import controllers, instances, operations
from gpuaas_platform.apps.store.instances import InstanceFilter, MemberFilter
from gpuaas_platform.apps.store.operations import ClaimFilter, OperationFilter
from gpuaas_platform.kernel.caller import Reach
from gpuaas_platform.kernel.database import Connection

EVERYWHERE = Reach(everywhere=True, org_ids=(), project_ids=())
COPIES = (
    "INSERT INTO operations SELECT r.* FROM operations o, generate_series(1, 20000) n,"
    " LATERAL jsonb_populate_record(o, jsonb_build_object("
    " 'id', 'op_' || lpad(n::text, 26, '0'), 'instance_id', 'inst_' || (n % 200),"
    " 'status', CASE WHEN n % 500 = 0 THEN 'requested' ELSE 'succeeded' END,"
    " 'ready', n % 500 = 0, 'correlation_id', 'cor-' || n, 'position', 1000 + n)) r"
    " WHERE o.id = $1"
)
INSTANCES = (
    "INSERT INTO app_instances SELECT r.* FROM app_instances i, generate_series(0, 199) n,"
    " LATERAL jsonb_populate_record(i, jsonb_build_object("
    " 'id', 'inst_' || n, 'resource_name', 'i' || n)) r WHERE i.id = $1"
)


class Explaining:
    """Stands where a connection does: keeps the plan of every statement, runs none."""

    def __init__(self, conn: Connection) -> None:
        self._conn = conn
        self.plans: list[str] = []

    async def fetch(self, sql: str, *args: object) -> Sequence[Any]:
        rows = await self._conn.fetch(f"EXPLAIN {sql}", *args)
        self.plans.append("\n".join(row[0] for row in rows))
        return []

    async def fetchrow(self, sql: str, *args: object) -> None:
        await self.fetch(sql, *args)

    async def fetchval(self, sql: str, *args: object) -> int:
        await self.fetch(sql, *args)
        return 0


async def test_no_statement_reads_a_whole_table(site: Site) -> None:
    requested = await site.deploy()
    operation_id, instance_id = requested["operation"]["id"], requested["instance"]["id"]
    await site.platform.db.execute(INSTANCES, instance_id)
    await site.platform.db.execute(COPIES, operation_id)
    now = site.platform.clock.now()
    project = Reach(False, (), (str(site.place.project_id),))
    tenant = Reach(False, (str(site.place.org_id),), ())
    async with site.platform.db.transaction() as conn:
        await conn.execute("SET LOCAL ROLE NONE")
        await conn.execute("ANALYZE operations")
        await conn.execute("ANALYZE app_instances")
        explaining: Any = Explaining(conn)
        for reach in (EVERYWHERE, tenant, project):
            for wanted in (
                ClaimFilter(reach, "echo", None, None),
                ClaimFilter(reach, "echo", site.place.project_id, None),
                ClaimFilter(reach, "echo", None, "inst_7"),
            ):
                await operations.claimable_lock(explaining, wanted, now, 10)
                await operations.claim_peek(explaining, wanted, now)
            for filters in (
                OperationFilter(reach),
                OperationFilter(reach, instance_id="inst_7"),
                OperationFilter(reach, correlation_id="cor-9"),
                OperationFilter(reach, status=[OperationStatus.FAILED]),
                OperationFilter(reach, status=[OperationStatus.REQUESTED, OperationStatus.RUNNING]),
            ):
                await operations.operation_list(explaining, filters, "op_9", 51)
            await instances.instance_list(explaining, InstanceFilter(reach), None, 51)
        await operations.operation_read(explaining, operation_id)
        await operations.operations_open_lock(explaining, instance_id)
        await operations.queue_read(explaining, instance_id)
        await operations.dependents_lock(explaining, operation_id)
        await operations.claims_count(explaining, instance_id)
        holder = await instances.instance_read(conn, instance_id)
        assert holder is not None
        await instances.observer_take(explaining, holder, b"digest", now)
        await operations.leases_lapsed(explaining, now, 200)
        await operations.steps_overdue(explaining, now, 200)
        await instances.members_live(explaining, [instance_id])
        await instances.member_list(explaining, MemberFilter(instance_id), None, 51)
        await controllers.absence_changed(explaining, now, 200)
    scans = [plan for plan in explaining.plans if "Seq Scan on operations" in plan]
    assert len(explaining.plans) > 40
    assert not scans, scans[0]


async def test_claims_look_at_nothing_that_cannot_be_claimed(site: Site) -> None:
    """The index of claimable work holds claimable work alone."""
    requested = await site.deploy()
    await site.platform.db.execute(INSTANCES, requested["instance"]["id"])
    await site.platform.db.execute(COPIES, requested["operation"]["id"])
    async with site.platform.db.transaction() as conn:
        await conn.execute("SET LOCAL ROLE NONE")
        await conn.execute("ANALYZE operations")
        pages = "SELECT reltuples FROM pg_class WHERE oid = 'gpuaas.operations_claimable'::regclass"
        assert await conn.fetchval(pages) == 41
