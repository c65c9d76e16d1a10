"""This room's life in a process: its blob store, the ingest loops, and the sweep.

What is no longer wanted is deleted after the transaction that says so; what nobody knows of is
found by listing the store. Everything here may be done twice or by two replicas at once.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import Final

from gpuaas_contract.artifacts import Artifact, ArtifactKind
from gpuaas_contract.ids import Prefix, id_valid
from gpuaas_contract.states import ArtifactStatus
from gpuaas_platform.artifacts.blob_store import PART, BlobStore, Held, blob_store_of
from gpuaas_platform.artifacts.file_store import FileStore
from gpuaas_platform.artifacts.ingest import ingest_turn
from gpuaas_platform.artifacts.publishing import INGEST, locked, topic_of
from gpuaas_platform.artifacts.rules import artifact_view, place_of
from gpuaas_platform.artifacts.s3_store import Bucket, S3Store
from gpuaas_platform.artifacts.sending import FINISHING
from gpuaas_platform.artifacts.sigv4 import Keys
from gpuaas_platform.artifacts.store import artifacts as artifact_rows
from gpuaas_platform.artifacts.store import deliveries as delivery_rows
from gpuaas_platform.artifacts.store import ingesting as store
from gpuaas_platform.kernel.call import Platform, system_call
from gpuaas_platform.kernel.loops import Loop, loop_running
from gpuaas_platform.kernel.settings import Settings
from gpuaas_platform.kernel.work import Answer, Happened, Target, Undone, Work, mutate

SWEEP: Final = "artifacts.sweep"
_INGEST_SECONDS: Final = 5.0
_SWEEP_SECONDS: Final = 60.0
_ORPHAN_SECONDS: Final = 3600.0
_ORPHAN_AGE: Final = timedelta(hours=1)  # younger ones may be of a row that is just being written
_BATCH: Final = 100
_ENDED: Final = {ArtifactStatus.FAILED, ArtifactStatus.RETIRED}
_MOVING: Final = {ArtifactStatus.INTENDED, ArtifactStatus.INGESTING}


@asynccontextmanager
async def artifacts_life(platform: Platform) -> AsyncIterator[None]:
    """Run for as long as the process serves."""
    blobs = store_open(platform.settings)
    platform.parts[PART] = blobs
    loops = [
        Loop(f"artifacts-{kind}", partial(ingest_turn, platform, kind), _INGEST_SECONDS, INGEST)
        for kind in ArtifactKind
    ]
    loops.append(Loop("artifacts-sweep", partial(sweep_turn, platform), _SWEEP_SECONDS, SWEEP))
    turn = partial(orphans_turn, platform)
    loops.append(Loop("artifacts-orphans", turn, _ORPHAN_SECONDS, "artifacts.orphans"))
    try:
        async with AsyncExitStack() as stack:
            for loop in loops:
                await stack.enter_async_context(loop_running(platform.signals, loop))
            yield
    finally:
        await asyncio.gather(*platform.parts.get(FINISHING, ()), return_exceptions=True)
        await blobs.close()


def store_open(settings: Settings) -> BlobStore:
    """The blob store the settings name."""
    if settings.artifact_store == "folder":
        return FileStore(settings.artifact_dir or settings.data_dir / "artifacts")
    missing = [
        name
        for name in ("s3_endpoint", "s3_bucket", "s3_access_key", "s3_secret_key_file")
        if getattr(settings, name) is None
    ]
    if missing:
        raise ValueError(f"the store of artifacts is s3, which needs: {', '.join(missing)}")
    secret = settings.s3_secret_key_file
    secret_key = "" if secret is None else secret.read_text().strip()
    keys = Keys(settings.s3_access_key or "", secret_key, settings.s3_region)
    endpoint = (settings.s3_endpoint or "").rstrip("/")
    return S3Store(Bucket(endpoint, settings.s3_bucket or "", settings.s3_prefix, keys))


async def sweep_turn(platform: Platform) -> None:
    """Fail intents nobody finished, delete what is no longer wanted, forget old deliveries."""
    await _expire(platform)
    after = ""
    while True:
        async with platform.db.connection() as conn:
            rows = await store.sweep_list(conn, after, _BATCH)
        for row in rows:
            await _swept(platform, row["id"], row["sweep"], row["upload"])
        if len(rows) < _BATCH:
            break
        after = rows[-1]["id"]
    before = platform.clock.now() - timedelta(days=platform.settings.request_retention_days)
    async with platform.db.connection() as conn:
        while await delivery_rows.deliveries_forget(conn, before, _BATCH) == _BATCH:
            pass


async def orphans_turn(platform: Platform) -> None:
    """Delete what lies in the store and should not: of no artifact, of one that has ended, late."""
    old = platform.clock.now() - _ORPHAN_AGE
    batch: list[Held] = []
    async for one in blob_store_of(platform).held():
        if one.since < old and id_valid(one.key, Prefix.ARTIFACT):
            batch.append(one)
        if len(batch) >= _BATCH:
            await _orphans_delete(platform, batch)
            batch = []
    await _orphans_delete(platform, batch)


async def _orphans_delete(platform: Platform, batch: list[Held]) -> None:
    blobs = blob_store_of(platform)
    async with platform.db.connection() as conn:
        known = await store.keys_known(conn, [one.key for one in batch])
    for one in batch:
        status = known.get(one.key)
        if status is None or status in _ENDED:
            await blobs.delete(one.key, one.upload)
        elif one.parts and status not in _MOVING:
            await blobs.parts_delete(one.key, one.upload)


async def _swept(platform: Platform, artifact_id: str, sweep: str, upload: str) -> None:
    blobs = blob_store_of(platform)
    if sweep == "all":
        await blobs.delete(artifact_id, upload)
    else:
        await blobs.parts_delete(artifact_id, upload)
    async with platform.db.connection() as conn:
        await store.sweep_done(conn, artifact_id, sweep)


async def _expire(platform: Platform) -> None:
    async with platform.db.connection() as conn:
        due = await store.intents_due(conn, platform.clock.now(), _BATCH)
    for artifact_id in due:
        story = f"expiry-{platform.clock.randomness(8).hex()}"
        call = system_call(platform, "/artifacts/expiry", story)
        with suppress(Undone):  # another replica was first, or the next part came
            handler = partial(_expired, artifact_id=artifact_id)
            await mutate(call, "artifacts.artifact.expire", handler)


async def _expired(work: Work, artifact_id: str) -> Answer[Artifact]:
    row = await locked(work, artifact_id)
    due = row["expires_at"] is not None and row["expires_at"] <= work.now
    if row["status"] != ArtifactStatus.INTENDED or not due:
        raise Undone
    reason = "Its content did not come in time."
    await artifact_rows.artifact_status(
        work.conn, artifact_id, ArtifactStatus.FAILED, reason, "all"
    )
    after, place = artifact_view(await locked(work, artifact_id)), place_of(row)
    work.audit(Target("artifact", artifact_id, place, artifact_view(row), after, reason))
    told = {"name": after.name, "version": after.version, "reason": reason}
    work.emit(Happened("artifacts.artifact.failed", artifact_id, place, told))
    work.signal(topic_of(artifact_id))
    return Answer(after)
