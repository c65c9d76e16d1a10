"""A timeline costs what it shows: every part is found by its index, however full the tables are."""

from apps_fixtures import Site

from gpuaas_contract.permissions import ROLES, RoleName
from gpuaas_platform.apps.store import correlated as apps
from gpuaas_platform.audit import store as audit
from gpuaas_platform.capacity.store import machines as capacity
from gpuaas_platform.events.store import overview as events
from gpuaas_platform.kernel.caller import Caller, CallerKind, Grant
from gpuaas_platform.kernel.correlation import BEGINNING, CorrelationQuery, correlated_sql
from gpuaas_platform.operate import store as operate

ROWS = 20_000
_FILL = {
    "requests": "INSERT INTO requests (id, at, correlation_id, method, path, status, actor_id,"
    " org_id, project_id) SELECT 'req_' || n, $3, 'cor-' || n, 'POST', '/x', 202, 'u', $1, $2"
    " FROM generate_series(1, $4::int) n",
    "audit_entries": "INSERT INTO audit_entries (id, at, action, outcome, actor_kind, actor_id,"
    " org_id, project_id, target_kind, target_id, correlation_id, source) SELECT 'aud_' || n, $3,"
    " 'a.b', 'allowed', 'user', 'u', $1, $2, 't', 'x', 'cor-' || n, 'local'"
    " FROM generate_series(1, $4::int) n",
    "events": "INSERT INTO events (seq, id, type, subject, at, org_id, project_id, correlation_id,"
    " data) SELECT 1000000 + n, 'evt_' || n, 'a.b', 's', $3, $1, $2, 'cor-' || n, '{}'"
    " FROM generate_series(1, $4::int) n",
    "telemetry": "INSERT INTO telemetry (correlation_id, place, at, key, org_id, project_id, kind,"
    " title, status, source, fields) SELECT 'cor-' || n, $2, $3, 'k' || n, $1, $2, 'log', 't',"
    " 'info', 's', '{}' FROM generate_series(1, $4::int) n",
    "telemetry_shares": "INSERT INTO telemetry_shares (correlation_id, place, org_id, project_id,"
    " kept, dropped, dropped_at, first_at) SELECT 'cor-' || n, $2, $1, $2, 1, 1, $3, $3"
    " FROM generate_series(1, $4::int) n",
}
# Copies of a row that is there, `$1` of them; some columns must differ to be allowed.
_COPY = (
    "INSERT INTO {table} SELECT r.* FROM {table} o, generate_series(1, $1::int) n,"
    " LATERAL jsonb_populate_record(o, jsonb_build_object('id', 'copy_' || n, 'correlation_id',"
    " 'cor-' || n, {differs})) r WHERE o.id = (SELECT id FROM {table} LIMIT 1)"
)
_COPIES = {
    "app_instances": "'resource_name', 'copy-' || n",
    "app_members": "'status', 'removed', 'created_at', o.created_at + n * interval '1 second'",
    "operations": "'status', 'succeeded', 'exclusive', false, 'member_id', null",
    "allocations": "'name', 'copy-' || n",
}


async def test_every_part_is_found_by_its_index(site: Site) -> None:
    await site.deploy()
    await _fill(site)
    project_admin = Caller(
        CallerKind.USER,
        "u",
        site.place,
        (Grant(frozenset(ROLES[RoleName.PROJECT_ADMIN]), site.place),),
    )
    query = CorrelationQuery("cor-77", project_admin, BEGINNING, 201)
    sources = {
        "requests": operate._REQUESTS,
        "lines and spans": operate._TOLD,
        "lines that are missing": operate._LOST,
        "audit": audit._CORRELATED,
        "events": events._CORRELATED,
        "allocations": capacity._CORRELATED,
        "instances": apps.INSTANCES,
        "members": apps.MEMBERS,
        "operations": apps.OPERATIONS,
        "steps": apps.STEPS,
    }
    for name, source in sources.items():
        sql, args = correlated_sql(source, query)
        rows = await site.platform.db.fetch(f"EXPLAIN {sql}", *args)
        plan = "\n".join(row[0] for row in rows)
        scans = [line for line in plan.splitlines() if " Scan " in line]
        scans = [line for line in scans if "Subquery" not in line and "Function" not in line]
        assert all(any(way in line for way in _BY_INDEX) for line in scans), plan
        assert any("_correlation" in line for line in scans), f"{name}:\n{plan}"


# By the id itself; then, for each row that carries it, by key what it is about.
_BY_INDEX = ("_correlation", "Heap Scan", "using app_instances_pkey", "using app_members_")


async def _fill(site: Site) -> None:
    now = site.platform.clock.now()
    async with site.platform.db.connection() as conn:
        await conn.execute("SET ROLE NONE")
        for sql in _FILL.values():
            await conn.execute(sql, site.place.org_id, site.place.project_id, now, ROWS)
        for table, differs in _COPIES.items():
            await conn.execute(_COPY.format(table=table, differs=differs), ROWS)
        for table in (*_FILL, *_COPIES):
            await conn.execute(f"ANALYZE {table}")
        await conn.execute("SET ROLE gpuaas_app")
