"""A part on its way from a request into the blob store, and only then onto the record.

The store may be another machine, so nothing of it is awaited inside a transaction: first it is
asked whether the part is wanted, then it is kept, then it is recorded. A crash in between leaves a
part that is not recorded, which is sent again and replaces itself.
"""

from collections.abc import AsyncIterator
from functools import partial

from fastapi import Response

from gpuaas_contract.errors import ErrorCode
from gpuaas_platform.artifacts.blob_store import blob_store_of
from gpuaas_platform.artifacts.publishing import Arriving, Checked, Room, part_expected, part_record
from gpuaas_platform.artifacts.store import artifacts as store
from gpuaas_platform.kernel.call import Call, Platform
from gpuaas_platform.kernel.problems import PlatformError
from gpuaas_platform.kernel.work import mutate


async def part_put(
    call: Call, artifact_id: str, part: Arriving, body: AsyncIterator[bytes]
) -> Response:
    """Keep a part and record it; a refusal is on the record as that of any other mutation."""
    record = partial(part_record, artifact_id=artifact_id, part=part)
    try:
        row = await part_expected(call, artifact_id, part)
    except PlatformError as error:
        if error.code is ErrorCode.UNAVAILABLE:
            raise
        return await mutate(call, "artifacts.part.put", partial(record, tag=None))
    blobs = blob_store_of(call.platform)
    upload = row["upload"] or await _upload_begin(call, artifact_id)
    tag = await blobs.part_write(artifact_id, upload, part.number, Checked(part, body))
    return await mutate(call, "artifacts.part.put", partial(record, tag=tag))


async def room_of(platform: Platform) -> Room:
    """What the store has left."""
    free = await blob_store_of(platform).free_bytes()
    return Room(free, platform.settings.min_free_bytes)


async def _upload_begin(call: Call, artifact_id: str) -> str:
    """Begin the upload; of two parts that come first at once, one names it for both."""
    blobs = blob_store_of(call.platform)
    begun = await blobs.upload_begin(artifact_id)
    async with call.db.connection() as conn:
        held = await store.upload_begin(conn, artifact_id, begun)
    if held != begun:
        await blobs.parts_delete(artifact_id, begun)
    if not held:
        raise PlatformError(
            ErrorCode.STATE_CONFLICT, "The artifact has ended while its first part came."
        )
    return held
