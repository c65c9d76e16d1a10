"""Carries one task from its direction to the platform's ear, through every interruption.

One coroutine per task. What it does next follows from the task's folder (`journal.py`) alone, so
that an agent that was killed goes on where it was. Nothing that was begun is begun again; what was
begun and has no result when nothing of it runs any more is reported as interrupted, never repeated.
"""

import asyncio
import base64
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from gpuaas_agent import delivering, scripts
from gpuaas_agent.delivering import Failed, Interrupted, Stopper
from gpuaas_agent.journal import Entry
from gpuaas_agent.places import Places
from gpuaas_agent.wire import Refused, Unreachable, Wire, pause_after

OUTPUT_CHUNK = 64 * 1024
_LOOK_SECONDS = 0.2
_LOOK_MOST = 2.0
_REFUSALS = 5
_INTERRUPTED = (
    "The machine went down, or the task was ended from outside, while it ran; it was not repeated."
)

Say = Callable[[str, dict[str, Any] | None, str, str], Any]


class NotWanted(Exception):
    """The platform does not want to hear of this task any more."""


@dataclass
class Running:
    """One task in the hands of the agent."""

    entry: Entry
    stopper: Stopper = field(default_factory=Stopper)
    sent: int = 0

    @property
    def stopping(self) -> bool:
        """Whether it is being stopped."""
        return self.stopper.asked


@dataclass(frozen=True)
class Tools:
    """What a task needs of the agent. `say` reports to the platform, blocking."""

    places: Places
    wire: Wire
    say: Say
    sealing_keys: Callable[[], list[bytes]]
    access_error: Callable[[], str]
    log: Callable[[str], None]


async def task_carry(tools: Tools, running: Running) -> None:
    """Begin, do, report, forget."""
    entry = running.entry
    try:
        if not entry.begun:
            await _said(tools, entry, "start", None)
            entry.begin()
        result = await _done(tools, running)
        await _output_rest(tools, running)
        await _said(tools, entry, "end", _ending(running, result))
        tools.log(f"{entry.task_id} reported: {result['code']}")
    except NotWanted as error:
        tools.log(f"{entry.task_id} dropped: {error}")
    await asyncio.to_thread(scripts.script_forget, tools.places, entry.task_id)
    entry.drop()


async def _done(tools: Tools, running: Running) -> dict[str, Any]:
    """The result, from the folder if it is there, else by doing the work."""
    entry = running.entry
    known = entry.result()
    if known is not None and known["code"] is not None:
        return known
    if entry.direction["kind"] == "run_script":
        return await _script(tools, running)
    result = await _moved(tools, running)
    entry.result_put(result)
    return result


async def _script(tools: Tools, running: Running) -> dict[str, Any]:
    """Start it unless it was begun, follow its output, stop it when asked to."""
    entry = running.entry
    if entry.result() is None and not running.stopping:
        tools.log(f"{entry.task_id} begins, correlation {entry.direction['correlation_id']}")
        try:
            await asyncio.to_thread(scripts.script_start, tools.places, entry)
        except scripts.CannotStart as error:
            return {"code": "cannot_run", "message": str(error)}
    pause = _LOOK_SECONDS
    while True:
        alive = await asyncio.to_thread(scripts.unit_alive, entry.task_id)
        result = entry.result()
        if result is not None and result["code"] is not None and not alive:
            return result
        if not alive:
            return _interrupted(result, running)
        if running.stopping:
            await asyncio.to_thread(scripts.script_stop, entry.task_id)
            continue
        pause = (
            _LOOK_SECONDS if await _output_some(tools, running) else min(pause * 1.5, _LOOK_MOST)
        )
        await asyncio.sleep(pause)


def _interrupted(result: dict[str, Any] | None, running: Running) -> dict[str, Any]:
    if running.stopping:
        return {"code": "stopped", "message": "It was stopped."}
    if result is None:
        return {"code": "cannot_run", "message": "systemd ended it before it began."}
    return {"code": "interrupted", "message": _INTERRUPTED}


async def _moved(tools: Tools, running: Running) -> dict[str, Any]:
    """Secrets, artifacts, files and principals: each can be done again."""
    direction = running.entry.direction
    mover = _MOVERS.get(direction["kind"])
    if mover is None:
        message = f"This agent does not know {direction['kind']}; update it."
        return {"code": "unknown_kind", "message": message}
    try:
        running.stopper.check()
        moved = await mover(tools, running)
    except Interrupted:
        return {"code": "stopped", "message": "It was stopped."}
    except Failed as error:
        return {"code": error.code, "message": str(error)}
    except Refused as error:
        return {"code": "refused", "message": str(error)}
    return {"code": "ok", "message": "", **moved}


