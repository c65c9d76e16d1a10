"""Rules of artifact sources and of the keys each of them trusts."""

from typing import Any, Final

from gpuaas_contract.artifacts import (
    ArtifactKey,
    ArtifactKeyCreate,
    ArtifactKeyRevoke,
    ArtifactKeyStatus,
    ArtifactKind,
    ArtifactSource,
    ArtifactSourceCreate,
    ArtifactSourceUpdate,
)
from gpuaas_contract.common import Page
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.ids import Prefix
from gpuaas_contract.permissions import Permission
from gpuaas_contract.states import ArtifactTrust
from gpuaas_platform.artifacts.addresses import address_require, guard_of
from gpuaas_platform.artifacts.rules import (
    address_of,
    artifact_view,
    place_of,
    read_require,
    source_view,
    tiers_of,
)
from gpuaas_platform.artifacts.store import artifacts as artifact_rows
from gpuaas_platform.artifacts.store import sources as store
from gpuaas_platform.artifacts.trust import public_key_parse
from gpuaas_platform.identity.places import tenant_place
from gpuaas_platform.identity.service import tenant_name
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import PLATFORM, Place
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.etag import etag_headers, match_require
from gpuaas_platform.kernel.keyring import Keyring
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import PlatformError, invalid, not_found
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work

_SOURCES_MAX: Final = 200  # per tenant


async def source_create(
    work: Work, org_id: str | None, body: ArtifactSourceCreate, keyring: Keyring
) -> Answer[ArtifactSource]:
    """Add a source to the platform's or a tenant's."""
    place = PLATFORM if org_id is None else await tenant_place(work.conn, org_id)
    work.require(Permission.ARTIFACT_SOURCE_MANAGE, place)
    address = await _address(work, place, body)
    if await store.sources_count(work.conn, org_id or store.SHARED) >= _SOURCES_MAX:
        raise PlatformError(
            ErrorCode.QUOTA_EXCEEDED, f"There are {_SOURCES_MAX} sources here already."
        )
    source_id = work.new_id(Prefix.ARTIFACT_SOURCE)
    new = store.NewSource(
        source_id, org_id, address, body, _sealed(keyring, source_id, body.password),
        work.call.caller.id, work.call.correlation_id, work.now,
    )  # fmt: skip
    if not await store.source_insert(work.conn, new):
        raise PlatformError(ErrorCode.NAME_TAKEN, f"There is a source {body.name} here already.")
    source = source_view(await _read(work.conn, source_id))
    work.audit(Target("artifact_source", source_id, place, after=source))
    work.emit(Happened("artifacts.source.created", source_id, place, _told(source)))
    return Answer(source, 201, etag_headers(source.revision))


async def source_list(call: Call, cursor: str | None, limit: int) -> Page[ArtifactSource]:
    """Sources in reach, newest first: shared ones and the caller's tenants'."""
    tiers = tiers_of(call.caller, Permission.ARTIFACT_SOURCE_READ)
    if not tiers.everywhere and not tiers.org_ids:
        call.caller.require(Permission.ARTIFACT_SOURCE_READ, PLATFORM)
    async with call.db.connection() as conn:
        rows = await store.source_list(conn, tiers, cursor_decode(cursor), limit + 1)
    return page_of([source_view(row) for row in rows], limit, lambda one: one.id)


async def source_read(call: Call, source_id: str) -> ArtifactSource:
    """One source."""
    async with call.db.connection() as conn:
        row = await _read(conn, source_id)
    read_require(call.caller, Permission.ARTIFACT_SOURCE_READ, row)
    return source_view(row)


async def source_update(
    work: Work, source_id: str, body: ArtifactSourceUpdate, keyring: Keyring
) -> Answer[ArtifactSource]:
    """Change what a source asks for, or switch it off and on."""
    row = await _locked(work, source_id)
    match_require(work.call, row["revision"])
    before = source_view(await _read(work.conn, source_id))
    changes: dict[str, Any] = {
        name: value
        for name, value in body.model_dump(exclude={"password"}).items()
        if value is not None
    }
    if body.username is not None or body.password is not None:
        if row["kind"] != ArtifactKind.OCI:
            raise invalid("/username", "only a registry is signed in to")
        changes["password"] = _sealed(keyring, source_id, body.password)
    await store.source_update(work.conn, source_id, changes)
    source = source_view(await _read(work.conn, source_id))
    place = place_of(row)
    detail = {"changed": sorted(changes)}
    work.audit(Target("artifact_source", source_id, place, before, source, detail=detail))
    work.emit(Happened("artifacts.source.updated", source_id, place, _told(source)))
    return Answer(source, 200, etag_headers(source.revision))


