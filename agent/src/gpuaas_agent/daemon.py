"""`gpuaas-agent run`: asks the platform what to do, does it, and reports; nothing listens here.

The state is on disk whenever it matters, so that ending is always safe: a signal ends the process
at once, and systemd starts it again.
"""

import asyncio
import contextlib
import os
import random
import signal
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import Any

from gpuaas_agent import __version__
from gpuaas_agent.access import AccessFailed, access_apply, access_revision, access_stale
from gpuaas_agent.config import Config
from gpuaas_agent.facts.collect import facts_collect, machine_reader
from gpuaas_agent.identity import Identity
from gpuaas_agent.journal import Entry, Journal, boot_id
from gpuaas_agent.leaving import host_clean, host_forget
from gpuaas_agent.places import Places
from gpuaas_agent.programs import ProgramFailed
from gpuaas_agent.running import Running, Tools, task_carry
from gpuaas_agent.supervise import MARK_SPACE
from gpuaas_agent.trust import NotTrusted, Trust
from gpuaas_agent.unit import unit_refresh
from gpuaas_agent.updating import NotUpdated, agent_update
from gpuaas_agent.wire import Ask, Refused, Unreachable, Wire, pause_after

POLL_SECONDS = 25
HELD_MOST = 256
FACTS_SECONDS = 3600.0
ACCESS_RETRY_SECONDS = 60.0
_GONE = 60.0


