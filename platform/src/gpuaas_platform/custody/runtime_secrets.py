"""Rules of runtime secrets: values a project's apps share, handed out once per reader and task.

A value is given once or made at random, and leaves only sealed to a service account. A rotation
ends the versions before it; a lease ends the secret by itself.
"""

import base64
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from fastapi import Response

from gpuaas_contract.common import Page
from gpuaas_contract.custody import (
    CustodyRevoke,
    CustodyStatus,
    RuntimeSecret,
    RuntimeSecretCreate,
    RuntimeSecretDeliver,
    RuntimeSecretDelivered,
    RuntimeSecretRotate,
    SecretEncoding,
    SecretRandom,
    SecretSource,
)
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.ids import Prefix
from gpuaas_contract.permissions import Permission
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
from gpuaas_platform.custody.store import secrets as store
from gpuaas_platform.custody.store.credentials import custody_list
from gpuaas_platform.identity.service import project_place
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import PlatformError, Unavailable, invalid, not_found
from gpuaas_platform.kernel.work import Answer, Happened, Target, Undone, Work, mutate

_KIND: Final = "runtime-secret"
_PLACEHOLDER: Final = b"{secret}"
_ENCODERS: Final[dict[SecretEncoding, Callable[[bytes], bytes]]] = {
    SecretEncoding.HEX: lambda raw: raw.hex().encode(),
    SecretEncoding.BASE64: base64.b64encode,
    SecretEncoding.BASE64URL: lambda raw: base64.urlsafe_b64encode(raw).rstrip(b"="),
    SecretEncoding.BINARY: bytes,
}


async def secret_create(call: Call, project_id: str, body: RuntimeSecretCreate) -> Response:
    """Issue a secret to a project."""
    find = partial(project_place, project_id=project_id)
    path = await _stash(call, body, find)
    handler = partial(_create, project_id=project_id, body=body, path=path)
    return await mutate(call, "custody.secret.create", handler)


async def secret_rotate(call: Call, secret_id: str, body: RuntimeSecretRotate) -> Response:
    """Issue the next version of a secret."""
    path = await _stash(call, body, partial(_place_of, secret_id))
    handler = partial(_rotate, secret_id=secret_id, body=body, path=path)
    return await mutate(call, "custody.secret.rotate", handler)


async def secret_deliver(call: Call, secret_id: str, body: RuntimeSecretDeliver) -> Response:
    """Hand the current version to the service account that asks, sealed."""
    read = partial(_read, secret_id=secret_id)
    fetched = await secret_fetch(call, Permission.SECRET_DELIVER, read)
    handler = partial(_deliver, secret_id=secret_id, task=body.task, fetched=fetched)
    return await mutate(call, "custody.secret.deliver", handler)


async def secret_read(call: Call, secret_id: str) -> RuntimeSecret:
    """One secret, without its value."""
    async with call.db.connection() as conn:
        row = await _read(conn, secret_id)
    call.caller.require(Permission.SECRET_READ, row_place(row))
    return _secret(row)


async def secret_list(
    call: Call, project_id: str | None, cursor: str | None, limit: int
) -> Page[RuntimeSecret]:
    """Secrets in reach, newest first."""
    reach = call.caller.reach(Permission.SECRET_READ)
    async with call.db.connection() as conn:
        if project_id is not None:
            place = await project_place(conn, project_id)
            call.caller.require(Permission.SECRET_READ, place)
        page = (cursor_decode(cursor), limit + 1)
        rows = await custody_list(conn, "runtime_secrets", reach, project_id, page)
    return page_of([_secret(row) for row in rows], limit, lambda found: found.id)


async def secret_revoke(work: Work, secret_id: str, body: CustodyRevoke) -> Answer[RuntimeSecret]:
    """End a secret; its value is deleted."""
    row = await _locked(work, secret_id)
    work.require(Permission.SECRET_MANAGE, row_place(row))
    _active_require(work, row)
    return Answer(await _end(work, row, CustodyStatus.REVOKED, body.reason))


async def secret_expire(work: Work, secret_id: str) -> Answer[RuntimeSecret]:
    """End a secret whose lease is over."""
    row = await _locked(work, secret_id)
    due = row["expires_at"] is not None and row["expires_at"] <= work.now
    if row["status"] != CustodyStatus.ACTIVE or not due:
        raise Undone
    return Answer(await _end(work, row, CustodyStatus.EXPIRED, "Its lease is over."))


async def _create(
    work: Work, project_id: str, body: RuntimeSecretCreate, path: str | None
) -> Answer[RuntimeSecret]:
    place = await project_place(work.conn, project_id)
    work.require(Permission.SECRET_MANAGE, place)
    await secret_keep(work, stashed_require(path))
    new = store.NewSecret(
        id=work.new_id(Prefix.SECRET),
        place=place,
        name=body.name,
        secret_path=stashed_require(path),
        expires_at=_lease_end(work, body.lease_seconds),
        created_by=work.call.caller.id,
        correlation_id=work.call.correlation_id,
    )
    row = await store.secret_insert(work.conn, new, work.now)
    if row is None:
        raise PlatformError(ErrorCode.NAME_TAKEN, f"There is a secret named {body.name} already.")
    secret = _secret(row)
    work.audit(Target("runtime_secret", new.id, place, after=secret))
    work.emit(Happened("custody.secret.created", new.id, place, _told(secret)))
    return Answer(secret, 201)


