"""SQL of what carries one correlation id in this room, for timelines."""

from collections.abc import Sequence
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
# A row carries the id of whatever moved it last, so for an earlier one it is found by operations:
# those about the row, and for members the deploy whose transaction made them (it is about no
# member, and its moment is theirs). Each once, from the moment it was first touched under the id.
# OFFSET 0 makes the planner look each of the few up by its key.
_INSTANCES: Final = (
    "(SELECT i.*, t.correlation_id, t.touched_at FROM"
    " (SELECT correlation_id, id, min(at) AS touched_at FROM"
    " (SELECT correlation_id, instance_id AS id, requested_at AS at FROM operations"
    " UNION ALL SELECT correlation_id, id, updated_at FROM app_instances) AS touches"
    " GROUP BY correlation_id, id) AS t, LATERAL"
    " (SELECT id, org_id, project_id, resource_name, app_slug, status, health, created_by"
    " FROM app_instances WHERE id = t.id OFFSET 0) AS i)"
)
_MEMBERS: Final = (
    "(SELECT m.*, t.correlation_id, t.touched_at FROM"
    " (SELECT correlation_id, id, min(at) AS touched_at FROM"
    " (SELECT correlation_id, member_id AS id, requested_at AS at FROM operations"
    " UNION ALL SELECT correlation_id, new_member_id, requested_at FROM operations"
    " UNION ALL SELECT o.correlation_id, made.id, o.requested_at FROM operations o, LATERAL"
    " (SELECT id FROM app_members WHERE instance_id = o.instance_id"
    " AND created_at = o.requested_at OFFSET 0) AS made"
    " WHERE o.member_id IS NULL AND o.new_member_id IS NULL"
    " UNION ALL SELECT correlation_id, id, updated_at FROM app_members) AS touches"
    " GROUP BY correlation_id, id) AS t, LATERAL"
    " (SELECT id, org_id, project_id, instance_id, component_key, allocation_id, status, health"
    " FROM app_members WHERE id = t.id OFFSET 0) AS m)"
)
INSTANCES: Final = CorrelatedRows(_INSTANCES, "touched_at", "id", Permission.INSTANCE_READ)
MEMBERS: Final = CorrelatedRows(_MEMBERS, "touched_at", "id", Permission.INSTANCE_READ)
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


async def instances_worked(
    conn: Connection, instance_ids: Sequence[str], correlation_ids: Sequence[str]
) -> list[Record]:
    """Instances by id, each with those of the correlation ids that it or an operation carries."""
    return await conn.fetch(
        "SELECT i.id, i.org_id, i.project_id, array(SELECT i.correlation_id"
        " WHERE i.correlation_id = ANY($2::text[])"
        " UNION SELECT o.correlation_id FROM operations o"
        " WHERE o.correlation_id = ANY($2::text[]) AND o.instance_id = i.id) AS correlation_ids"
        " FROM app_instances i WHERE i.id = ANY($1::text[])",
        list(instance_ids),
        list(correlation_ids),
    )


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
