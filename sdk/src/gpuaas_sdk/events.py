"""Following the platform's events: a stream that resumes where it broke off.

Events wake, state decides: whoever follows also reads the state now and then.
"""

import asyncio
from collections.abc import AsyncIterator, Callable

from gpuaas_contract.events import CloudEvent, EventFilter
from gpuaas_sdk.client import Client, Request, Retries
from gpuaas_sdk.errors import TemporaryError, UnreachableError

_RETRIES = Retries(longest_delay=15.0)


async def follow(
    client: Client,
    wanted: EventFilter | None = None,
    after: str | None = None,
    opened: Callable[[], None] | None = None,
) -> AsyncIterator[CloudEvent]:
    """Every matching event behind the sequence `after`, for ever, across lost connections.

    Without a sequence it begins with what comes next. `opened` is called whenever a stream begins:
    who reads the state then, and after every event, misses nothing.
    """
    narrow = (wanted or EventFilter()).model_dump(mode="json", exclude_defaults=True)
    failures = 0
    while True:
        request = Request("GET", "/events/stream", params={**narrow, "after": after})
        try:
            async with client.stream(request) as response:
                if opened is not None:
                    opened()
                async for data in frames(response.aiter_lines()):
                    event = CloudEvent.model_validate_json(data)
                    after = event.sequence
                    failures = 0
                    yield event
        except (UnreachableError, TemporaryError):
            failures += 1
        await asyncio.sleep(_RETRIES.delay(failures, None))


async def frames(lines: AsyncIterator[str]) -> AsyncIterator[str]:
    """The data of each event; those named `stream.…` are the stream's own business."""
    name, data = "", list[str]()
    async for line in lines:
        if not line:
            if data and not name.startswith("stream."):
                yield "\n".join(data)
            name, data = "", []
        elif line.startswith("event:"):
            name = line[6:].strip()
        elif line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
