"""Rules of access credentials: private keys in custody, for hosts that cannot trust the authority.

The key comes in once, in the request that makes or rotates the credential; it leaves only sealed to
a service account, a bounded number of times, each of them audited.
"""

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import (
    load_pem_private_key,
    load_ssh_private_key,
)
from fastapi import Response

from gpuaas_contract.common import Page
from gpuaas_contract.custody import (
    AccessCredential,
    AccessCredentialCreate,
    AccessCredentialDelivered,
    AccessCredentialRotate,
    CustodyRevoke,
    CustodyStatus,
)
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.ids import Prefix
from gpuaas_contract.permissions import Permission
from gpuaas_platform.custody.certificates import PublicKey, fingerprint, public_key_line
from gpuaas_platform.custody.preparing import (
    Fetched,
    call_allowed,
    row_place,
    secret_fetch,
    stashed_require,
)
from gpuaas_platform.custody.sealing import reader_key, sealed_to
from gpuaas_platform.custody.secret_store import (
    secret_drop,
    secret_keep,
    secret_stash,
)
from gpuaas_platform.custody.store import credentials as store
from gpuaas_platform.identity.service import project_place
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import PlatformError, Unavailable, invalid, not_found
from gpuaas_platform.kernel.work import Answer, Happened, Target, Undone, Work, mutate

_KIND: Final = "access-credential"


@dataclass(frozen=True, repr=False)
class _Stashed:
    """A key that is in the store already, and its public half."""

    path: str
    public_key: str


async def credential_create(call: Call, project_id: str, body: AccessCredentialCreate) -> Response:
    """Take a private key into custody."""
    stashed = None
    if await call_allowed(
        call, Permission.CREDENTIAL_MANAGE, partial(project_place, project_id=project_id)
    ):
        stashed = await _stash(call, body.private_key)
    handler = partial(_create, project_id=project_id, body=body, stashed=stashed)
    return await mutate(call, "custody.credential.create", handler)


async def credential_rotate(
    call: Call, credential_id: str, body: AccessCredentialRotate
) -> Response:
    """Let another key take over."""
    stashed = None
    if await call_allowed(call, Permission.CREDENTIAL_MANAGE, partial(_place_of, credential_id)):
        stashed = await _stash(call, body.private_key)
    handler = partial(_rotate, credential_id=credential_id, body=body, stashed=stashed)
    return await mutate(call, "custody.credential.rotate", handler)


async def credential_deliver(call: Call, credential_id: str) -> Response:
    """Hand a key to the service account that asks, sealed."""
    read = partial(_read, credential_id=credential_id)
    fetched = await secret_fetch(call, Permission.CREDENTIAL_DELIVER, read)
    handler = partial(_deliver, credential_id=credential_id, fetched=fetched)
    return await mutate(call, "custody.credential.deliver", handler)


async def credential_read(call: Call, credential_id: str) -> AccessCredential:
    """One credential, without its key."""
    async with call.db.connection() as conn:
        row = await _read(conn, credential_id)
    call.caller.require(Permission.CREDENTIAL_READ, row_place(row))
    return _credential(row)


async def credential_list(
    call: Call, project_id: str | None, cursor: str | None, limit: int
) -> Page[AccessCredential]:
    """Credentials in reach, newest first."""
    reach = call.caller.reach(Permission.CREDENTIAL_READ)
    async with call.db.connection() as conn:
        if project_id is not None:
            place = await project_place(conn, project_id)
            call.caller.require(Permission.CREDENTIAL_READ, place)
        page = (cursor_decode(cursor), limit + 1)
        rows = await store.custody_list(conn, "access_credentials", reach, project_id, page)
    return page_of([_credential(row) for row in rows], limit, lambda found: found.id)


async def credential_revoke(
    work: Work, credential_id: str, body: CustodyRevoke
) -> Answer[AccessCredential]:
    """End a credential; its key is deleted."""
    row = await _locked(work, credential_id)
    work.require(Permission.CREDENTIAL_MANAGE, row_place(row))
    _active_require(work, row)
    return Answer(await _end(work, row, CustodyStatus.REVOKED, body.reason))


async def credential_expire(work: Work, credential_id: str) -> Answer[AccessCredential]:
    """End a credential whose time is over."""
    row = await _locked(work, credential_id)
    if row["status"] != CustodyStatus.ACTIVE or row["expires_at"] > work.now:
        raise Undone
    return Answer(await _end(work, row, CustodyStatus.EXPIRED, "Its time is over."))


async def _create(
    work: Work, project_id: str, body: AccessCredentialCreate, stashed: _Stashed | None
) -> Answer[AccessCredential]:
    place = await project_place(work.conn, project_id)
    work.require(Permission.CREDENTIAL_MANAGE, place)
    new = store.NewCredential(
        id=work.new_id(Prefix.CREDENTIAL),
        place=place,
        name=body.name,
        username=body.username,
        public_key=stashed_require(stashed).public_key,
        fingerprint=fingerprint(stashed_require(stashed).public_key),
        secret_path=stashed_require(stashed).path,
        predecessor_id=None,
        deliveries_max=body.deliveries_max,
        expires_at=work.now + timedelta(seconds=body.expires_in_seconds),
        created_by=work.call.caller.id,
        correlation_id=work.call.correlation_id,
    )
    return Answer(await _add(work, new), 201)


