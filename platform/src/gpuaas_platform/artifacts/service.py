"""The artifacts room as the rooms above see it: let a machine fetch, and tell what happened.

Everything here takes the caller's transaction or connection.
"""

from gpuaas_contract.common import API_PREFIX
from gpuaas_contract.operate import TimelineEntry, TimelineKind
from gpuaas_platform.artifacts.deliveries import deliverable_require, delivery_issue
from gpuaas_platform.artifacts.store import artifacts, deliveries
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.correlation import Correlated, CorrelationQuery, scope_of
from gpuaas_platform.kernel.database import Connection, Record

__all__ = [
    "artifacts_correlated",
    "deliverable_require",
    "deliveries_correlated",
    "delivery_issue",
]


async def artifacts_correlated(conn: Connection, query: CorrelationQuery) -> list[Correlated]:
    """Entries of a timeline: artifacts announced under a correlation id."""
    return [_artifact(row) for row in await artifacts.artifacts_correlated(conn, query)]


async def deliveries_correlated(conn: Connection, query: CorrelationQuery) -> list[Correlated]:
    """Entries of a timeline: deliveries made under a correlation id."""
    return [_delivery(row) for row in await deliveries.deliveries_correlated(conn, query)]


def _artifact(row: Record) -> Correlated:
    what = f"{row['name']} {row['version']} for {row['platform']}"
    entry = TimelineEntry(
        at=row["created_at"],
        kind=TimelineKind.ARTIFACT,
        id=row["id"],
        title=f"Artifact {what} is {row['status']} and {row['trust']}.",
        status=row["status"],
        scope=scope_of(Place(row["org_id"])),
        links={"artifact": f"{API_PREFIX}/artifacts/{row['id']}"},
        detail={"reason": row["status_reason"], "digest": row["digest"]},
    )
    return Correlated(row["tl_key"], entry)


def _delivery(row: Record) -> Correlated:
    done = row["finished_at"] is not None
    fetched = "was fetched whole" if done else f"was asked for {row['fetches']} times"
    entry = TimelineEntry(
        at=row["created_at"],
        kind=TimelineKind.ARTIFACT_DELIVERY,
        id=row["id"],
        title=f"{row['name']} {row['version']} {fetched} for {row['purpose'] or 'no purpose'}.",
        status="finished" if done else "open",
        scope=scope_of(Place(row["org_id"], row["project_id"])),
        links={"delivery": f"{API_PREFIX}/artifact-deliveries/{row['id']}"},
        detail={"allocation_id": row["allocation_id"], "digest": row["digest"]},
    )
    return Correlated(row["tl_key"], entry)