async def _secret(tools: Tools, running: Running) -> dict[str, Any]:
    spec = running.entry.direction["spec"]
    answer = await _asked(tools, running.entry, "secret")
    keys = tools.sealing_keys()
    return await asyncio.to_thread(delivering.secret_put, spec, answer["sealed"], keys)


async def _artifact(tools: Tools, running: Running) -> dict[str, Any]:
    """Fetch until it is there: a way that breaks off is taken again from where it broke."""
    spec = running.entry.direction["spec"]
    attempt = refusals = 0
    running.stopper.deadline = time.monotonic() + float(spec["timeout_seconds"])
    while True:
        running.stopper.check()
        answer = await _asked(tools, running.entry, "artifact")
        source = delivering.Source(answer["path"], answer["digest"], int(answer["size"]))
        try:
            return await asyncio.to_thread(
                delivering.artifact_put, tools.wire, spec, source, running.stopper
            )
        except Unreachable:
            await asyncio.sleep(pause_after(attempt))
            attempt += 1
        except Refused:
            refusals += 1  # the way was open for a while only: ask for another, but not for ever
            if refusals >= _REFUSALS:
                await asyncio.to_thread(delivering.artifact_forget, spec)
                raise
        except (Interrupted, Failed):
            await asyncio.to_thread(delivering.artifact_forget, spec)
            raise


async def _collect(tools: Tools, running: Running) -> dict[str, Any]:
    spec = running.entry.direction["spec"]
    content, moved = await asyncio.to_thread(delivering.file_collect, spec)
    for start in range(0, len(content), OUTPUT_CHUNK):
        await _piece(tools, running, start, content[start : start + OUTPUT_CHUNK])
    return moved


async def _principals(tools: Tools, _running: Running) -> dict[str, Any]:
    """They came with the access direction, which is handled before tasks are."""
    error = tools.access_error()
    if error:
        raise Failed("access_failed", error)
    return {}


_MOVERS: dict[str, Callable[[Tools, Running], Awaitable[dict[str, Any]]]] = {
    "deliver_secret": _secret,
    "deliver_artifact": _artifact,
    "collect_file": _collect,
    "principals_set": _principals,
}


async def _output_some(tools: Tools, running: Running) -> bool:
    """Send what has been written since; says whether there was anything."""
    piece = running.entry.output(running.sent, OUTPUT_CHUNK)
    if piece:
        await _piece(tools, running, running.sent, piece)
    return bool(piece)


async def _output_rest(tools: Tools, running: Running) -> None:
    while await _output_some(tools, running):
        pass


async def _piece(tools: Tools, running: Running, start: int, piece: bytes) -> None:
    body = {"offset": start, "data": base64.b64encode(piece).decode()}
    answer = await _said(tools, running.entry, "output", body)
    running.sent = max(start + len(piece), int(answer["output_bytes"]))


def _ending(running: Running, result: dict[str, Any]) -> dict[str, Any]:
    code = str(result["code"])
    status = "succeeded" if code == "ok" else "failed"
    if code == "stopped":
        status, code = ("cancelled", "cancelled") if running.stopping else ("failed", "interrupted")
    ending = {"status": status, "code": code, "message": str(result.get("message", ""))[:2000]}
    for name in ("exit_status", "digest", "size", "seconds"):
        if result.get(name) is not None:
            ending[name] = result[name]
    return {**ending, "output_cut": bool(result.get("output_cut", False))}


async def _said(tools: Tools, entry: Entry, word: str, body: dict[str, Any] | None) -> Any:  # noqa: ANN401 - whatever JSON the platform answers
    """Report until the platform has heard; `NotWanted` when it says no."""
    try:
        return await _asked(tools, entry, word, body)
    except Refused as error:
        raise NotWanted(str(error)) from error


async def _asked(tools: Tools, entry: Entry, word: str, body: dict[str, Any] | None = None) -> Any:  # noqa: ANN401 - whatever JSON the platform answers
    attempt = 0
    while True:
        try:
            story = entry.direction["correlation_id"]
            path = f"/agent/tasks/{entry.task_id}/{word}"
            # A secret is delivered once: after a lost answer, this key gets the same answer again.
            key = f"{entry.task_id}/{word}" if word == "secret" else ""
            return await asyncio.to_thread(tools.say, path, body, story, key)
        except Unreachable:
            await asyncio.sleep(pause_after(attempt))
            attempt += 1
