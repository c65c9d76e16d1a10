"""Rules of service accounts and their keys: made, rotated with overlap, revoked at once.

Whoever makes a key for a service account can act as it, so it takes all that the account may do.
"""

import base64
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from gpuaas_contract.common import Page
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.identity import (
    PublicKeySet,
    ServiceAccount,
    ServiceAccountCreate,
    ServiceAccountKey,
    ServiceAccountKeyCreate,
    ServiceAccountKeyCreated,
    ServiceAccountKeyStatus,
    ServiceAccountUpdate,
)
from gpuaas_contract.ids import Prefix
from gpuaas_contract.permissions import Permission
from gpuaas_platform.identity.bindings import binding_make
from gpuaas_platform.identity.credentials import SECRET_BYTES, key_secret_make, secret_hash
from gpuaas_platform.identity.places import project_place
from gpuaas_platform.identity.roles import role_find
from gpuaas_platform.identity.rules import grant_require
from gpuaas_platform.identity.store import access
from gpuaas_platform.identity.store import machines as store
from gpuaas_platform.identity.users import stand_in_for
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.database import Record
from gpuaas_platform.kernel.etag import etag_headers, match_require
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import PlatformError, invalid, not_found
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work

_KEYS_AT_MOST: Final = 10


@dataclass(frozen=True)
class AccountQuery:
    """Which service accounts to list."""

    project_id: str
    role: str | None
    cursor: str | None
    limit: int


async def account_create(
    project_id: str, given: ServiceAccountCreate, work: Work
) -> Answer[ServiceAccount]:
    """A new service account, with the roles it shall hold."""
    place = await project_place(work.conn, project_id)
    work.require(Permission.SERVICE_ACCOUNT_MANAGE, place)
    new = store.NewAccount(
        id=work.new_id(Prefix.SERVICE_ACCOUNT),
        org_id=place.org_id or "",
        project_id=project_id,
        name=given.name,
        display_name=given.display_name or given.name,
        description=given.description,
        public_key=_public_key(given.public_key),
        now=work.now,
    )
    if not await store.account_insert(work.conn, new):
        raise PlatformError(
            ErrorCode.NAME_TAKEN, f"The project has a service account named {given.name}."
        )
    work.audit(Target("service_account", new.id, place, detail={"name": given.name}))
    for name in dict.fromkeys(given.roles):
        await _role_give(new.id, name, place, work)
    account = account_of(await _read(new.id, work))
    work.emit(Happened("identity.service_account.created", new.id, place, _told(account)))
    return Answer(account, 201, etag_headers(account.revision))


async def account_list(call: Call, query: AccountQuery) -> Page[ServiceAccount]:
    """Service accounts of a project."""
    async with call.db.connection() as conn:
        place = await project_place(conn, query.project_id)
        call.caller.require(Permission.SERVICE_ACCOUNT_READ, place)
        wanted = store.AccountFilter(
            query.project_id, query.role, cursor_decode(query.cursor), query.limit + 1
        )
        rows = await store.accounts_page(conn, wanted)
    return page_of([account_of(row) for row in rows], query.limit, lambda account: account.id)


async def account_read(call: Call, account_id: str) -> ServiceAccount:
    """One service account; every service account may read itself."""
    async with call.db.connection() as conn:
        row = await store.account_read(conn, account_id)
    if row is None:
        raise not_found("service account", account_id)
    if account_id != call.caller.id:
        call.caller.require(Permission.SERVICE_ACCOUNT_READ, access.place_of(row))
    return account_of(row)


async def account_update(
    account_id: str, given: ServiceAccountUpdate, work: Work
) -> Answer[ServiceAccount]:
    """Change a service account; an inactive one loses its access at once."""
    row = await _managed(account_id, work)
    match_require(work.call, row["revision"])
    return await _changed(row, given.model_dump(exclude_none=True), work)


async def public_key_set(
    account_id: str, given: PublicKeySet, work: Work
) -> Answer[ServiceAccount]:
    """Register the key that secrets are sealed to; the account may do this itself."""
    row = await store.account_lock(work.conn, account_id)
    if row is None:
        raise not_found("service account", account_id)
    if account_id != work.call.caller.id:
        work.require(Permission.SERVICE_ACCOUNT_MANAGE, access.place_of(row))
        await stand_in_for(account_id, work)
    match_require(work.call, row["revision"])
    return await _changed(row, {"public_key": _public_key(given.public_key)}, work)


async def key_create(
    account_id: str, given: ServiceAccountKeyCreate, work: Work
) -> Answer[ServiceAccountKeyCreated]:
    """A new key, shown once; the predecessor it names works on for the overlap, then ends."""
    row = await _managed(account_id, work)
    place = access.place_of(row)
    await stand_in_for(account_id, work)
    if await store.keys_in_force(work.conn, account_id, work.now) >= _KEYS_AT_MOST:
        raise PlatformError(
            ErrorCode.QUOTA_EXCEEDED,
            f"A service account has {_KEYS_AT_MOST} keys at most; revoke one.",
        )
    if given.predecessor_id is not None:
        await _predecessor_end(account_id, given, work)
    key_id = work.new_id(Prefix.KEY)
    secret = key_secret_make(key_id, work.call.platform.clock.randomness(SECRET_BYTES))
    new = store.NewKey(
        id=key_id,
        service_account_id=account_id,
        name=given.name,
        secret_hash=secret_hash(secret),
        predecessor_id=given.predecessor_id,
        created_by=work.call.caller.id,
        now=work.now,
        expires_at=work.now + timedelta(seconds=given.expires_in_seconds),
    )
    made = await store.key_insert(work.conn, new)
    if made is None:
        raise PlatformError(ErrorCode.CONFLICT, "This key has been rotated by somebody else.")
    key = key_of(made, work.now)
    told = {"service_account_id": account_id, "predecessor_id": given.predecessor_id}
    work.audit(Target("service_account_key", key_id, place, after=key, detail=told))
    work.emit(Happened("identity.service_account_key.created", key_id, place, told))
    created = ServiceAccountKeyCreated(**key.model_dump(), secret=secret)
    return Answer(created, 201, secret=True)