async def _rotate(
    work: Work, secret_id: str, body: RuntimeSecretRotate, path: str | None
) -> Answer[RuntimeSecret]:
    row = await _locked(work, secret_id)
    place = row_place(row)
    work.require(Permission.SECRET_MANAGE, place)
    _active_require(work, row)
    await secret_keep(work, stashed_require(path))
    await secret_drop(work, row["secret_path"])
    until = _lease_end(work, body.lease_seconds)
    after = await store.secret_rotate(work.conn, secret_id, stashed_require(path), until)
    secret = _secret(after)
    work.audit(Target("runtime_secret", secret_id, place, _secret(row), secret))
    work.emit(Happened("custody.secret.rotated", secret_id, place, _told(secret)))
    return Answer(secret)


async def _deliver(
    work: Work, secret_id: str, task: str, fetched: Fetched | None
) -> Answer[RuntimeSecretDelivered]:
    row = await _locked(work, secret_id)
    place = row_place(row)
    work.require(Permission.SECRET_DELIVER, place)
    _active_require(work, row)
    key = await reader_key(work)
    if fetched is None or not fetched.of(row):
        raise Unavailable("The secret store")
    reader, version = work.call.caller.id, row["version"]
    delivery = store.Delivery(secret_id, version, reader, task, work.call.correlation_id)
    if not await store.delivery_insert(work.conn, delivery, work.now):
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            "This reader got this version for this task already; it is delivered once.",
        )
    sealed = sealed_to(key, fetched.value, f"{_KIND}:{secret_id}:{version}", reader)
    detail = {"version": version, "task": task}
    work.audit(Target("runtime_secret", secret_id, place, detail=detail))
    data = {"name": row["name"], "version": version, "reader": reader}
    work.emit(Happened("custody.secret.delivered", secret_id, place, data))
    delivered = RuntimeSecretDelivered(secret_id=secret_id, version=version, sealed=sealed)
    return Answer(delivered, secret=True)


async def _stash(
    call: Call, source: SecretSource, find: Callable[[Connection], Awaitable[Place]]
) -> str | None:
    """Put a new value into the store, for a caller who may."""
    if not await call_allowed(call, Permission.SECRET_MANAGE, find):
        return None
    if (source.value is None) == (source.random is None):
        raise invalid("/value", "exactly one of value and random is given")
    value = b"" if source.value is None else source.value.encode()
    if source.random is not None:
        value = _made(source.random, call.platform.clock.randomness(source.random.length))
    return await secret_stash(call.platform, _KIND, value)


def _made(wanted: SecretRandom, raw: bytes) -> bytes:
    template = wanted.template.encode()
    if template.count(_PLACEHOLDER) != 1:
        raise invalid("/random/template", "holds {secret} exactly once")
    return template.replace(_PLACEHOLDER, _ENCODERS[wanted.encoding](raw))


async def _end(work: Work, row: Record, status: CustodyStatus, reason: str) -> RuntimeSecret:
    after = _secret(await store.secret_end(work.conn, row["id"], status, reason))
    await secret_drop(work, row["secret_path"])
    place = row_place(row)
    work.audit(Target("runtime_secret", row["id"], place, _secret(row), after, reason))
    work.emit(Happened(f"custody.secret.{status}", row["id"], place, _told(after)))
    return after


def _lease_end(work: Work, seconds: int | None) -> datetime | None:
    return None if seconds is None else work.now + timedelta(seconds=seconds)


def _active_require(work: Work, row: Record) -> None:
    over = row["expires_at"] is not None and row["expires_at"] <= work.now
    if row["status"] != CustodyStatus.ACTIVE or over:
        raise PlatformError(ErrorCode.STATE_CONFLICT, "The secret has ended.")


async def _place_of(secret_id: str, conn: Connection) -> Place:
    return row_place(await _read(conn, secret_id))


async def _read(conn: Connection, secret_id: str) -> Record:
    row = await store.secret_read(conn, secret_id)
    if row is None:
        raise not_found("runtime secret", secret_id)
    return row


async def _locked(work: Work, secret_id: str) -> Record:
    row = await store.secret_lock(work.conn, secret_id)
    if row is None:
        raise not_found("runtime secret", secret_id)
    return row


def _secret(row: Record) -> RuntimeSecret:
    return RuntimeSecret(**{name: row[name] for name in RuntimeSecret.model_fields})


def _told(secret: RuntimeSecret) -> dict[str, object]:
    return {"name": secret.name, "version": secret.version, "reason": secret.ended_reason}
