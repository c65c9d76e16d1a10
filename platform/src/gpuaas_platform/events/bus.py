"""Events to NATS JetStream, where one is configured: one publisher at a time, in order, resumable.

Elected (`kernel/elections.py`). Each event is published after the one before was stored by the
server, under its id, which JetStream uses to drop a repeat; then the cursor in our database moves.
An outage of the server costs time: the cursor stays, and publishing goes on from there.
"""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import nats
import structlog
from nats.aio.client import Client
from nats.js.api import StreamConfig
from nats.js.client import JetStreamContext
from nats.js.errors import NotFoundError

from gpuaas_contract.events import CLOUDEVENTS_MEDIA_TYPE
from gpuaas_platform.events.envelope import event_json, source_of
from gpuaas_platform.events.store import sequence
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.elections import Duty, duty_running
from gpuaas_platform.kernel.masking import error_told

NATS: Final = "nats"
SUBJECTS: Final = "gpuaas.events"
_BATCH: Final = 100
_SECONDS_PER_TURN: Final = 3.0
_TIMEOUT_SECONDS: Final = 4.0
_NOWHERE: Final = "_"
_log = structlog.get_logger(__name__)


@asynccontextmanager
async def bus_running(platform: Platform) -> AsyncIterator[None]:
    """Publish for as long as the block runs, if there is a server to publish to."""
    url = platform.settings.nats_url
    if url is None:
        yield
        return
    bus = Bus(platform, url)
    try:
        async with duty_running(platform, Duty(NATS, bus.turn, every=2.0, topic="events")):
            yield
    finally:
        await bus.close()


def subject_of(row: Record) -> str:
    """`gpuaas.events.<tenant>.<project>.<type>`; an underscore where there is none."""
    return ".".join(
        (SUBJECTS, row["org_id"] or _NOWHERE, row["project_id"] or _NOWHERE, row["type"])
    )


class Bus:
    """The connection to the server, made when it is needed and dropped when it fails."""

    def __init__(self, platform: Platform, url: str) -> None:
        self._platform = platform
        self._url = url
        self._source = source_of(platform.settings)
        self._client: Client | None = None

    async def turn(self, conn: Connection) -> bool:
        """Publish some of what is behind the cursor; whether there may be more."""
        cursor = await sequence.cursor_read(conn, NATS) or 0
        rows = await sequence.events_after(conn, cursor, _BATCH)
        if not rows:
            return False
        if rows[0]["seq"] > cursor + 1:
            _log.warning("nats_gap", after=cursor, first_kept=rows[0]["seq"])
        reached = cursor
        try:
            stream = await self._jetstream()
            deadline = time.monotonic() + _SECONDS_PER_TURN
            for row in rows:
                await self._publish(stream, row)
                reached = row["seq"]
                if time.monotonic() > deadline:
                    break
        except BaseException:
            await self.close()
            raise
        finally:
            if reached != cursor:
                await sequence.cursor_write(conn, NATS, reached)
        return reached != rows[-1]["seq"] or len(rows) == _BATCH

    async def close(self) -> None:
        """Drop the connection."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _jetstream(self) -> JetStreamContext:
        if self._client is None or not self._client.is_connected:
            await self.close()
            self._client = await self._connect()
            await self._stream_ensure(self._client.jetstream(timeout=_TIMEOUT_SECONDS))
        return self._client.jetstream(timeout=_TIMEOUT_SECONDS)

    async def _connect(self) -> Client:
        credentials = self._platform.settings.nats_credentials_file
        return await nats.connect(
            self._url,
            name="gpuaas-platform",
            allow_reconnect=False,  # the duty tries again, and knows where it was
            connect_timeout=int(_TIMEOUT_SECONDS),
            error_cb=_error_log,
            user_credentials=None if credentials is None else str(credentials),
        )

    async def _stream_ensure(self, stream: JetStreamContext) -> None:
        """Make the stream where there is none; one that an operator made stays as it is."""
        settings = self._platform.settings
        try:
            await stream.stream_info(settings.nats_stream)
        except NotFoundError:
            await stream.add_stream(
                StreamConfig(
                    name=settings.nats_stream,
                    subjects=[f"{SUBJECTS}.>"],
                    max_age=settings.event_retention_days * 86_400,
                    duplicate_window=600,
                )
            )

    async def _publish(self, stream: JetStreamContext, row: Record) -> None:
        headers = {"Nats-Msg-Id": row["id"], "Content-Type": CLOUDEVENTS_MEDIA_TYPE}
        await stream.publish(
            subject_of(row),
            event_json(row, self._source),
            stream=self._platform.settings.nats_stream,
            headers=headers,
        )


async def _error_log(error: Exception) -> None:
    _log.warning("nats_error", error=error_told(error))