async def key_create(work: Work, source_id: str, body: ArtifactKeyCreate) -> Answer[ArtifactKey]:
    """Trust one more key in a source."""
    source = await _locked(work, source_id)
    public_key, fingerprint = public_key_parse(body.public_key)
    new = store.NewKey(
        work.new_id(Prefix.ARTIFACT_KEY), source, body, public_key, fingerprint,
        work.call.caller.id, work.call.correlation_id, work.now,
    )  # fmt: skip
    row = await store.key_insert(work.conn, new)
    if row is None:
        raise PlatformError(
            ErrorCode.NAME_TAKEN, f"The source has an active key {body.name} already."
        )
    key, place = _key(row), place_of(source)
    work.audit(Target("artifact_key", key.id, place, after=key, detail={"source": source_id}))
    work.emit(Happened("artifacts.key.created", key.id, place, _key_told(key)))
    return Answer(key, 201)


async def key_list(call: Call, source_id: str, cursor: str | None, limit: int) -> Page[ArtifactKey]:
    """Keys of a source, newest first, also those trusted no longer."""
    async with call.db.connection() as conn:
        source = await _read(conn, source_id)
        read_require(call.caller, Permission.ARTIFACT_SOURCE_READ, source)
        rows = await store.key_list(conn, source_id, cursor_decode(cursor), limit + 1)
    return page_of([_key(row) for row in rows], limit, lambda one: one.id)


async def key_revoke(work: Work, key_id: str, body: ArtifactKeyRevoke) -> Answer[ArtifactKey]:
    """Trust a key no longer, and what it vouched for as the caller says."""
    await store.key_source_lock(work.conn, key_id)
    row = await store.key_lock(work.conn, key_id)
    if row is None:
        raise not_found("artifact key", key_id)
    place = place_of(row)
    work.require(Permission.ARTIFACT_SOURCE_MANAGE, place)
    if row["status"] != ArtifactKeyStatus.ACTIVE:
        raise PlatformError(ErrorCode.STATE_CONFLICT, "The key is revoked already.")
    revoked = await store.key_revoke(work.conn, key_id, body.reason)
    if revoked is None:
        raise RuntimeError("a locked row cannot vanish")
    key = _key(revoked)
    touched = await _vouched_end(work, key, distrust=body.distrust)
    detail = {"artifacts": len(touched), "distrust": body.distrust}
    work.audit(Target("artifact_key", key_id, place, _key(row), key, body.reason, detail))
    work.emit(Happened("artifacts.key.revoked", key_id, place, _key_told(key) | detail))
    return Answer(key)


async def _vouched_end(work: Work, key: ArtifactKey, *, distrust: bool) -> list[str]:
    trust = ArtifactTrust.REVOKED if distrust else ArtifactTrust.UNVERIFIED
    reason = f"The key {key.name} that verified it was revoked: {key.revoke_reason}"
    rows = await artifact_rows.artifacts_of_key(work.conn, key.id)
    for row in rows:
        judged = artifact_rows.Judged(trust, reason, row["signature"], None)
        await artifact_rows.artifact_trust(work.conn, row["id"], judged)
        place = place_of(row)
        detail = {"trust": trust, "key": key.id}
        work.audit(
            Target("artifact", row["id"], place, artifact_view(row), reason=reason, detail=detail),
            "artifacts.artifact.distrust",
        )
        work.emit(Happened(f"artifacts.artifact.{trust}", row["id"], place, detail))
    return [row["id"] for row in rows]


async def _address(work: Work, place: Place, body: ArtifactSourceCreate) -> str:
    """A registry's address as it was given, or the one of a source whose content comes here."""
    if body.kind is ArtifactKind.OCI:
        if body.address is None:
            raise invalid("/address", "an OCI source needs the address of a repository")
        if (body.username is None) != (body.password is None):
            raise invalid("/username", "a user name and a password come together")
        guard = None if place.org_id is None else guard_of(work.call.platform.settings)
        address_require(guard, body.address, plain_http=body.plain_http)
        return body.address
    for name in ("address", "username", "password"):
        if getattr(body, name) is not None:
            raise invalid(f"/{name}", "only an OCI source has one")
    tenant = None if place.org_id is None else await tenant_name(work.conn, place.org_id)
    return address_of(body.kind, body.name, tenant)


def _sealed(keyring: Keyring, source_id: str, password: str | None) -> bytes | None:
    return None if password is None else keyring.seal(password.encode(), f"artifacts:{source_id}")


async def _read(conn: Connection, source_id: str) -> Record:
    row = await store.source_read(conn, source_id)
    if row is None:
        raise not_found("artifact source", source_id)
    return row


async def _locked(work: Work, source_id: str) -> Record:
    row = await store.source_lock(work.conn, source_id)
    if row is None:
        raise not_found("artifact source", source_id)
    work.require(Permission.ARTIFACT_SOURCE_MANAGE, place_of(row))
    return row


def _key(row: Record) -> ArtifactKey:
    return ArtifactKey(**{name: row[name] for name in ArtifactKey.model_fields})


def _told(source: ArtifactSource) -> dict[str, object]:
    return {"name": source.name, "address": source.address, "enabled": source.enabled}


def _key_told(key: ArtifactKey) -> dict[str, object]:
    return {"source_id": key.source_id, "name": key.name, "fingerprint": key.fingerprint}