class Agent:
    """The agent of this machine, for the life of a process."""

    def __init__(self, places: Places, config: Config) -> None:
        self._places = places
        self._config = config
        authority = places.authority if places.authority.exists() else None
        self._wire = Wire(config.url, authority)
        self._identity = Identity(places, self._wire, config.node_id)
        self._trust = Trust(places, config.node_id)
        self._journal = Journal(places.tasks)
        self._running: dict[str, Running] = {}
        self._carrying: set[asyncio.Task[None]] = set()
        self._access_told = ""
        self._access_error = ""
        self._access_pending: dict[str, Any] | None = None
        self._platform_now: tuple[datetime, float] | None = None

    async def run(self) -> int:
        """Until this machine is let go; returns the exit status."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, os._exit, 0)
        self._access_told = access_revision(self._places)
        log(f"node {self._config.node_id} of {self._config.url}, version {__version__}")
        with contextlib.suppress(ProgramFailed, OSError):  # the unit that started us will do
            await asyncio.to_thread(unit_refresh, self._places)
        for entry in self._journal.entries():
            self._carry(entry)
        background = asyncio.create_task(self._facts_forever())
        attempt = 0
        while True:
            try:
                if await self._turn():
                    background.cancel()
                    return 0
                attempt = 0
            except (Unreachable, Refused, NotTrusted, ProgramFailed, OSError) as error:
                attempt = await self._trouble(error, attempt)

    async def _turn(self) -> bool:
        """One question and what follows from its answer; true when this machine was let go."""
        said = await asyncio.to_thread(self._polled)
        self._platform_now = (datetime.fromisoformat(said["now"]), time.monotonic())
        if said["signers"] is not None:
            await asyncio.to_thread(self._trust.learn, said["signers"])
            return False
        if said["leave"] is not None:
            return await self._left(said["leave"])
        await asyncio.to_thread(self._access, said["access"])
        for task_id in said["cancel"]:
            if task_id in self._running:
                self._running[task_id].stopper.asked = True
        for signed in said["tasks"]:
            await self._accepted(signed)
        await asyncio.to_thread(self._rotated)
        if said.get("update") is not None:
            await asyncio.to_thread(self._updated, said["update"])
        return False

    def _polled(self) -> dict[str, Any]:
        """Blocking: the long question."""
        held = list(self._running)[:HELD_MOST]
        body = {
            "agent_version": __version__,
            "boot_id": boot_id(),
            "held": held,
            "stopping": [one for one in held if self._running[one].stopping],
            "access_revision": self._access_told,
            "access_error": self._access_error[:2000],
            "signers_revision": self._trust.revision,
        }
        token = self._identity.token()
        waits = f"/agent/poll?wait={POLL_SECONDS}s"
        answer: dict[str, Any] = self._wire.ask(Ask(waits, body, token, seconds=POLL_SECONDS + 20))
        return answer

    def _access(self, signed: dict[str, str] | None) -> None:
        """Make a new direction hold, or try again with the one that did not."""
        if signed is not None:
            direction = self._trust.opened(signed, "access")
            if access_stale(self._places, direction):
                raise NotTrusted("a direction about access that is older than the one that holds")
            self._access_pending, self._access_told = direction, direction["revision"]
        if self._access_pending is None:
            return
        try:
            access_apply(self._places, self._access_pending)
        except (AccessFailed, ProgramFailed) as error:
            if str(error) != self._access_error:
                log(f"sshd is not set up: {error}")
            self._access_error = str(error)
            return
        principals = self._access_pending["principals"]
        log(f"sshd lets in: {principals or 'nobody by certificate'}")
        self._access_error, self._access_pending = "", None

    async def _accepted(self, signed: dict[str, str]) -> None:
        direction = await asyncio.to_thread(self._trust.opened, signed, "task")
        if direction["task_id"] in self._running:
            return
        space = int(direction["spec"].get("output_bytes", 0)) + MARK_SPACE
        try:
            entry = await asyncio.to_thread(self._journal.accept, direction, space)
        except OSError as error:
            await asyncio.to_thread(self._declined, direction, error)
            return
        self._carry(entry)

    def _declined(self, direction: dict[str, Any], error: OSError) -> None:
        """There is no room to write a task down: it is not begun, and the platform hears why."""
        path, story = f"/agent/tasks/{direction['task_id']}", direction["correlation_id"]
        message = f"There is no room for it on this machine ({error.strerror}); nothing was done."
        body = {"status": "failed", "code": "no_space", "message": message}
        try:
            self._say(f"{path}/end", body, story)
        except Refused as refusal:
            log(f"{direction['task_id']} declined: {refusal}")

    def _carry(self, entry: Entry) -> None:
        running = Running(entry)
        self._running[entry.task_id] = running
        tools = Tools(
            places=self._places,
            wire=self._wire,
            say=self._say,
            sealing_keys=self._identity.sealing_keys,
            access_error=lambda: self._access_error,
            log=log,
        )
        task = asyncio.create_task(self._carried(tools, running))
        self._carrying.add(task)
        task.add_done_callback(self._carrying.discard)

    async def _carried(self, tools: Tools, running: Running) -> None:
        try:
            await task_carry(tools, running)
        except Exception as error:  # noqa: BLE001 - one task's trouble must not end the others
            log(f"{running.entry.task_id} met trouble: {type(error).__name__}: {error}")
            await asyncio.sleep(ACCESS_RETRY_SECONDS)
            self._carry(running.entry)
            return
        self._running.pop(running.entry.task_id, None)

    def _say(self, path: str, body: dict[str, Any] | None, story: str, key: str = "") -> Any:  # noqa: ANN401 - JSON
        """Blocking: report to the platform, with a new token where the old one is not taken."""
        for last in (False, True):
            try:
                token = self._identity.token()
                ask = Ask(path, body, token, correlation_id=story, idempotency_key=key)
                return self._wire.ask(ask)
            except Refused as error:
                if error.status != 401:
                    raise
                self._identity.token_drop()
                if last:
                    raise Unreachable(str(error)) from error
        raise RuntimeError("unreachable")

    def _rotated(self) -> None:
        """Take new keys when they are due by the platform's own clock."""
        due, now = self._identity.rotates_at, self._now()
        if due is None or now is None or now < due:
            return
        self._identity.rotate()
        log("took a new identity")

    def _updated(self, signed: dict[str, str]) -> None:
        """Let a newer agent take over: this process ends, and systemd starts the other."""
        direction = self._trust.opened(signed, "update")
        try:
            agent_update(self._places, self._wire, direction)
        except NotUpdated as error:
            log(f"not updated to {direction['version']}: {error}")
            return
        log(f"updated to {direction['version']}")
        os._exit(0)

    def _now(self) -> datetime | None:
        """The platform's time, whatever this machine's clock says."""
        if self._platform_now is None:
            return None
        told, at = self._platform_now
        return told + timedelta(seconds=time.monotonic() - at)

    async def _left(self, signed: dict[str, str]) -> bool:
        direction = await asyncio.to_thread(self._trust.opened, signed, "leave")
        log(f"leaving: {direction['reason']}")
        residue = await asyncio.to_thread(host_clean, self._places, list(self._running))
        await asyncio.to_thread(self._say, "/agent/left", {"residue": residue}, "")
        await asyncio.to_thread(host_forget, self._places)
        return True

    async def _facts_forever(self) -> None:
        await asyncio.sleep(random.uniform(5, 15))  # noqa: S311 - spreads load, guards nothing
        while True:
            reference = self._now()
            reader = await machine_reader(self._places.root)
            stamp = None if reference is None else reference.astimezone(UTC).timestamp()
            facts = facts_collect(reader, reference=stamp)
            try:
                await asyncio.to_thread(self._say, "/agent/facts", {"facts": facts}, "")
            except (Unreachable, Refused, ProgramFailed) as error:
                log(f"facts were not reported: {error}")
            await asyncio.sleep(FACTS_SECONDS * random.uniform(0.9, 1.1))  # noqa: S311 - spreads load, guards nothing

    async def _trouble(self, error: Exception, attempt: int) -> int:
        """Wait a while: longer each time, and not all machines at once."""
        if isinstance(error, Refused) and error.status == 401:
            self._identity.token_drop()
        delay = pause_after(attempt)
        if isinstance(error, Refused) and error.status == 401 and attempt > 5:
            delay = _GONE  # it does not know us: only a person can help
        if attempt in {0, 3} or attempt % 20 == 0:
            log(f"no directions: {error}")
        await asyncio.sleep(delay)
        return attempt + 1


def log(line: str) -> None:
    """One line for the journal."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
