"""Rules of publishing: the intent, its parts as they arrive, and the word that all have come.

An intent says what the content will be; whoever repeats it is told how far it is, so an upload goes
on where it broke off. What arrives is verified part by part here, and as a whole by `ingest.py`.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from gpuaas_contract.artifacts import (
    MISSING_MAX,
    PARTS_MAX,
    Artifact,
    ArtifactCreate,
    ArtifactKind,
    ArtifactPart,
    ArtifactUpload,
)
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.ids import Prefix
from gpuaas_contract.permissions import Permission
from gpuaas_contract.policy import Dimension
from gpuaas_contract.states import ArtifactStatus
from gpuaas_platform.artifacts.lifecycle import signature_judge
from gpuaas_platform.artifacts.rules import (
    artifact_view,
    enabled_require,
    place_of,
    publish_require,
    read_require,
    source_decision,
    state_conflict,
)
from gpuaas_platform.artifacts.store import artifacts as store
from gpuaas_platform.artifacts.store import sources as source_rows
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.etag import etag_headers
from gpuaas_platform.kernel.problems import PlatformError, invalid, not_found
from gpuaas_platform.kernel.settings import Settings
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work
from gpuaas_platform.policy import service as policy

INGEST: Final = "artifacts.ingest"
_INTENT_LIFE: Final = timedelta(hours=24)  # from the last part that came
_DIGEST: Final = re.compile(r"sha-256=:([A-Za-z0-9+/]{43}=):")
_ROOM_FACTOR: Final = 2  # the parts and what they are put together to, for a while


@dataclass(frozen=True)
class Room:
    """What the store has left for the content; None where that is not known."""

    free_bytes: int | None
    reserve_bytes: int


async def artifact_create(
    work: Work, source_id: str, body: ArtifactCreate, room: Room
) -> Answer[Artifact]:
    """Announce an artifact; the same announcement again finds the one there is."""
    source = await source_rows.source_lock(work.conn, source_id)
    if source is None:
        raise not_found("artifact source", source_id)
    publish_require(work.call.caller, source)
    enabled_require(source)
    await _policy_require(work.conn, source)
    _body_require(body, source, work.call.platform.settings)
    twin = await store.artifact_twin(work.conn, source_id, body)
    if twin is not None:
        return _again(work, twin, body)
    await _quota_require(work, source, body, room)
    blob = source["kind"] == ArtifactKind.BLOB
    new = store.NewArtifact(
        id=work.new_id(Prefix.ARTIFACT),
        source=source,
        wanted=body,
        status=ArtifactStatus.INTENDED if blob else ArtifactStatus.INGESTING,
        created_by=work.call.caller.id,
        correlation_id=work.call.correlation_id,
        created_at=work.now,
        expires_at=work.now + _INTENT_LIFE if blob else None,
    )
    await store.artifact_insert(work.conn, new)
    if body.signature is not None:
        row = await locked(work, new.id)
        await signature_judge(work, row, body.signature)
    return _intended(work, await locked(work, new.id))


async def artifact_complete(work: Work, artifact_id: str) -> Answer[Artifact]:
    """All parts are there: have them put together and verified."""
    row = await locked(work, artifact_id)
    publish_require(work.call.caller, row)
    if row["status"] in {ArtifactStatus.INGESTING, ArtifactStatus.PUBLISHED}:
        return _again(work, row, None)
    if row["status"] != ArtifactStatus.INTENDED:
        raise state_conflict(row, "takes no content any more")
    received, missing = await store.parts_missing(
        work.conn, artifact_id, parts_total(row), MISSING_MAX
    )
    if missing:
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            f"{received} of {parts_total(row)} parts have arrived; the next to send is"
            f" {missing[0]}.",
            context={"artifact_id": artifact_id, "missing": str(missing[0])},
        )
    await store.artifact_status(work.conn, artifact_id, ArtifactStatus.INGESTING, "", None)
    return _changed(work, row, await locked(work, artifact_id), 202)


async def artifact_cancel(work: Work, artifact_id: str, reason: str) -> Answer[Artifact]:
    """Give an artifact up that is on its way; what has arrived is deleted.

    Whoever is putting it together finds at the end that it is no longer wanted.
    """
    row = await locked(work, artifact_id)
    publish_require(work.call.caller, row)
    if row["status"] not in {ArtifactStatus.INTENDED, ArtifactStatus.INGESTING}:
        raise state_conflict(row, "cannot be given up; retire it instead")
    await store.artifact_status(work.conn, artifact_id, ArtifactStatus.FAILED, reason, "all")
    return _changed(work, row, await locked(work, artifact_id), 200)


async def upload_read(call: Call, artifact_id: str) -> ArtifactUpload:
    """How far an upload is."""
    async with call.db.connection() as conn:
        row = await store.artifact_read(conn, artifact_id)
        if row is None:
            raise not_found("artifact", artifact_id)
        read_require(call.caller, Permission.ARTIFACT_READ, row)
        if row["kind"] != ArtifactKind.BLOB:
            raise state_conflict(row, "is pulled, not uploaded")
        total = parts_total(row)
        received, missing = await store.parts_missing(conn, artifact_id, total, MISSING_MAX)
    over = row["status"] != ArtifactStatus.INTENDED
    return ArtifactUpload(
        artifact_id=artifact_id,
        status=row["status"],
        size=row["size"],
        part_size=row["part_size"],
        parts_total=total,
        parts_received=total if over else received,
        missing=[] if over else missing,
    )


@dataclass(frozen=True)
class Arriving:
    """A part as it is announced: its number, and what its bytes will come to."""

    number: int
    size: int
    digest: str


def arriving_of(number: int, length: str | None, digest: str | None) -> Arriving:
    """A part from the headers of its request, which must say how long it is and its digest."""
    match = _DIGEST.search(digest or "")
    if match is None:
        raise invalid("/headers/Content-Digest", "sha-256=:<base64>: of the part is needed")
    try:
        raw = base64.b64decode(match[1], validate=True)
    except binascii.Error as error:
        raise invalid("/headers/Content-Digest", "is not base64") from error
    if length is None or not length.isdigit():
        raise invalid("/headers/Content-Length", "the length of the part is needed")
    return Arriving(number, int(length), f"sha256:{raw.hex()}")


class Checked:
    """The bytes of a part on their way to the store: counted, digested, refused if they differ.

    An `Incoming`. The refusal comes before the store has seen the end, so nothing is kept.
    """

    def __init__(self, part: Arriving, body: AsyncIterator[bytes]) -> None:
        self.size = part.size
        self._part = part
        self._body = body

    async def chunks(self) -> AsyncIterator[bytes]:
        """The bytes, as they come."""
        digest, seen = hashlib.sha256(), 0
        async for chunk in self._body:
            digest.update(chunk)
            seen += len(chunk)
            if seen > self.size:
                break
            yield chunk
        if seen != self.size or f"sha256:{digest.hexdigest()}" != self._part.digest:
            raise invalid("/body", f"part {self._part.number} is not what its headers say")


async def part_expected(call: Call, artifact_id: str, part: Arriving) -> Record:
    """The artifact a part belongs to, if the caller may send it and it is the one wanted."""
    async with call.db.connection() as conn:
        row = await store.artifact_read(conn, artifact_id)
    return _part_require(call, row, artifact_id, part)


async def part_record(
    work: Work, artifact_id: str, part: Arriving, tag: str | None
) -> Answer[ArtifactPart]:
    """Record a part that the store has. Without a tag there is none: only the refusal is wanted."""
    row = _part_require(
        work.call, await store.artifact_lock(work.conn, artifact_id), artifact_id, part
    )
    if tag is None:
        raise PlatformError(
            ErrorCode.CONFLICT, "The artifact has changed while the part came; send it again."
        )
    kept = store.PartRow(artifact_id, part.number, part.size, part.digest, tag)
    found = await store.part_insert(work.conn, kept, work.now, work.now + _INTENT_LIFE)
    if found is None or found["digest"] != part.digest:
        raise PlatformError(
            ErrorCode.CONFLICT,
            f"Part {part.number} has arrived before, with another content.",
            context={"artifact_id": artifact_id},
        )
    answer = ArtifactPart(**{name: found[name] for name in ArtifactPart.model_fields})
    detail = {"number": part.number, "digest": part.digest}
    work.audit(Target("artifact", artifact_id, place_of(row), detail=detail))
    return Answer(answer, 200)


def parts_total(row: Record) -> int:
    """How many parts the content has."""
    return -(-int(row["size"] or 0) // int(row["part_size"]))


async def locked(work: Work, artifact_id: str) -> Record:
    """The artifact, held until the transaction ends."""
    row = await store.artifact_lock(work.conn, artifact_id)
    if row is None:
        raise not_found("artifact", artifact_id)
    return row


def topic_of(artifact_id: str) -> str:
    """What wakes whoever waits for this artifact."""
    return f"artifact:{artifact_id}"


def _part_require(call: Call, row: Record | None, artifact_id: str, part: Arriving) -> Record:
    if row is None:
        raise not_found("artifact", artifact_id)
    publish_require(call.caller, row)
    if row["kind"] != ArtifactKind.BLOB or row["status"] != ArtifactStatus.INTENDED:
        raise state_conflict(row, "takes no parts")
    total = parts_total(row)
    if not 1 <= part.number <= total:
        raise invalid("/path/number", f"the parts are 1 to {total}")
    last = part.number == total
    size = row["size"] - (total - 1) * row["part_size"] if last else row["part_size"]
    if part.size != size:
        raise invalid("/headers/Content-Length", f"part {part.number} has {size} bytes")
    return row


async def _policy_require(conn: Connection, source: Record) -> None:
    place = place_of(source)
    address = source["address"]
    decisions = await policy.decide_many(conn, place, Dimension.ARTIFACT_SOURCES, [address])
    decision = source_decision(decisions[address], source)
    if not decision.allowed:
        raise policy.denied(decision)


def _body_require(body: ArtifactCreate, source: Record, settings: Settings) -> None:
    if source["kind"] == ArtifactKind.OCI:
        if body.size is not None:
            raise invalid("/size", "is found out by pulling")
        return
    if body.size is None:
        raise invalid("/size", "is needed")
    if body.size > settings.artifact_max_bytes:
        raise invalid("/size", f"an artifact has {settings.artifact_max_bytes} bytes at most")
    if body.size > body.part_size * PARTS_MAX:
        raise invalid("/part_size", f"there are {PARTS_MAX} parts at most")


async def _quota_require(work: Work, source: Record, body: ArtifactCreate, room: Room) -> None:
    size, settings = body.size or 0, work.call.platform.settings
    if source["org_id"] is not None:
        used = await source_rows.tier_bytes(work.conn, source["org_id"])
        if used + size > settings.artifact_tenant_bytes:
            raise PlatformError(
                ErrorCode.QUOTA_EXCEEDED,
                f"The tenant's artifacts have {used} bytes; with these it would be more than"
                f" {settings.artifact_tenant_bytes}.",
                context={"limit": str(settings.artifact_tenant_bytes), "used": str(used)},
            )
    if room.free_bytes is None:
        return
    if size * _ROOM_FACTOR + room.reserve_bytes > room.free_bytes:
        raise PlatformError(
            ErrorCode.UNAVAILABLE,
            f"The store of artifacts has no room for {size} bytes.",
            retry_after=60,
        )


def _again(work: Work, row: Record, body: ArtifactCreate | None) -> Answer[Artifact]:
    """The artifact there is, where it is the same as what is announced."""
    known = row["reference"] or row["digest"]
    if row["status"] == ArtifactStatus.RETIRED or (
        body is not None and (body.digest != known or body.size not in {None, row["size"]})
    ):
        raise PlatformError(
            ErrorCode.CONFLICT,
            f"{row['name']} {row['version']} for {row['platform']} is there already"
            f" ({row['status']}); a version never changes, publish another.",
            context={"artifact_id": row["id"], "digest": known or ""},
        )
    artifact = artifact_view(row)
    work.audit(Target("artifact", row["id"], place_of(row), artifact, artifact))
    return Answer(artifact, 200, etag_headers(artifact.revision))


def _intended(work: Work, row: Record) -> Answer[Artifact]:
    artifact, place = artifact_view(row), place_of(row)
    detail = {"name": artifact.name, "version": artifact.version, "source": artifact.source_id}
    work.audit(Target("artifact", artifact.id, place, after=artifact, detail=detail))
    work.emit(Happened(f"artifacts.artifact.{artifact.status}", artifact.id, place, detail))
    if artifact.status is ArtifactStatus.INGESTING:
        work.signal(INGEST)
    return Answer(artifact, 201, etag_headers(artifact.revision))


def _changed(work: Work, before: Record, after: Record, status: int) -> Answer[Artifact]:
    artifact, place = artifact_view(after), place_of(after)
    work.audit(Target("artifact", artifact.id, place, artifact_view(before), artifact))
    detail = {"name": artifact.name, "version": artifact.version, "reason": artifact.status_reason}
    work.emit(Happened(f"artifacts.artifact.{artifact.status}", artifact.id, place, detail))
    work.signal(topic_of(artifact.id))
    if artifact.status is ArtifactStatus.INGESTING:
        work.signal(INGEST)
    return Answer(artifact, status, etag_headers(artifact.revision))
