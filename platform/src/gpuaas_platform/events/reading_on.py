"""The numbered events for rooms above that follow from them, read on by number.

Called by the billing room inside its own transactions, which keep the number read up to beside what
followed: whatever dies in between, an event counts once. It must not wait, and wakes nobody.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gpuaas_platform.events.store import sequence
from gpuaas_platform.kernel.database import Connection, Record


@dataclass(frozen=True)
class Told:
    """One event as it was told."""

    seq: int
    type: str
    subject: str
    at: datetime
    org_id: str | None
    project_id: str | None
    correlation_id: str
    data: dict[str, Any]


@dataclass(frozen=True)
class Reach:
    """How far the sequence goes: the newest, the oldest kept, whether any has no number yet."""

    head: int
    first_kept: int
    waiting: bool


async def sequence_reach(conn: Connection) -> Reach:
    """How far the sequence goes at this moment."""
    row = await sequence.event_reach(conn)
    return Reach(row["head"], row["first_kept"], row["waiting"])


async def events_between(
    conn: Connection, after: int, up_to: int, prefixes: Sequence[str]
) -> list[Told]:
    """Events of these kinds behind one number and up to another, in order."""
    rows = await sequence.events_of(conn, after, up_to, list(prefixes))
    return [_told(row) for row in rows]


def _told(row: Record) -> Told:
    return Told(
        row["seq"], row["type"], row["subject"], row["at"], row["org_id"], row["project_id"],
        row["correlation_id"], row["data"],
    )  # fmt: skip
