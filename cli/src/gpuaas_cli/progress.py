"""Waiting for operations: their steps live on a terminal, a line per change elsewhere."""

import asyncio
import sys
import time
from collections.abc import Sequence
from typing import Any

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from gpuaas_cli.screen import console, word
from gpuaas_cli.session import OPERATION_FAILED, Session, Stop
from gpuaas_sdk import Request

ENDED = {"succeeded", "failed", "cancelled", "abandoned"}
_MARKS = {"succeeded": "✓", "skipped": "·", "running": "▸", "failed": "✗", "undone": "↶"}
_POLL = 20


def operations_of(answer: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - JSON
    """The operations an answer names."""
    if isinstance(answer, dict) and "operations" in answer and "instance" in answer:
        return list(answer["operations"])
    return [answer] if isinstance(answer, dict) and "progress" in answer else []


async def wait_for(session: Session, asked: Sequence[dict[str, Any]], patience: float) -> int:
    """Show the steps until every operation ended; 0 when all succeeded, else 6."""
    ended = await ended_operations(session, asked, patience)
    failed = [one for one in ended if one["status"] != "succeeded"]
    for one in failed:
        sys.stderr.write(failure_text(one) + "\n")
    return OPERATION_FAILED if failed else 0


async def ended_operations(
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
        waiting = [one for one in known.values() if one["status"] not in ENDED]
        named = ", ".join(f"{one['id']} ({one['status']})" for one in waiting)
        raise Stop(
            f"not ended after {patience:.0f} s: {named}. It goes on; `gpuaas op watch` follows it."
        ) from None
    return list(known.values())


async def operation_ended(session: Session, operation_id: str, patience: float) -> dict[str, Any]:
    """One operation at its end, shown to nobody."""
    found: dict[str, Any] = await session.read(f"/operations/{operation_id}")
    async with asyncio.timeout(patience):
        while found["status"] not in ENDED:
            found = await _newer(session, found)
    return found


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


def steps_view(operation: dict[str, Any]) -> Group:
    """An operation with its steps."""
    title = Text.assemble(
        (operation["kind"], "bold"), " ", operation["id"], " ", word(operation["status"])
    )
    if operation["attempt"] > 1:
        title.append(f" attempt {operation['attempt']} of {operation['max_attempts']}", "yellow")
    lines = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    for step in operation["progress"]:
        mark = _MARKS.get(step["state"], " ")
        lines.add_row(f"  {mark}", step["name"], word(step["state"]), Text(step["message"]))
    for one in operation.get("conditions", []):
        lines.add_row("  !", one["type"], Text(one["message"], "yellow"), one["next_action"])
    return Group(title, lines)


class _View:
    """The operations on the terminal; lines on standard error where there is none."""

    def __init__(self, known: dict[str, dict[str, Any]]) -> None:
        self._known = known
        self._console = console(stderr=True)
        self._live = Live(console=self._console, auto_refresh=False)
        self._said: set[tuple[str, ...]] = set()
        self._began = time.monotonic()

    def __enter__(self) -> "_View":
        if self._console.is_terminal:
            self._live.start()
        self.show()
        return self

    def __exit__(self, *_: object) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def show(self) -> None:
        """What is now known."""
        if self._console.is_terminal:
            views = [steps_view(one) for one in self._known.values()]
            self._live.update(Group(*views), refresh=True)
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
    found: dict[str, Any] = (await session.send(request)).json()
    return found
