"""Answers that go on: the event stream, and exports line by line."""

import sys
from typing import Any

from gpuaas_cli.book import Operation
from gpuaas_cli.session import Session
from gpuaas_contract.events import EventFilter
from gpuaas_sdk import Request, follow


async def stream_print(session: Session, operation: Operation, request: Request) -> int:
    """Print an answer as it comes; the event stream resumes by itself until Ctrl-C."""
    if operation.media == "text/event-stream":
        await _events(session, dict(request.params))
        return 0
    async with session.client.stream(request) as response:
        async for line in response.aiter_lines():
            sys.stdout.write(line + "\n")
    return 0


async def _events(session: Session, params: dict[str, Any]) -> None:
    after = params.pop("after", None)
    wanted = EventFilter.model_validate({k: v for k, v in params.items() if v not in (None, [])})
    async for event in follow(session.client, wanted, None if after is None else str(after)):
        if session.options.output == "table":
            said = f"{event.time:%H:%M:%S} {event.type} {event.subject} {event.correlationid}"
            sys.stdout.write(said + "\n")
        else:
            sys.stdout.write(event.model_dump_json() + "\n")
        sys.stdout.flush()
