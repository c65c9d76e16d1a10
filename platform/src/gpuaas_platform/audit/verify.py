"""Verification of the chain in the database: page by page, in bounded memory, to the first fault.

Called by the service and by `gpuaas-platform audit verify`. Finds a changed, removed or added
entry, a changed or removed link, a chain cut short behind a signed or witnessed head, and entries
that never came into the chain.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from gpuaas_contract.audit import GENESIS, ChainFault, ChainVerification, head_text, link
from gpuaas_platform.audit import store
from gpuaas_platform.kernel.database import Database, Record

_PAGE: Final = 250


@dataclass(frozen=True)
class Scope:
    """What to verify: links behind `after`, at most `limit` (all without it), and against what.

    `public_keys` are the installation's, by name; without them signatures are not checked.
    """

    after: int = 0
    limit: int | None = None
    witnessed: Sequence[tuple[int, str]] = ()
    public_keys: Mapping[str, bytes] | None = None


async def chain_verify(db: Database, scope: Scope) -> ChainVerification:
    """Verify; the first fault found ends it."""
    reached, more, fault = await _links_verify(db, scope)
    heads = 0
    if fault is None:
        heads, fault = await _heads_verify(db, scope, reached if more else None)
    if fault is None and not more:
        fault = await _strays_find(db)
    async with db.connection() as conn:
        waiting = await store.unchained_count(conn)
    return ChainVerification(
        ok=fault is None,
        verified_to=reached,
        next_after=reached if more and fault is None else None,
        heads=heads,
        waiting=waiting,
        fault=fault,
    )


async def _links_verify(db: Database, scope: Scope) -> tuple[int, bool, ChainFault | None]:
    """Walk the chain: the last sound place, whether the limit ended the walk, the fault."""
    reached = scope.after
    digest: bytes | None = GENESIS
    if scope.after:
        async with db.connection() as conn:
            digest = await store.chain_hash(conn, scope.after)
    if digest is None:
        return 0, False, _fault(scope.after, "missing_link", "There is no link at this place.")
    while True:
        left = _PAGE if scope.limit is None else min(_PAGE, scope.after + scope.limit - reached)
        if left <= 0:
            return reached, True, None
        async with db.connection() as conn:
            rows = await store.chain_read(conn, reached, left)
        for row in rows:
            fault = _link_fault(reached, digest, row)
            if fault is not None:
                return reached, False, fault
            reached, digest = row["seq"], row["hash"]
        if len(rows) < left:
            return reached, False, None
        await asyncio.sleep(0)  # others are served between pages


def _link_fault(reached: int, digest: bytes, row: Record) -> ChainFault | None:
    seq: int = row["seq"]
    if seq != reached + 1:
        return _fault(reached + 1, "missing_link", f"The chain goes on at {seq}.")
    if row["id"] is None:
        return _fault(seq, "missing_entry", f"The entry {row['entry_id']} is gone.")
    if link(digest, row) != row["hash"]:
        return _fault(seq, "altered", f"The entry {row['id']} or its link was changed.")
    return None


async def _heads_verify(
    db: Database, scope: Scope, up_to: int | None
) -> tuple[int, ChainFault | None]:
    """Compare witnessed and kept heads with the chain; how many agree, and the fault."""
    checked = 0
    for seq, expected in scope.witnessed:
        async with db.connection() as conn:
            found = await store.chain_hash(conn, seq)
        fault = _head_fault(seq, bytes.fromhex(expected), found)
        if fault is not None:
            return checked, fault
        checked += 1
    after = scope.after
    while True:
        async with db.connection() as conn:
            rows = await store.heads_read(conn, after, _PAGE)
        for row in rows:
            if up_to is not None and row["seq"] > up_to:
                return checked, None
            fault = _signature_fault(row, scope.public_keys) or _head_fault(
                row["seq"], row["hash"], row["chain_hash"]
            )
            if fault is not None:
                return checked, fault
            checked += 1
            after = row["seq"]
        if len(rows) < _PAGE:
            return checked, None


def _head_fault(seq: int, expected: bytes, found: bytes | None) -> ChainFault | None:
    if found is None:
        return _fault(seq, "cut_short", "A head says that the chain reached this place.")
    if found != expected:
        return _fault(seq, "head_mismatch", "A head says another hash: the chain was rewritten.")
    return None


def _signature_fault(row: Record, keys: Mapping[str, bytes] | None) -> ChainFault | None:
    if keys is None:
        return None
    forged = _fault(row["seq"], "head_forged", f"No key of ours signed this ({row['key_id']}).")
    public = keys.get(row["key_id"])
    if public is None:
        return forged
    signed = head_text(row["seq"], row["hash"].hex(), row["at"])
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(row["signature"], signed)
    except InvalidSignature:
        return forged
    return None


async def _strays_find(db: Database) -> ChainFault | None:
    """Entries that are neither in the chain nor waiting, and waiting ones that are gone."""
    async with db.connection() as conn:
        lost = await store.unchained_lost(conn)
    if lost is not None:
        return _fault(0, "missing_entry", f"The entry {lost} went before it was chained.")
    last: str | None = ""
    while last is not None:
        async with db.connection() as conn:
            last, strays = await store.unchained_stray(conn, last, _PAGE)
        if strays:
            return _fault(0, "unchained_entry", f"The entry {strays[0]} is in no chain.")
        await asyncio.sleep(0)
    return None


def _fault(seq: int, kind: str, detail: str) -> ChainFault:
    return ChainFault(seq=seq, kind=kind, detail=detail)
