"""How each room tells its part of what carries one correlation id.

A room's service has `correlated(conn, query)`: its rows with the id that the caller may see, in the
order of time, behind a place in it, so many at most. The operate room merges them into a timeline.
Tables have `correlation_id` (indexed), `org_id` and `project_id`; the cost follows the rows that
carry the id, never the size of the table.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from gpuaas_contract.common import Scope
from gpuaas_contract.operate import TimelineEntry
from gpuaas_contract.permissions import Permission
from gpuaas_platform.kernel.caller import Caller, Place
from gpuaas_platform.kernel.listing import Conditions

BEGINNING: Final = (datetime(1, 1, 1, tzinfo=UTC), "")


@dataclass(frozen=True)
class CorrelationQuery:
    """What is asked of a room: rows with the id, behind a time and key, for this caller."""

    correlation_id: str
    caller: Caller
    after: tuple[datetime, str]
    limit: int


@dataclass(frozen=True)
class Correlated:
    """One entry and what orders it among entries of its kind and moment."""

    key: str
    entry: TimelineEntry


@dataclass(frozen=True)
class CorrelatedRows:
    """Where a room's rows are: SQL of the rows, of their time, and of their order in a moment.

    `mine` is the column of the caller's own rows, visible wherever they are.
    """

    rows: str
    at: str
    key: str
    permission: Permission
    mine: str | None = None


def correlated_sql(source: CorrelatedRows, query: CorrelationQuery) -> tuple[str, list[object]]:
    """A SELECT of the rows a caller may see, with `tl_at` and `tl_key`, and its arguments.

    Seen is what the caller could read by itself and where timelines may be read; nothing more.
    """
    at, key = query.after
    conditions = Conditions(args=[query.correlation_id, at, key])
    seen = _seen(source, query, conditions)
    behind = f'({source.at}) > $2 OR (({source.at}) = $2 AND ({source.key}) COLLATE "C" > $3)'
    # OFFSET 0 keeps the planner from walking another index to save the sort of a few rows.
    sql = (
        f"SELECT r.*, ({source.at}) AS tl_at, ({source.key}) AS tl_key FROM"  # noqa: S608 - code, values are arguments
        f" (SELECT * FROM {source.rows} AS c WHERE correlation_id = $1 OFFSET 0) AS r"
        f" WHERE ({behind}) AND {seen}"
        f' ORDER BY ({source.at}), ({source.key}) COLLATE "C" LIMIT {query.limit:d}'
    )
    return sql, conditions.args


def scope_of(place: Place) -> Scope:
    """A place as the contract writes it."""
    return Scope(kind=place.kind, org_id=place.org_id, project_id=place.project_id)


def _seen(source: CorrelatedRows, query: CorrelationQuery, conditions: Conditions) -> str:
    """Both permissions hold at the row's place, or it is the caller's own."""
    within = []
    for permission in dict.fromkeys((source.permission, Permission.CORRELATION_READ)):
        reach = query.caller.reach(permission)
        if reach.everywhere:
            continue
        orgs, projects = len(conditions.args) + 1, len(conditions.args) + 2
        conditions.args += [list(reach.org_ids), list(reach.project_ids)]
        within.append(f"(org_id = ANY(${orgs}::text[]) OR project_id = ANY(${projects}::text[]))")
    seen = " AND ".join(within) or "true"
    if source.mine is None:
        return f"({seen})"
    conditions.args.append(query.caller.id)
    return f"({seen} OR {source.mine} = ${len(conditions.args)})"
