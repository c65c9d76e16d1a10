"""Waiting in tests: for a state, with a generous deadline, never for a time.

The deadline only bounds a test that would fail anyway; nothing is measured by it. It needs the
standard library alone, because packages are also tested by themselves.
"""

from __future__ import annotations

import inspect
from asyncio import sleep
from collections.abc import Awaitable, Callable
from time import monotonic
from time import sleep as block
from typing import TypeVar, overload

T = TypeVar("T")
What = str | Callable[[], str]
"""What is awaited, in words; a function where the words are known at the end alone."""

_PAUSE = 0.02


@overload
async def eventually(
    check: Callable[[], Awaitable[T | None]], *, within: float = 60.0, what: What = ""
) -> T: ...
@overload
async def eventually(
    check: Callable[[], T | None], *, within: float = 60.0, what: What = ""
) -> T: ...
async def eventually(
    check: Callable[[], object], *, within: float = 60.0, what: What = ""
) -> object:
    """Return the first true result of `check`, which is called again until the deadline.

    An exception of `check` is not caught. A call that runs at the deadline is not interrupted.
    """
    start = monotonic()
    while True:
        late = monotonic() - start >= within
        seen = check()
        if inspect.isawaitable(seen):
            seen = await seen
        if seen:
            return seen
        if late:
            raise AssertionError(_reason(check, seen, monotonic() - start, what))
        await sleep(_PAUSE)


def eventually_sync(check: Callable[[], T | None], *, within: float = 60.0, what: What = "") -> T:
    """Return the first true result of `check`, as `eventually` does, without an event loop."""
    start = monotonic()
    while True:
        late = monotonic() - start >= within
        seen = check()
        if seen:
            return seen
        if late:
            raise AssertionError(_reason(check, seen, monotonic() - start, what))
        block(_PAUSE)


def _reason(check: object, seen: object, waited: float, what: What) -> str:
    awaited = what if isinstance(what, str) else what()
    awaited = awaited or getattr(check, "__qualname__", repr(check))
    return f"not within {waited:.0f} s: {awaited}; the last value was {seen!r}"
