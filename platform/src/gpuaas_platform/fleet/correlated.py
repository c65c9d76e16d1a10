"""Part of this room in a timeline: node tasks, and the end of what their scripts wrote.

Called by the operate room. Shows nothing the caller could not read here by id.
"""

from typing import Final

from gpuaas_contract.common import API_PREFIX
from gpuaas_contract.operate import EntrySpan, TimelineEntry, TimelineKind
from gpuaas_platform.fleet.store import tasks as store
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.correlation import Correlated, CorrelationQuery, scope_of
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.masking import secrets_masked

_LINES: Final = 20
_LINE_LENGTH: Final = 500


async def tasks_correlated(conn: Connection, query: CorrelationQuery) -> list[Correlated]:
    """Tasks that carry a correlation id."""
    return [_task(row) for row in await store.tasks_correlated(conn, query)]


async def outputs_correlated(conn: Connection, query: CorrelationQuery) -> list[Correlated]:
    """What scripts under a correlation id wrote last: the log of what was done on machines."""
    return [_output(row) for row in await store.outputs_correlated(conn, query)]


def _task(row: Record) -> Correlated:
    result = row["result"] or {}
    entry = TimelineEntry(
        at=row["created_at"],
        kind=TimelineKind.TASK,
        id=row["id"],
        title=f"Task “{_what(row)}” on {row['allocation_id']}: {row['status']}.",
        status=row["status"],
        actor=row["created_by"],
        scope=scope_of(_place(row)),
        links={"task": f"{API_PREFIX}/node-tasks/{row['id']}"},
        detail={
            "kind": row["kind"],
            "allocation_id": row["allocation_id"],
            "code": result.get("code"),
            "message": result.get("message"),
        },
        span=_span(row),
    )
    return Correlated(row["tl_key"], entry)


def _output(row: Record) -> Correlated:
    """One entry for the whole: it has no moments of its own, and its end tells most."""
    text = secrets_masked(bytes(row["tail"] or b"").decode(errors="replace"))
    lines = [line[:_LINE_LENGTH] for line in text.splitlines()[-_LINES:]]
    entry = TimelineEntry(
        at=row["tl_at"],
        kind=TimelineKind.LOG,
        id=f"{row['id']}/output",
        title=f"Task “{_what(row)}” on {row['allocation_id']} wrote {row['output_bytes']} bytes.",
        status="output",
        scope=scope_of(_place(row)),
        links={"output": f"{API_PREFIX}/node-tasks/{row['id']}/output"},
        detail={"output": lines, "span_id": row["id"]},
    )
    return Correlated(row["tl_key"], entry)


def _what(row: Record) -> str:
    return str(row["label"] or row["kind"].replace("_", " "))


def _place(row: Record) -> Place:
    return Place(row["org_id"], row["project_id"])


def _span(row: Record) -> EntrySpan | None:
    """How long it ran, by the machine's word where there is one."""
    if row["started_at"] is None:
        return None
    seconds = (row["result"] or {}).get("seconds")
    if seconds is None and row["ended_at"] is not None:
        seconds = (row["ended_at"] - row["started_at"]).total_seconds()
    return EntrySpan(id=row["id"], at=row["started_at"], seconds=seconds)
