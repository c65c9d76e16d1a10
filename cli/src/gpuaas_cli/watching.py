"""`--watch`: a list shown again whenever an event says that something changed, and now and then."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from gpuaas_cli.book import Operation
from gpuaas_cli.options import PROGRAMS
from gpuaas_cli.output import json_text, note, show
from gpuaas_cli.screen import Screen
from gpuaas_cli.session import Session
from gpuaas_cli.tables import list_text
from gpuaas_sdk import ProblemError, TemporaryError, UnreachableError, follow

SWEEP_SECONDS = 15.0
_GATHER_SECONDS = 0.2


async def watch_list(
    session: Session, operation: Operation, load: Callable[[], Awaitable[list[Any]]]
) -> int:
    """Show the list until Ctrl-C. Events wake, the list decides."""
    form = session.options.output
    with Screen() as screen:
        drawn = screen.is_terminal and form not in PROGRAMS and session.options.field is None
        async for rows in changes(session, load):
            if drawn:
                screen.show(list_text(rows, operation.columns, wide=form == "wide"))
            elif form == "json" and session.options.field is None:
                sys.stdout.write(json_text(rows) + "\n")
            else:
                show(rows, form, operation.columns)
                sys.stdout.write("---\n" if form == "yaml" else "\n")
            sys.stdout.flush()
    return 0


async def changes(session: Session, load: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ANN401 - async iterator
    """What `load` answers, each time it answers something else."""
    woken = asyncio.Event()
    listener = asyncio.create_task(_listen(session, woken))
    try:
        before: Any = None
        while True:
            try:
                now = await load()
            except (UnreachableError, TemporaryError) as error:
                if before is None:
                    raise
                note(f"still watching: {error}")  # a platform that is restarted comes back
                now = before
            if now != before:
                yield now
                before = now
            with suppress(TimeoutError):
                await asyncio.wait_for(woken.wait(), SWEEP_SECONDS)
            await asyncio.sleep(_GATHER_SECONDS)  # one change is often several events
            woken.clear()
    finally:
        listener.cancel()
        await asyncio.wait({listener})


async def _listen(session: Session, woken: asyncio.Event) -> None:
    with suppress(ProblemError):  # who may not read events still gets the sweep
        async for _ in follow(session.client):
            woken.set()
