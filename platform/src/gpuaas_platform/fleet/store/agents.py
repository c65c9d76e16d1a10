"""SQL of agents, their identities and their tokens."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gpuaas_platform.kernel.database import Connection, Record


@dataclass(frozen=True)
class NewAgent:
    """An agent to be, in place of one that left."""

    node_id: str
    enrolment_id: str
    address: str
    facts: dict[str, Any]


@dataclass(frozen=True)
class NewIdentity:
    """An identity to be."""

    id: str
    node_id: str
    status: str
    public_key: str
    fingerprint: str
    sealing_key: bytes
    expires_at: datetime
    generation: int


@dataclass(frozen=True)
class NewToken:
    """A token to be."""

    hash: bytes
    challenge_hash: bytes
    node_id: str
    identity_id: str
    address: str
    expires_at: datetime


async def agent_put(conn: Connection, new: NewAgent, now: datetime) -> bool:
    """Keep an agent; False when the node has one that did not leave."""
    return bool(
        await conn.fetchval(
            "INSERT INTO node_agents (node_id, status, enrolment_id, facts, facts_at, enrolled_at,"
            " last_seen_at, address) VALUES ($1, 'enrolled', $2, $3, $4, $4, $4, $5)"
            " ON CONFLICT (node_id) DO UPDATE SET status = 'enrolled', boot_id = '',"
            " enrolment_id = excluded.enrolment_id, facts = excluded.facts, leave_reason = '',"
            " facts_at = excluded.facts_at, enrolled_at = excluded.enrolled_at,"
            " absent_since = NULL, access_revision = '', access_error = '',"
            " last_seen_at = excluded.last_seen_at, address = excluded.address"
            " WHERE node_agents.status = 'left' RETURNING true",
            new.node_id, new.enrolment_id, new.facts, now, new.address,
        )
    )  # fmt: skip


async def agent_read(conn: Connection, node_id: str) -> Record | None:
    """The agent of a node."""
    return await conn.fetchrow("SELECT * FROM node_agents WHERE node_id = $1", node_id)


async def agent_lock(conn: Connection, node_id: str) -> Record | None:
    """The agent of a node, held until the transaction ends."""
    return await conn.fetchrow("SELECT * FROM node_agents WHERE node_id = $1 FOR UPDATE", node_id)


async def agent_status_set(conn: Connection, node_id: str, status: str, reason: str) -> None:
    """Move an agent that is held."""
    await conn.execute(
        "UPDATE node_agents SET status = $2, leave_reason = $3, absent_since = NULL"
        " WHERE node_id = $1",
        node_id, status, reason,
    )  # fmt: skip


async def agent_address_set(conn: Connection, node_id: str, address: str) -> None:
    """Where the agent of a node that is held speaks from."""
    await conn.execute(
        "UPDATE node_agents SET address = $2 WHERE node_id = $1 AND address <> $2", node_id, address
    )


@dataclass(frozen=True)
class Heard:
    """What an agent says of itself with each poll."""

    node_id: str
    boot_id: str
    access_revision: str
    access_error: str


async def agent_heard(conn: Connection, heard: Heard, now: datetime) -> None:
    """An agent spoke."""
    await conn.execute(
        "UPDATE node_agents SET boot_id = $2, access_revision = $3, access_error = $4,"
        " last_seen_at = $5 WHERE node_id = $1",
        heard.node_id, heard.boot_id, heard.access_revision, heard.access_error, now,
    )  # fmt: skip


async def facts_put(conn: Connection, node_id: str, facts: dict[str, Any], now: datetime) -> None:
    """Keep the newest facts of a machine."""
    await conn.execute(
        "UPDATE node_agents SET facts = $2, facts_at = $3 WHERE node_id = $1", node_id, facts, now
    )


async def agents_absence_changed(conn: Connection, since: datetime, limit: int) -> list[Record]:
    """Agents not heard since, and not said to be absent; and those heard again."""
    return await conn.fetch(
        "SELECT node_id FROM node_agents WHERE status <> 'left'"
        " AND (last_seen_at < $1) <> (absent_since IS NOT NULL) ORDER BY node_id LIMIT $2",
        since, limit,
    )  # fmt: skip


async def agent_absent_set(conn: Connection, node_id: str, since: datetime | None) -> None:
    """An agent that is held is absent since, or back."""
    await conn.execute(
        "UPDATE node_agents SET absent_since = $2 WHERE node_id = $1", node_id, since
    )


async def identity_insert(conn: Connection, new: NewIdentity, now: datetime) -> Record | None:
    """Keep an identity; one that was to be next and was never used gives way."""
    await conn.execute(
        "UPDATE node_identities SET status = 'ended' WHERE node_id = $1 AND status = $2",
        new.node_id, new.status,
    )  # fmt: skip
    return await conn.fetchrow(
        "INSERT INTO node_identities (id, node_id, status, public_key, fingerprint, sealing_key,"
        " created_at, expires_at, generation) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
        " RETURNING *",
        new.id, new.node_id, new.status, new.public_key, new.fingerprint, new.sealing_key, now,
        new.expires_at, new.generation,
    )  # fmt: skip


async def identities_usable(conn: Connection, node_id: str) -> list[Record]:
    """The identities of a node that have not ended, newest first; none of an earlier tenant's."""
    return await conn.fetch(
        "SELECT i.* FROM node_identities i JOIN nodes n ON n.id = i.node_id"
        " WHERE i.node_id = $1 AND i.status <> 'ended' AND i.generation = n.generation"
        " ORDER BY i.id DESC",
        node_id,
    )


