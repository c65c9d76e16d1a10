"""Waiting for operations: their steps live on a terminal, a line per change elsewhere."""

import asyncio
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Self

from gpuaas_cli.options import PROGRAMS
from gpuaas_cli.output import note, show
from gpuaas_cli.screen import Screen
from gpuaas_cli.session import OPERATION_FAILED, Session, Stop
from gpuaas_cli.views import steps_text
from gpuaas_sdk import Request, TemporaryError, UnreachableError

ENDED = {"succeeded", "failed", "cancelled", "abandoned"}
_COLUMNS = ("id", "kind", "status", "member_id", "correlation_id")
_UNSETTLED = {"requested", "provisioning", "releasing"}
_POLL = 20
_PAUSE = 2.0


def operations_of(answer: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - JSON
    """The operations an answer names."""
    if isinstance(answer, dict) and "operations" in answer and "instance" in answer:
        return list(answer["operations"])
    return [answer] if isinstance(answer, dict) and "progress" in answer else []


async def wait_for(session: Session, asked: Sequence[dict[str, Any]], patience: float) -> int:
    """Show the steps until every operation ended; 0 when all succeeded, else 6.

    Whoever reads by program gets the operations at their end on standard output.
    """
    ended = await waited_for(session, asked, patience)
    if session.options.output in PROGRAMS or session.options.field is not None:
        show(ended, session.options.output, _COLUMNS)
    return ended_code(ended)


def ended_code(ended: Sequence[dict[str, Any]]) -> int:
    """The exit code for operations that ended; those that failed are told."""
    failed = [one for one in ended if one["status"] != "succeeded"]
    for one in failed:
        sys.stderr.write(failure_text(one) + "\n")
    return OPERATION_FAILED if failed else 0


async def waited_for(
    session: Session, asked: Sequence[dict[str, Any]], patience: float
) -> list[dict[str, Any]]:
    """The operations at their end, shown on the way."""
    known = {one["id"]: one for one in asked}
    view = _View(known)
    try:
        async with asyncio.timeout(patience):
            with view:
                await asyncio.gather(*(_follow(session, known, one, view) for one in known))
    except TimeoutError:
        raise Stop(f"not ended after {patience:g} s: {_open_text(known)}") from None
    except asyncio.CancelledError:  # Ctrl-C
        if left := _open_text(known):
            note(f"no longer waiting for {left}")
        raise
    return list(known.values())


def _open_text(known: dict[str, dict[str, Any]]) -> str:
    """Which operations go on without us, and how to look at them again."""
    left = [one for one in known.values() if one["status"] not in ENDED]
    named = ", ".join(f"{one['kind']} {one['id']} ({one['status']})" for one in left)
    again = f"`gpuaas op watch {left[0]['id']}` follows it" if left else ""
    return f"{named}. It goes on; {again}." if left else ""


async def operation_ended(session: Session, operation_id: str, patience: float) -> dict[str, Any]:
    """One operation at its end, shown to nobody."""
    found: dict[str, Any] = await session.read(f"/operations/{operation_id}")
    async with asyncio.timeout(patience):
        while found["status"] not in ENDED:
            found = await _newer(session, found)
    return found


async def allocation_settled(
    session: Session, allocation: dict[str, Any], patience: float
) -> dict[str, Any]:
    """An allocation once its machine is made or taken away; each state is said on the way."""
    known, said = allocation, ""
    try:
        async with asyncio.timeout(patience):
            while True:
                if known["status"] != said:
                    said = known["status"]
                    note(f"{known['id']} {said} {known['status_reason']}".rstrip())
                if said not in _UNSETTLED:
                    return known
                await asyncio.sleep(_PAUSE)
                with suppress(UnreachableError, TemporaryError):  # it comes back
                    known = await session.read(f"/allocations/{known['id']}")
    except TimeoutError:
        raise Stop(
            f"{known['id']} is {said} after {patience:g} s. It goes on; `gpuaas allocation show"
            f" {known['id']}` tells."
        ) from None


def failure_text(operation: dict[str, Any]) -> str:
    """Why an operation did not succeed, and the ways out."""
    error = operation.get("error") or {}
    step = next((s["name"] for s in operation["progress"] if s["state"] == "failed"), None)
    where = f" at step {step}" if step else ""
    lines = [f"error: {operation['kind']} {operation['status']}{where} ({operation['id']})"]
    if error:
        lines.append(f"  {error['code']}: {error['message']}")
    ways = [one["action"] for one in operation.get("next_actions", [])]
    if ways:
        lines.append(f"  next: {', '.join(ways)}")
    lines.append(f"  correlation id: {operation['correlation_id']}")
    return "\n".join(lines)


class _View:
    """The operations on the terminal; lines on standard error where there is none."""

    def __init__(self, known: dict[str, dict[str, Any]]) -> None:
        self._known = known
        self._screen = Screen(stderr=True)
        self._said: set[tuple[str, ...]] = set()
        self._began = time.monotonic()

    def __enter__(self) -> Self:
        self._screen.__enter__()
        self.show()
        return self

    def __exit__(self, *_: object) -> None:
        self._screen.__exit__()

    def show(self) -> None:
        """What is now known."""
        if self._screen.is_terminal:
            self._screen.show("".join(map(steps_text, self._known.values())))
            return
        for one in self._known.values():
            for step in (step for step in one["progress"] if step["state"] != "pending"):
                self._say(one["id"], one["kind"], step["name"], step["state"], step["message"])
            for condition in one.get("conditions", []):
                self._say(one["id"], one["kind"], condition["type"], "!", condition["message"])
            self._say(one["id"], one["kind"], "", one["status"], "")

    def _say(self, *words: str) -> None:
        if words in self._said:
            return
        self._said.add(words)
        seconds = time.monotonic() - self._began
        sys.stderr.write(f"{seconds:7.1f} s  {' '.join(word for word in words if word)}\n")
        sys.stderr.flush()


async def _follow(
    session: Session, known: dict[str, dict[str, Any]], operation_id: str, view: _View
) -> None:
    while known[operation_id]["status"] not in ENDED:
        known[operation_id] = await _newer(session, known[operation_id])
        view.show()


async def _newer(session: Session, known: dict[str, Any]) -> dict[str, Any]:
    """The operation once it has changed, or after a while."""
    request = Request(
        "GET",
        f"/operations/{known['id']}",
        params={"wait": f"{_POLL}s", "after_revision": known["revision"]},
        wait=float(_POLL),
    )
    try:
        found: dict[str, Any] = (await session.send(request)).json()
    except (UnreachableError, TemporaryError) as error:
        # A platform that is restarted comes back, and the work went on meanwhile.
        note(f"still waiting: {error}")
        await asyncio.sleep(_PAUSE)
        return known
    return found
