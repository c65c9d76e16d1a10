"""Rules of reading the audit: who sees which entries, what an export holds, who may verify."""

from collections.abc import AsyncIterator

import msgspec
from fastapi import Response

from gpuaas_contract.audit import (
    ENTRY_FIELDS,
    GENESIS,
    AuditFilter,
    AuditListQuery,
    ChainHead,
    ChainVerification,
    VerificationQuery,
    time_text,
)
from gpuaas_contract.common import API_PREFIX
from gpuaas_contract.operate import TimelineEntry, TimelineKind
from gpuaas_contract.permissions import Permission
from gpuaas_platform.audit import store
from gpuaas_platform.audit.chain import PURPOSE, head_now
from gpuaas_platform.audit.verify import Scope, chain_verify
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import PLATFORM, Caller, Place, Reach
from gpuaas_platform.kernel.correlation import Correlated, CorrelationQuery, scope_of
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.keyring import keyring_of
from gpuaas_platform.kernel.paging import cursor_decode, cursor_encode

_EXPORT_PAGE = 500


async def entry_list(call: Call, query: AuditListQuery) -> Response:
    """One page of entries in the caller's reach, newest first."""
    reach = _reach(call.caller, Permission.AUDIT_READ)
    wanted = AuditFilter.model_validate(query.model_dump(include=set(AuditFilter.model_fields)))
    key = cursor_decode(query.cursor)
    async with call.db.connection() as conn:
        rows = await store.entries_list(conn, wanted, reach, (key, query.limit + 1))
    items, more = rows[: query.limit], len(rows) > query.limit
    page = {
        "items": [
            _entry(row) | {"seq": row["seq"], "hash": row["hash"] and row["hash"].hex()}
            for row in items
        ],
        "next_cursor": cursor_encode(items[-1]["id"]) if more else None,
    }
    return Response(msgspec.json.encode(page), media_type="application/json")


def entry_export(call: Call, wanted: AuditFilter) -> AsyncIterator[bytes]:
    """Lines of all chained entries in reach, page by page; no page waits for a slow reader."""
    reach = _reach(call.caller, Permission.AUDIT_EXPORT)
    if reach.everywhere and wanted == AuditFilter():
        return _chain_lines(call)
    return _entry_lines(call, wanted, reach)


async def chain_check(call: Call, query: VerificationQuery) -> ChainVerification:
    """Verify a stretch of the chain, and its heads; the whole by going on behind each answer."""
    call.caller.require(Permission.AUDIT_VERIFY, PLATFORM)
    keyring = await keyring_of(call.platform)
    pairs = [item.split(":") for item in query.witnessed]
    scope = Scope(
        after=query.after,
        limit=query.limit,
        witnessed=[(int(seq), digest) for seq, digest in pairs],
        public_keys=keyring.public_keys(PURPOSE),
    )
    return await chain_verify(call.db, scope)


async def head_read(call: Call) -> ChainHead:
    """The chain's head, signed now: to be kept outside the platform."""
    _reach(call.caller, Permission.AUDIT_READ)
    async with call.db.connection() as conn:
        return await head_now(call.platform, conn)


def _reach(caller: Caller, permission: Permission) -> Reach:
    reach = caller.reach(permission)
    if not (reach.everywhere or reach.org_ids or reach.project_ids):
        caller.require(permission, caller.home)
    return reach


async def _chain_lines(call: Call) -> AsyncIterator[bytes]:
    """The whole chain in its order."""
    seq, previous = 0, GENESIS
    while True:
        async with call.db.connection() as conn:
            rows = await store.chain_read(conn, seq, _EXPORT_PAGE)
        lines = []
        for row in rows:
            lines.append(_line(row, previous))
            seq, previous = row["seq"], row["hash"]
        yield b"".join(lines)
        if len(rows) < _EXPORT_PAGE:
            return


async def _entry_lines(call: Call, wanted: AuditFilter, reach: Reach) -> AsyncIterator[bytes]:
    """Chosen entries in the order of their making."""
    last: str | None = None
    while True:
        async with call.db.connection() as conn:
            rows = await store.entries_export(conn, wanted, reach, (last, _EXPORT_PAGE))
        chained = [row for row in rows if row["seq"] is not None]
        yield b"".join([_line(row, row["prev_hash"] or GENESIS) for row in chained])
        if len(rows) < _EXPORT_PAGE:
            return
        last = rows[-1]["id"]


def _line(row: Record, previous: bytes) -> bytes:
    line = {
        "seq": row["seq"],
        "prev_hash": previous.hex(),
        "hash": row["hash"].hex(),
        "entry": _entry(row),
    }
    return msgspec.json.encode(line) + b"\n"


def _entry(row: Record) -> dict[str, object]:
    entry = {name: row[name] for name in ENTRY_FIELDS}
    if row["at"] is not None:
        entry["at"] = time_text(row["at"])
    return entry


async def chain_waiting(conn: Connection) -> int:
    """How many entries wait for their place in the chain."""
    return await store.unchained_count(conn)


async def correlated(conn: Connection, query: CorrelationQuery) -> list[Correlated]:
    """Entries of a timeline: what was done or refused under a correlation id."""
    return [_correlated(row) for row in await store.entries_correlated(conn, query)]


def _correlated(row: Record) -> Correlated:
    target = f"{row['target_kind']} {row['target_id']}"
    verb = {"allowed": "did", "denied": "was refused", "failed": "failed to do"}[row["outcome"]]
    entry = TimelineEntry(
        at=row["at"],
        kind=TimelineKind.AUDIT,
        id=row["id"],
        title=f"{row['actor_id']} {verb} {row['action']} on {target}.",
        status=row["outcome"],
        actor=row["actor_id"],
        scope=scope_of(Place(row["org_id"], row["project_id"])),
        links={"audit": f"{API_PREFIX}/audit?correlation_id={row['correlation_id']}"},
        detail={
            "action": row["action"],
            "target_kind": row["target_kind"],
            "target_id": row["target_id"],
            "reason": row["reason"],
            **row["detail"],
        },
    )
    return Correlated(row["tl_key"], entry)
