"""SQL of what the sshd of made machines trusts: asked for and confirmed."""

from dataclasses import dataclass
from datetime import datetime

from gpuaas_platform.kernel.database import Connection, Record


@dataclass(frozen=True)
class Confirmed:
    """What a provider said a machine holds, and which of the changes it knew of."""

    node_id: str
    token: str
    asked: int
    revision: str


@dataclass(frozen=True)
class Failed:
    """Why a provider could not bring it to a machine, and when it is tried again."""

    node_id: str
    token: str
    error: str
    due_at: datetime


@dataclass(frozen=True)
class Claim:
    """Who takes how many of what is due. `again` asks for those that failed before."""

    token: str
    now: datetime
    until: datetime
    limit: int
    again: bool


async def trust_begin(
    conn: Connection, node_id: str, revision: str, now: datetime, due_at: datetime
) -> None:
    """A machine was made; `revision` is what it holds, empty when that is not known."""
    await conn.execute(
        "INSERT INTO machine_trust (node_id, revision, confirmed_at, due_at)"
        " VALUES ($1, $2, CASE WHEN $2 <> '' THEN $3::timestamptz END, $4)",
        node_id, revision, now, due_at,
    )  # fmt: skip


async def trust_touch(conn: Connection, allocation_id: str, now: datetime) -> bool:
    """Something changed for the machine of an allocation; False when none was made for it."""
    return bool(
        await conn.fetchval(
            "UPDATE machine_trust t SET asked = t.asked + 1, due_at = $2 FROM nodes n"
            " WHERE n.id = t.node_id AND n.allocation_id = $1 RETURNING true",
            allocation_id, now,
        )
    )  # fmt: skip


async def trust_touch_all(conn: Connection, now: datetime) -> bool:
    """Something changed for every made machine; False when there is none."""
    sql = (
        "WITH touched AS (UPDATE machine_trust SET asked = asked + 1, due_at = $1 RETURNING 1)"
        " SELECT EXISTS (SELECT FROM touched)"
    )
    return bool(await conn.fetchval(sql, now))


async def trust_claim(conn: Connection, claim: Claim) -> list[Record]:
    """Take machines that are due and that nobody works on, with what a provider needs to know."""
    return await conn.fetch(
        "WITH due AS (SELECT node_id FROM machine_trust WHERE due_at <= $2"
        "  AND (leased_until IS NULL OR leased_until <= $2) AND (attempt > 0) = $5"
        "  ORDER BY due_at LIMIT $4 FOR UPDATE SKIP LOCKED),"
        " taken AS (UPDATE machine_trust t SET token = $1, leased_until = $3,"
        "  attempt = t.attempt + 1 FROM due WHERE t.node_id = due.node_id RETURNING t.*)"
        " SELECT t.*, a.id AS allocation_id, a.name, a.region, a.status, a.correlation_id,"
        "  n.provider, r.provider_options FROM taken t JOIN nodes n ON n.id = t.node_id"
        " JOIN allocations a ON a.id = n.allocation_id JOIN regions r ON r.name = a.region",
        claim.token, claim.now, claim.until, claim.limit, claim.again,
    )  # fmt: skip


async def trust_confirm(
    conn: Connection, said: Confirmed, now: datetime, due_at: datetime
) -> Record | None:
    """What a machine holds now; due again at once when more was asked meanwhile."""
    return await conn.fetchrow(
        "UPDATE machine_trust SET revision = $4, confirmed_at = $5, error = '', attempt = 0,"
        " token = NULL, leased_until = NULL, due_at = CASE WHEN asked = $3 THEN $6 ELSE due_at END"
        " WHERE node_id = $1 AND token = $2 RETURNING *",
        said.node_id, said.token, said.asked, said.revision, now, due_at,
    )  # fmt: skip


async def trust_fail(conn: Connection, failed: Failed) -> Record | None:
    """It did not arrive, and is tried again."""
    return await conn.fetchrow(
        "UPDATE machine_trust SET error = $3, due_at = $4, token = NULL, leased_until = NULL"
        " WHERE node_id = $1 AND token = $2 RETURNING *",
        failed.node_id, failed.token, failed.error, failed.due_at,
    )  # fmt: skip


async def trust_let_go(conn: Connection, node_id: str, token: str) -> None:
    """Nobody works on it any more, and nothing became of it."""
    await conn.execute(
        "UPDATE machine_trust SET token = NULL, leased_until = NULL, attempt = attempt - 1"
        " WHERE node_id = $1 AND token = $2",
        node_id, token,
    )  # fmt: skip


async def trust_outstanding_set(conn: Connection, node_id: str, since: datetime | None) -> None:
    """Since when it is said that a change has not arrived; None: it is not."""
    await conn.execute(
        "UPDATE machine_trust SET outstanding_since = $2 WHERE node_id = $1", node_id, since
    )


async def trust_read(conn: Connection, node_id: str) -> Record | None:
    """What is known of one machine."""
    return await conn.fetchrow("SELECT * FROM machine_trust WHERE node_id = $1", node_id)
