"""SQL of what carries one correlation id in this room, for timelines."""

from typing import Final

from gpuaas_contract.permissions import Permission
from gpuaas_platform.apps.rows import OperationRow, operation_of
from gpuaas_platform.apps.store.instances import columns_of, reach_where
from gpuaas_platform.kernel.caller import Reach
from gpuaas_platform.kernel.correlation import CorrelatedRows, CorrelationQuery, correlated_sql
from gpuaas_platform.kernel.database import Connection, Record

_COLUMNS: Final = ", ".join(columns_of(OperationRow))
# What failed needs somebody first, then what is under way, then the newest of the rest.
_PRESSING: Final = (
    "array_position(ARRAY['failed', 'running', 'accepted', 'requested'], status) NULLS LAST"
)
_STEPS: Final = (
    "(SELECT o.id AS operation_id, o.instance_id, o.member_id, o.kind, o.org_id, o.project_id,"
    " o.attempt, o.lease_holder, o.correlation_id, s.n, s.step,"
    " (s.step ->> 'started_at')::timestamptz AS started_at FROM operations o"
    " CROSS JOIN LATERAL jsonb_array_elements(o.progress) WITH ORDINALITY AS s (step, n)"
    " WHERE s.step ->> 'started_at' IS NOT NULL)"
)
INSTANCES: Final = CorrelatedRows("app_instances", "created_at", "id", Permission.INSTANCE_READ)
MEMBERS: Final = CorrelatedRows("app_members", "created_at", "id", Permission.INSTANCE_READ)
OPERATIONS: Final = CorrelatedRows("operations", "requested_at", "id", Permission.OPERATION_READ)
STEPS: Final = CorrelatedRows(
    _STEPS, "started_at", "operation_id || lpad(n::text, 6, '0')", Permission.OPERATION_READ
)


async def correlated_read(
    conn: Connection, source: CorrelatedRows, query: CorrelationQuery
) -> list[Record]:
    """Rows of one kind that carry a correlation id."""
    sql, args = correlated_sql(source, query)
    return await conn.fetch(sql, *args)


async def operations_pressing(
    conn: Connection, correlation_id: str, reach: Reach, limit: int
) -> list[OperationRow]:
    """Operations that carry a correlation id, the ones that need somebody first."""
    where, args = reach_where(reach)
    args += [correlation_id, limit]
    records = await conn.fetch(
        f"SELECT {_COLUMNS} FROM (SELECT * FROM operations"  # noqa: S608 - code, values are arguments
        f" WHERE correlation_id = ${len(args) - 1} OFFSET 0) AS o WHERE {' AND '.join(where)}"
        f" ORDER BY {_PRESSING}, id DESC LIMIT ${len(args)}",
        *args,
    )
    return [operation_of(record) for record in records]