async def identity_read(conn: Connection, identity_id: str) -> Record | None:
    """One identity."""
    return await conn.fetchrow("SELECT * FROM node_identities WHERE id = $1", identity_id)


async def identity_key_known(conn: Connection, public_key: str) -> bool:
    """Whether any identity has this key, ended ones too: no key serves twice."""
    return bool(
        await conn.fetchval(
            "SELECT EXISTS (SELECT FROM node_identities WHERE public_key = $1)", public_key
        )
    )


async def identity_promote(conn: Connection, node_id: str, identity_id: str) -> None:
    """The next identity was used: the one before ends, and its tokens with it."""
    await conn.execute(
        "UPDATE node_identities SET status = 'ended' WHERE node_id = $1 AND status = 'current'",
        node_id,
    )
    await conn.execute("UPDATE node_identities SET status = 'current' WHERE id = $1", identity_id)
    await conn.execute(
        "DELETE FROM node_tokens WHERE node_id = $1 AND identity_id <> $2", node_id, identity_id
    )


async def identities_end(conn: Connection, node_id: str) -> None:
    """A node is nobody any more."""
    await conn.execute("DELETE FROM node_tokens WHERE node_id = $1", node_id)
    await conn.execute(
        "UPDATE node_identities SET status = 'ended' WHERE node_id = $1 AND status <> 'ended'",
        node_id,
    )


async def token_insert(conn: Connection, new: NewToken) -> bool:
    """Keep a token; False when its challenge has been used."""
    return bool(
        await conn.fetchval(
            "INSERT INTO node_tokens (hash, challenge_hash, node_id, identity_id, expires_at,"
            " address) VALUES ($1, $2, $3, $4, $5, $6)"
            " ON CONFLICT (challenge_hash) DO NOTHING RETURNING true",
            new.hash, new.challenge_hash, new.node_id, new.identity_id, new.expires_at,
            new.address,
        )
    )  # fmt: skip


async def token_resolve(conn: Connection, token_hash: bytes) -> Record | None:
    """Whose token this is; None for one of an identity that an earlier tenant could have read."""
    return await conn.fetchrow(
        "SELECT t.* FROM node_tokens t JOIN node_identities i ON i.id = t.identity_id"
        " JOIN nodes n ON n.id = t.node_id AND n.generation = i.generation WHERE t.hash = $1",
        token_hash,
    )


async def tokens_forget(conn: Connection, before: datetime) -> None:
    """Forget tokens that ended long ago."""
    await conn.execute("DELETE FROM node_tokens WHERE expires_at < $1", before)
