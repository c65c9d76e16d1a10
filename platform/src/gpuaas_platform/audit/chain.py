"""The chain over the audit: one process at a time gives new entries their place and their hash.

Elected (`kernel/elections.py`). A step is one transaction: an entry is either in the queue or in
the chain. Now and then the head of the chain is signed with a key the database does not hold, kept,
logged and told as an event, so that a chain cut short or rewritten contradicts somebody.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import Final

import structlog

from gpuaas_contract.audit import GENESIS, ChainHead, head_text, link
from gpuaas_contract.ids import Prefix
from gpuaas_platform.audit import store
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.database import Connection
from gpuaas_platform.kernel.elections import Duty, duty_running
from gpuaas_platform.kernel.keyring import Keyring, keyring_of
from gpuaas_platform.kernel.keyring_file import KeyringError

CHAIN: Final = "audit-chain"
PURPOSE: Final = "audit-head"
_BATCH: Final = 500
_PAUSE_SECONDS: Final = 0.25
_log = structlog.get_logger(__name__)


@asynccontextmanager
async def chain_running(platform: Platform) -> AsyncIterator[None]:
    """Stand for the election of the one who chains, for as long as the block runs."""
    turn = partial(chain_turn, platform)
    duty = Duty(CHAIN, turn, every=2.0, topic="audit", pause=_PAUSE_SECONDS)
    async with duty_running(platform, duty):
        yield


async def chain_turn(platform: Platform, conn: Connection) -> bool:
    """Chain one batch; whether there may be more."""
    full = await entries_chain(conn, _BATCH) == _BATCH
    if not full:
        await _head_keep(platform, conn)
    return full


async def entries_chain(conn: Connection, batch: int) -> int:
    """Give up to `batch` waiting entries their place; how many got one."""
    async with conn.transaction():
        entries = await store.unchained_take(conn, batch)
        if not entries:
            return 0
        tail = await store.chain_tail(conn)
        seq, digest = (0, GENESIS) if tail is None else (tail["seq"], tail["hash"])
        links = []
        for entry in entries:
            seq, digest = seq + 1, link(digest, entry)
            links.append((seq, entry["id"], digest))
        await store.chain_append(conn, links, [entry["position"] for entry in entries])
    return len(entries)


async def head_now(platform: Platform, conn: Connection) -> ChainHead:
    """The chain's head as it stands, signed."""
    keyring = await keyring_of(platform)
    tail = await store.chain_tail(conn)
    seq, digest = (0, GENESIS) if tail is None else (tail["seq"], tail["hash"])
    return _signed(platform, keyring, seq, digest)


async def _head_keep(platform: Platform, conn: Connection) -> None:
    """Keep and tell a head when the chain has grown and the last head is old enough."""
    tail, last = await store.chain_tail(conn), await store.head_last(conn)
    if tail is None or (last is not None and last["seq"] >= tail["seq"]):
        return
    since = await store.chain_begun_at(conn) if last is None else last["at"]
    interval = timedelta(seconds=platform.settings.audit_head_seconds)
    if platform.clock.now() - since < interval:
        return
    try:
        keyring = await keyring_of(platform)
    except KeyringError as error:
        _log.warning("audit_head_not_signed", error=error.detail)
        return
    head = _signed(platform, keyring, tail["seq"], tail["hash"])
    async with conn.transaction():
        await store.head_add(conn, head)
        await store.head_tell(conn, platform.clock.new_id(Prefix.EVENT), head)
    platform.signals.send(("outbox",))
    _log.info("audit_chain_head", seq=head.seq, hash=head.hash, signature=head.signature)


def _signed(platform: Platform, keyring: Keyring, seq: int, digest: bytes) -> ChainHead:
    signer, at = keyring.signer(PURPOSE), platform.clock.now()
    return ChainHead(
        seq=seq,
        hash=digest.hex(),
        at=at,
        key_id=signer.key_id,
        public_key=signer.public.hex(),
        signature=signer.key.sign(head_text(seq, digest.hex(), at)).hex(),
    )
