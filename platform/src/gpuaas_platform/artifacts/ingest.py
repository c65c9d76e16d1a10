"""The work between an upload and a published artifact: put together, verify, publish or fail.

A loop of every replica takes what is due under a lease; a replica that dies loses the lease and
another begins again, which is harmless: putting together is repeatable, and only the transaction at
the end, guarded by the lease, says what has become of it.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from typing import Final

import structlog

from gpuaas_contract.artifacts import Artifact, ArtifactKind
from gpuaas_contract.states import ArtifactStatus
from gpuaas_platform.artifacts.blob_store import (
    Content,
    ContentLost,
    Part,
    blob_store_of,
    parts_contiguous,
)
from gpuaas_platform.artifacts.publishing import locked, topic_of
from gpuaas_platform.artifacts.pulling import PullFailed, pull
from gpuaas_platform.artifacts.rules import artifact_view, place_of
from gpuaas_platform.artifacts.store import artifacts as artifact_rows
from gpuaas_platform.artifacts.store import ingesting as store
from gpuaas_platform.kernel.call import Platform, system_call
from gpuaas_platform.kernel.database import Record
from gpuaas_platform.kernel.kept import span_keep
from gpuaas_platform.kernel.problems import PlatformError
from gpuaas_platform.kernel.work import Answer, Happened, Target, Undone, Work, mutate

_log = structlog.get_logger(__name__)
_LEASE: Final = timedelta(seconds=30)
_RENEW_SECONDS: Final = 8.0
_ATTEMPTS: Final = 8
_LONGEST_DELAY: Final = 600.0


class _Wrong(Exception):
    """The content is not what was announced; trying again would not help."""


async def ingest_turn(platform: Platform, kind: ArtifactKind) -> None:
    """Work on everything of a kind that is due."""
    while True:
        lease = platform.clock.randomness(8).hex()
        now = platform.clock.now()
        async with platform.db.connection() as conn:
            row = await store.ingest_claim(conn, kind, lease, now, now + _LEASE)
        if row is None:
            return
        await _ingest(platform, row)


async def _ingest(platform: Platform, row: Record) -> None:
    try:
        async with _renewing(platform, row):
            with span_keep(row["correlation_id"], "ingest of the artifact", artifact_id=row["id"]):
                content = await _content(platform, row)
    except (_Wrong, PullFailed, ContentLost) as error:
        await _settle(platform, row, str(error), None)
        return
    except PlatformError as error:
        await _postpone(platform, row, error.detail)
        return
    await _settle(platform, row, "", content)


async def _content(platform: Platform, row: Record) -> Content:
    blobs = blob_store_of(platform)
    if row["kind"] == ArtifactKind.OCI:
        return await pull(platform, row)
    async with platform.db.connection() as conn:
        kept = await artifact_rows.part_list(conn, row["id"])
    parts = [Part(part.number, part.size, part.tag) for part in kept]
    if not parts_contiguous(parts):
        raise _Wrong("a part is missing")
    content = await blobs.upload_finish(row["id"], row["upload"], parts)
    if content.digest != row["digest"] or content.size != row["size"]:
        raise _Wrong(
            f"the content has {content.size} bytes and the digest {content.digest}, not what was"
            " announced"
        )
    return content


async def _settle(platform: Platform, row: Record, failure: str, content: Content | None) -> None:
    """Say what has become of it: published, or failed and to be swept away."""
    verb = "publish" if content is not None else "fail"
    handler = partial(_settled, lease=row["lease"], artifact_id=row["id"], failure=failure)
    call = system_call(platform, "/artifacts/ingest", row["correlation_id"])
    with contextlib.suppress(Undone):
        await mutate(call, f"artifacts.artifact.{verb}", partial(handler, content=content))
    platform.signals.send(("artifacts.sweep",))


async def _settled(
    work: Work, lease: str, artifact_id: str, failure: str, content: Content | None
) -> Answer[Artifact]:
    row = await locked(work, artifact_id)
    if row["status"] != ArtifactStatus.INGESTING or row["lease"] != lease:
        raise Undone  # somebody else has it, or has ended it
    if content is None:
        reason = failure[:1000]
        await artifact_rows.artifact_status(
            work.conn, artifact_id, ArtifactStatus.FAILED, reason, "all"
        )
    else:
        await store.ingest_finish(work.conn, artifact_id, content.digest, content.size, work.now)
    after = artifact_view(await locked(work, artifact_id))
    place = place_of(row)
    work.audit(Target("artifact", artifact_id, place, artifact_view(row), after, failure[:1000]))
    told = {
        "name": after.name, "version": after.version, "digest": after.digest,
        "size": after.size, "reason": after.status_reason,
    }  # fmt: skip
    work.emit(Happened(f"artifacts.artifact.{after.status}", artifact_id, place, told))
    work.signal(topic_of(artifact_id))
    return Answer(after)


async def _postpone(platform: Platform, row: Record, reason: str) -> None:
    """Try again later, and give up after a while: what goes on for ever is seen by nobody."""
    if row["attempts"] >= _ATTEMPTS:
        await _settle(platform, row, f"Given up after {_ATTEMPTS} attempts: {reason}", None)
        return
    delay = timedelta(seconds=min(5.0 * 2 ** row["attempts"], _LONGEST_DELAY))
    _log.warning(
        "artifact_postponed",
        correlation_id=row["correlation_id"],
        artifact_id=row["id"],
        reason=reason,
    )
    async with platform.db.connection() as conn:
        await store.ingest_postpone(
            conn, row["id"], row["lease"], reason, platform.clock.now() + delay
        )


@contextlib.asynccontextmanager
async def _renewing(platform: Platform, row: Record) -> AsyncIterator[None]:
    task = asyncio.create_task(_renew(platform, row), name=f"lease of {row['id']}")
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _renew(platform: Platform, row: Record) -> None:
    while True:
        await asyncio.sleep(_RENEW_SECONDS)
        with contextlib.suppress(PlatformError):  # a lost database is met by the work itself
            async with platform.db.connection() as conn:
                until = platform.clock.now() + _LEASE
                await store.ingest_renew(conn, row["id"], row["lease"], until)
