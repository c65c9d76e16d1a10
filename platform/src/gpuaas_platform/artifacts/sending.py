"""Content on its way to a machine, and the record that it has gone.

Made by `deliveries.py` once it is clear that the machine may have it, used up by the route. So many
at once; where the store has a file and the server can send one, no byte of it passes through here.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from gpuaas_contract.artifacts import ArtifactDelivery
from gpuaas_contract.errors import ErrorCode
from gpuaas_platform.artifacts.blob_store import blob_store_of
from gpuaas_platform.artifacts.ranges import Span
from gpuaas_platform.artifacts.store import deliveries as store
from gpuaas_platform.kernel.call import Platform, system_call
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.problems import PlatformError
from gpuaas_platform.kernel.work import Answer, Happened, Target, Undone, Work, mutate

FINISHING: Final = "artifacts.finishing"
_STREAMS: Final = "artifacts.streams"


@dataclass(frozen=True)
class Outgoing:
    """What is sent: which span of which content."""

    platform: Platform
    delivery: ArtifactDelivery
    media_type: str
    span: Span


class Sending:
    """Content that is open and counted until `end`, which is called whatever happens."""

    def __init__(self, outgoing: Outgoing, file: int | None) -> None:
        self.outgoing = outgoing
        self.file = file
        self._handed = 0

    async def chunks(self) -> AsyncIterator[bytes]:
        """The bytes, where they have to pass through here."""
        span = self.outgoing.span
        blobs = blob_store_of(self.outgoing.platform)
        read = blobs.read(self.outgoing.delivery.artifact_id, span.start, span.length)
        async for chunk in read:
            self._handed += len(chunk)
            yield chunk

    def all_handed(self) -> None:
        """The server has sent the file's bytes."""
        self._handed = self.outgoing.span.length

    def end(self) -> None:
        """No more is sent; the last byte of the whole is put on the record."""
        platform, span = self.outgoing.platform, self.outgoing.span
        platform.parts[_STREAMS] -= 1
        if self.file is not None:
            os.close(self.file)
            self.file = None
        delivery = self.outgoing.delivery
        last = self._handed == span.length and span.start + span.length == delivery.size
        if last and delivery.finished_at is None:
            _finish_soon(platform, delivery)


async def sending_open(outgoing: Outgoing) -> Sending:
    """Open the content, if not too many are open already."""
    platform = outgoing.platform
    running = platform.parts.get(_STREAMS, 0)
    if running >= platform.settings.artifact_streams_max:
        raise PlatformError(
            ErrorCode.UNAVAILABLE, "Too many machines fetch at once.", retry_after=5
        )
    platform.parts[_STREAMS] = running + 1
    try:
        file = await blob_store_of(platform).file_open(outgoing.delivery.artifact_id)
    except BaseException:
        platform.parts[_STREAMS] -= 1
        raise
    return Sending(outgoing, file)


def delivery_told(delivery: ArtifactDelivery) -> dict[str, object]:
    """What an event and the audit say: what goes where, and nothing that opens it."""
    return {
        "allocation_id": delivery.allocation_id,
        "artifact_id": delivery.artifact_id,
        "name": delivery.name,
        "version": delivery.version,
        "digest": delivery.digest,
        "purpose": delivery.purpose,
    }


def _finish_soon(platform: Platform, delivery: ArtifactDelivery) -> None:
    """In a task of its own: a machine that has all it wants hangs up, which ends the request."""
    tasks: set[asyncio.Task[None]] = platform.parts.setdefault(FINISHING, set())
    task = asyncio.create_task(_finish(platform, delivery), name=f"end of {delivery.id}")
    tasks.add(task)
    task.add_done_callback(tasks.discard)


async def _finish(platform: Platform, delivery: ArtifactDelivery) -> None:
    async def finish(work: Work) -> Answer[ArtifactDelivery]:
        if not await store.delivery_finish(work.conn, delivery.id, work.now):
            raise Undone
        place = Place(delivery.org_id, delivery.project_id)
        told = delivery_told(delivery)
        work.audit(Target("artifact_delivery", delivery.id, place, detail=told))
        work.emit(Happened("artifacts.delivery.finished", delivery.id, place, told))
        return Answer(None, 204)

    call = system_call(platform, "/artifact-deliveries/content", delivery.correlation_id)
    try:
        await mutate(call, "artifacts.delivery.finish", finish)
    except Undone:
        return
