"""The SSH user authority: keys that sign certificates, always one ahead of themselves.

Hosts trust three keys: the one that signs, its successor and its predecessor. The successor is
published long before it signs, so a rotation finds every host prepared; the predecessor stays until
what it signed has ended. Private keys lie in the secret store; a process keeps the one in use.
"""

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from fastapi import Response

from gpuaas_contract.custody import (
    GRANT_SECONDS_MAX,
    CaKey,
    CaKeyStatus,
    CaRotate,
    SshCa,
)
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.ids import Prefix
from gpuaas_contract.permissions import Permission
from gpuaas_platform.capacity.trust import trust_touch_all
from gpuaas_platform.custody.certificates import fingerprint, public_key_line
from gpuaas_platform.custody.secret_store import (
    secret_drop,
    secret_keep,
    secret_stash,
    secret_store_of,
)
from gpuaas_platform.custody.store import ca as store
from gpuaas_platform.kernel.call import Call, Platform, system_call
from gpuaas_platform.kernel.caller import PLATFORM
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.problems import PlatformError, Unavailable
from gpuaas_platform.kernel.work import Answer, Happened, Target, Undone, Work, mutate

TOPIC: Final = "custody.ca"
_PART: Final = "custody.signing_key"
_OVERLAP: Final = timedelta(seconds=GRANT_SECONDS_MAX)


@dataclass(frozen=True, repr=False)
class SigningKey:
    """The authority's key that signs."""

    id: str
    key: Ed25519PrivateKey


@dataclass(frozen=True)
class _Stashed:
    """A new key whose private half is in the store already."""

    public_key: str
    secret_path: str


async def signing_key(platform: Platform) -> SigningKey:
    """The key that signs now; the authority is made when it is needed for the first time."""
    row = await _current(platform)
    known = signing_key_known(platform)
    if known is None or known.id != row["id"]:
        raw = await secret_store_of(platform).get(row["secret_path"])
        known = SigningKey(row["id"], Ed25519PrivateKey.from_private_bytes(raw))
        platform.parts[_PART] = known
    return known


def signing_key_known(platform: Platform) -> SigningKey | None:
    """The key this process signed with last, if any; another may be current by now."""
    known: SigningKey | None = platform.parts.get(_PART)
    return known


async def authority_require(platform: Platform) -> None:
    """The authority exists; its secrets are not asked for, so no outage of theirs is in the way."""
    await _current(platform)


async def ca_read(call: Call) -> SshCa:
    """The keys hosts have to trust; public by nature."""
    await authority_require(call.platform)
    async with call.db.connection() as conn:
        return SshCa(keys=[_key(row) for row in await store.ca_key_list(conn)])


async def authority_keys(conn: Connection) -> list[str]:
    """Lines for sshd's TrustedUserCAKeys, for the room that brings them to hosts."""
    return [row["public_key"] for row in await store.ca_key_list(conn)]


async def ca_rotate(call: Call, body: CaRotate) -> Response:
    """Let the upcoming key sign from now on, and publish the one after it."""
    stashed = None
    if call.caller.allows(Permission.CA_ROTATE, PLATFORM):
        await signing_key(call.platform)
        stashed = await _key_stash(call.platform)
    handler = partial(_rotate, stashed=stashed, body=body)
    return await mutate(call, "custody.ca.rotate", handler)


async def _rotate(work: Work, stashed: _Stashed | None, body: CaRotate) -> Answer[SshCa]:
    work.require(Permission.CA_ROTATE, PLATFORM)
    await store.ca_lock(work.conn)
    rows = {row["status"]: row for row in await store.ca_key_list(work.conn)}
    current, previous = rows[CaKeyStatus.CURRENT], rows.get(CaKeyStatus.PREVIOUS)
    if body.distrust:
        await _retire(work, current)
    else:
        if previous is not None:
            _overlap_require(work, previous)
            await _retire(work, previous)
        await store.ca_key_move(work.conn, current["id"], CaKeyStatus.PREVIOUS, work.now)
    upcoming = rows[CaKeyStatus.UPCOMING]["id"]
    await store.ca_key_move(work.conn, upcoming, CaKeyStatus.CURRENT, work.now)
    await _key_add(work, stashed, CaKeyStatus.UPCOMING)
    answer = SshCa(keys=[_key(row) for row in await store.ca_key_list(work.conn)])
    detail = {"from": current["id"], "distrust": body.distrust}
    target = Target("ssh_ca", upcoming, after=answer, reason=body.reason, detail=detail)
    work.audit(target)
    data = {"signs": upcoming, "signed_before": current["id"], "distrust": body.distrust}
    work.emit(Happened("custody.ca.rotated", upcoming, PLATFORM, data))
    work.signal(TOPIC)
    await trust_touch_all(work)
    return Answer(answer)


async def _current(platform: Platform) -> Record:
    """The key that signs, as it is known here; the first call of all makes the authority."""
    async with platform.db.connection() as conn:
        row = await store.ca_key_current(conn)
    if row is None:
        await _authority_make(platform)
        async with platform.db.connection() as conn:
            row = await store.ca_key_current(conn)
    if row is None:
        raise Unavailable("The SSH authority")
    return row


async def _authority_make(platform: Platform) -> None:
    """The first two keys. Of several processes that do this at once, one leaves its keys."""
    stashed = [await _key_stash(platform), await _key_stash(platform)]
    call = system_call(platform, "/ssh/ca", f"ssh-ca-{platform.clock.randomness(8).hex()}")
    try:
        await mutate(call, "custody.ca.create", partial(_create, stashed=stashed))
    except Undone:
        return


async def _create(work: Work, stashed: list[_Stashed]) -> Answer[SshCa]:
    await store.ca_lock(work.conn)
    if await store.ca_key_current(work.conn) is not None:
        raise Undone
    first = await _key_add(work, stashed[0], CaKeyStatus.CURRENT)
    await _key_add(work, stashed[1], CaKeyStatus.UPCOMING)
    work.audit(Target("ssh_ca", first))
    work.emit(Happened("custody.ca.created", first, PLATFORM, {"signs": first}))
    return Answer(None, 201)


async def _key_stash(platform: Platform) -> _Stashed:
    key = Ed25519PrivateKey.generate()
    path = await secret_stash(platform, "ssh-ca", key.private_bytes_raw())
    return _Stashed(public_key_line(key.public_key()), path)


async def _key_add(work: Work, stashed: _Stashed | None, status: CaKeyStatus) -> str:
    if stashed is None:
        raise Unavailable("The secret store")
    await secret_keep(work, stashed.secret_path)
    key_id, line = work.new_id(Prefix.CA_KEY), stashed.public_key
    new = store.NewCaKey(key_id, status, line, fingerprint(line), stashed.secret_path)
    await store.ca_key_insert(work.conn, new, work.now)
    return key_id


async def _retire(work: Work, row: Record) -> None:
    await store.ca_key_move(work.conn, row["id"], CaKeyStatus.RETIRED, work.now)
    await secret_drop(work, row["secret_path"])


def _overlap_require(work: Work, previous: Record) -> None:
    """What the previous key signed has ended; else its holders would be cut off in their work."""
    left = previous["changed_at"] + _OVERLAP - work.now
    if left > timedelta(0):
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            "Certificates of the key before the current one still live; wait, or give up on it"
            " with `distrust`.",
            retry_after=left.total_seconds(),
        )


def _key(row: Record) -> CaKey:
    return CaKey(**{name: row[name] for name in CaKey.model_fields})