async def _rotate(
    work: Work, credential_id: str, body: AccessCredentialRotate, stashed: _Stashed | None
) -> Answer[AccessCredential]:
    row = await _locked(work, credential_id)
    place = row_place(row)
    work.require(Permission.CREDENTIAL_MANAGE, place)
    _active_require(work, row)
    if row["succeeded"]:
        raise PlatformError(ErrorCode.STATE_CONFLICT, "Another credential took over already.")
    until = work.now + timedelta(seconds=body.overlap_seconds)
    await store.credential_succeed(work.conn, credential_id, until)
    new = store.NewCredential(
        id=work.new_id(Prefix.CREDENTIAL),
        place=place,
        name=row["name"],
        username=row["username"],
        public_key=stashed_require(stashed).public_key,
        fingerprint=fingerprint(stashed_require(stashed).public_key),
        secret_path=stashed_require(stashed).path,
        predecessor_id=credential_id,
        deliveries_max=row["deliveries_max"],
        expires_at=work.now + (row["expires_at"] - row["created_at"]),
        created_by=work.call.caller.id,
        correlation_id=work.call.correlation_id,
    )
    if body.overlap_seconds == 0:
        await _end(work, row, CustodyStatus.REVOKED, f"{new.id} took over.")
    return Answer(await _add(work, new), 201)


async def _deliver(
    work: Work, credential_id: str, fetched: Fetched | None
) -> Answer[AccessCredentialDelivered]:
    row = await _locked(work, credential_id)
    place = row_place(row)
    work.require(Permission.CREDENTIAL_DELIVER, place)
    _active_require(work, row)
    if row["deliveries"] >= row["deliveries_max"]:
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            f"The credential was delivered {row['deliveries']} times, which is all it may be.",
        )
    key = await reader_key(work)
    if fetched is None or not fetched.of(row):
        raise Unavailable("The secret store")
    await store.credential_count(work.conn, credential_id)
    reader = work.call.caller.id
    sealed = sealed_to(key, fetched.value, f"{_KIND}:{credential_id}", reader)
    detail = {"delivery": row["deliveries"] + 1, "of": row["deliveries_max"]}
    work.audit(Target("access_credential", credential_id, place, detail=detail))
    data = {"name": row["name"], "reader": reader}
    work.emit(Happened("custody.credential.delivered", credential_id, place, data))
    delivered = AccessCredentialDelivered(
        credential_id=credential_id, username=row["username"], sealed=sealed
    )
    return Answer(delivered, secret=True)


async def _stash(call: Call, text: str) -> _Stashed:
    """Put a key into the store, if it is one that can be used without a person."""
    raw = text.encode()
    load = load_ssh_private_key if b"BEGIN OPENSSH" in raw else load_pem_private_key
    try:
        public = load(raw, password=None).public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm):
        # The words of the error below it may quote the key.
        raise invalid("/private_key", "is no SSH private key without a passphrase") from None
    if not isinstance(public, PublicKey):
        raise invalid("/private_key", "has to be an Ed25519, ECDSA or RSA key")
    return _Stashed(await secret_stash(call.platform, _KIND, raw), public_key_line(public))


async def _add(work: Work, new: store.NewCredential) -> AccessCredential:
    await secret_keep(work, new.secret_path)
    row = await store.credential_insert(work.conn, new, work.now)
    if row is None:
        raise PlatformError(
            ErrorCode.NAME_TAKEN, f"There is a credential named {new.name} already."
        )
    credential = _credential(row)
    work.audit(Target("access_credential", new.id, new.place, after=credential))
    data = {"name": new.name, "predecessor_id": new.predecessor_id}
    work.emit(Happened("custody.credential.created", new.id, new.place, data))
    return credential


async def _end(work: Work, row: Record, status: CustodyStatus, reason: str) -> AccessCredential:
    after = _credential(await store.credential_end(work.conn, row["id"], status, reason))
    await secret_drop(work, row["secret_path"])
    place = row_place(row)
    work.audit(Target("access_credential", row["id"], place, _credential(row), after, reason))
    data = {"name": row["name"], "reason": reason}
    work.emit(Happened(f"custody.credential.{status}", row["id"], place, data))
    return after


def _active_require(work: Work, row: Record) -> None:
    if row["status"] != CustodyStatus.ACTIVE or row["expires_at"] <= work.now:
        raise PlatformError(ErrorCode.STATE_CONFLICT, "The credential has ended.")


async def _place_of(credential_id: str, conn: Connection) -> Place:
    return row_place(await _read(conn, credential_id))


async def _read(conn: Connection, credential_id: str) -> Record:
    row = await store.credential_read(conn, credential_id)
    if row is None:
        raise not_found("access credential", credential_id)
    return row


async def _locked(work: Work, credential_id: str) -> Record:
    row = await store.credential_lock(work.conn, credential_id)
    if row is None:
        raise not_found("access credential", credential_id)
    return row


def _credential(row: Record) -> AccessCredential:
    return AccessCredential(**{name: row[name] for name in AccessCredential.model_fields})