async def key_list(
    call: Call, account_id: str, cursor: str | None, limit: int
) -> Page[ServiceAccountKey]:
    """Keys of a service account, also those that have ended."""
    await account_read(call, account_id)
    now = call.platform.clock.now()
    async with call.db.connection() as conn:
        rows = await store.keys_page(conn, account_id, cursor_decode(cursor), limit + 1)
    return page_of([key_of(row, now) for row in rows], limit, lambda key: key.id)


async def key_revoke(key_id: str, work: Work) -> Answer[ServiceAccountKey]:
    """End a key and every token made from it, now. The account may revoke its own keys."""
    row = await store.key_lock(work.conn, key_id)
    if row is None:
        raise not_found("service account key", key_id)
    account_id = row["service_account_id"]
    account = await _read(account_id, work)
    place = access.place_of(account)
    if account_id != work.call.caller.id:
        work.require(Permission.SERVICE_ACCOUNT_MANAGE, place)
    revoked = await store.key_revoke(work.conn, key_id, work.now)
    key = key_of(revoked or row, work.now)
    told = {"service_account_id": account_id}
    work.audit(Target("service_account_key", key_id, place, key_of(row, work.now), key, "", told))
    work.emit(Happened("identity.service_account_key.revoked", key_id, place, told))
    return Answer(key, 200)


def key_of(row: Record, now: datetime) -> ServiceAccountKey:
    """A key as the contract shows it."""
    status = ServiceAccountKeyStatus.ACTIVE
    if row["expires_at"] is not None and row["expires_at"] <= now:
        status = ServiceAccountKeyStatus.EXPIRED
    if row["revoked_at"] is not None:
        status = ServiceAccountKeyStatus.REVOKED
    fields = {name: row[name] for name in ServiceAccountKey.model_fields if name != "status"}
    return ServiceAccountKey(**fields, status=status)


def account_of(row: Record) -> ServiceAccount:
    """A service account as the contract shows it."""
    fields = {name: row[name] for name in ServiceAccount.model_fields if name != "public_key"}
    key = row["public_key"]
    return ServiceAccount(
        **fields, public_key=None if key is None else base64.b64encode(key).decode()
    )


async def _role_give(account_id: str, name: str, place: Place, work: Work) -> None:
    work.require(Permission.BINDING_MANAGE, place)
    role = await role_find(work.conn, name, place)
    grant_require(work.call.caller, role.permissions, place)
    new = access.NewBinding(
        id=work.new_id(Prefix.BINDING),
        principal_id=account_id,
        role=role.ref,
        place=place,
        created_by=work.call.caller.id,
        now=work.now,
    )
    await binding_make(new, role, work)


async def _predecessor_end(account_id: str, given: ServiceAccountKeyCreate, work: Work) -> None:
    old = await store.key_lock(work.conn, given.predecessor_id or "")
    if old is None or old["service_account_id"] != account_id:
        raise invalid("/predecessor_id", "is no key of this service account")
    if key_of(old, work.now).status is not ServiceAccountKeyStatus.ACTIVE:
        raise PlatformError(ErrorCode.STATE_CONFLICT, "The key to rotate has ended already.")
    await store.key_expire(
        work.conn, old["id"], work.now + timedelta(seconds=given.overlap_seconds)
    )


async def _managed(account_id: str, work: Work) -> Record:
    row = await store.account_lock(work.conn, account_id)
    if row is None:
        raise not_found("service account", account_id)
    work.require(Permission.SERVICE_ACCOUNT_MANAGE, access.place_of(row))
    return row


async def _changed(row: Record, change: dict[str, object], work: Work) -> Answer[ServiceAccount]:
    before, place = account_of(row), access.place_of(row)
    await store.account_write(work.conn, before.id, change)
    after = account_of(await _read(before.id, work))
    work.audit(Target("service_account", before.id, place, before, after))
    kind = "updated"
    if before.active != after.active:
        kind = "activated" if after.active else "deactivated"
    work.emit(Happened(f"identity.service_account.{kind}", before.id, place, _told(after)))
    return Answer(after, 200, etag_headers(after.revision))


async def _read(account_id: str, work: Work) -> Record:
    row = await store.account_read(work.conn, account_id)
    if row is None:
        raise not_found("service account", account_id)
    return row


def _public_key(text: str | None) -> bytes | None:
    if text is None:
        return None
    key = base64.b64decode(text)
    if len(key) != 32:
        raise invalid("/public_key", "an X25519 public key has 32 bytes")
    return key


def _told(account: ServiceAccount) -> dict[str, object]:
    return {"name": account.name, "roles": list(account.roles), "active": account.active}
