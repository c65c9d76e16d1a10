"""One machine as an app sees it: run a script, move files, look at a unit.

Made by `Machines.open`. It holds no state but the pooled way to the machine; a machine can be used
from many tasks at once.
"""

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gpuaas_sdk.machines.failures import ScriptFailed, ScriptTimedOut
from gpuaas_sdk.machines.scripts import (
    UNIT_PROPERTIES,
    About,
    Order,
    get_script,
    put_input,
    put_script,
    unit_script,
    unit_wait_script,
)
from gpuaas_sdk.machines.values import File, Ran, Unit
from gpuaas_sdk.machines.wire import Output, Wire
from gpuaas_sdk.telemetry import span_inside

_MARGIN: Final = 10.0  # what a wait on the machine may take beyond its own time


@dataclass(frozen=True)
class Machine:
    """A machine that is held and was reached. Scripts run as root, by `/bin/sh`."""

    allocation_id: str
    wire: Wire
    about: About

    async def run(
        self,
        script: str,
        *,
        timeout: float = 60,  # noqa: ASYNC109 - the machine ends the script, not this side alone
        env: Mapping[str, str] | None = None,
        input: bytes = b"",  # noqa: A002 - the word subprocess uses
        check: bool = True,
    ) -> Ran:
        """Run a script to its end; a status other than 0 raises unless `check` is off.

        It begins without `set -e`. What it leaves in the background outlives it.
        """
        order = Order(
            self.allocation_id, script, timeout, env or {}, (input,) if input else (), self.about
        )
        output = await self._executed("script", order, check=check)
        return self._judge(output, timeout, check=check)

    async def put(
        self,
        *files: File,
        then: str = "",
        env: Mapping[str, str] | None = None,
        timeout: float = 60,  # noqa: ASYNC109 - the machine ends the script, not this side alone
    ) -> Ran:
        """Put files in place in one go, each whole or not at all; folders are made.

        `then` is a script that runs once they are there, in the same round trip; what it said is
        returned.
        """
        sizes = await asyncio.gather(*(_size(file.content) for file in files))
        sized, mark = list(zip(files, sizes, strict=True)), secrets.token_hex(8)
        order = Order(
            self.allocation_id,
            put_script(sized, mark, then) if files else then,
            timeout=timeout + sum(sizes) / 1_000_000,  # a megabyte a second is a link that works
            env=env or {},
            input=tuple(put_input(sized, mark)) if files else (),
            about=self.about,
        )
        return self._judge(await self._executed("files", order), order.timeout, check=True)

    async def get(self, path: str, *, limit: int = 1 << 20) -> bytes:
        """Read a file that is not longer than `limit`."""
        order = Order(
            self.allocation_id,
            get_script(path, limit),
            timeout=60 + limit / 1_000_000,
            about=self.about,
            stdout_limit=limit + 1,
        )
        output = await self._executed("read", order)
        ran = self._judge(output, order.timeout, check=True)
        if len(output.stdout) > limit:
            long = Ran(1, "", f"{path} is longer than {limit} bytes", ran.seconds)
            raise ScriptFailed(self.allocation_id, long, self.about.what)
        return output.stdout

    async def unit(self, name: str) -> Unit:
        """How a unit of systemd is; one that is not there has the load state `not-found`."""
        return _unit((await self.run(unit_script(name))).stdout)

    async def unit_wait(
        self,
        name: str,
        *,
        active: str = "active",
        timeout: float = 60,  # noqa: ASYNC109 - the waiting is done on the machine
    ) -> Unit:
        """Wait for a unit; raise with its last words when it failed or time is over."""
        script = unit_wait_script(name, active, timeout)
        ran = await self.run(script, timeout=timeout + _MARGIN)
        unit = _unit(ran.stdout)
        if unit.active == active:
            return unit
        said = f"{name} is {unit.active} ({unit.sub}, {unit.result}), not {active}\n{ran.stderr}"
        if unit.active == "failed":
            raise ScriptFailed(self.allocation_id, Ran(1, "", said, ran.seconds), self.about.what)
        late = Ran(1, "", said, ran.seconds)
        raise ScriptTimedOut(self.allocation_id, late, timeout, self.about.what)

    async def _executed(self, what: str, order: Order, *, check: bool = True) -> Output:
        """Run it; how long that took and how it ended is part of the step's span."""
        with span_inside(f"{what} on {self.allocation_id}") as span:
            output = await self.wire.execute(order)
            if span is not None:
                span.fields["exit_status"] = str(output.status)
                span.failed = output.timed_out or (check and output.status != 0)
            return output

    def _judge(self, output: Output, seconds: float, *, check: bool) -> Ran:
        ran = Ran(
            output.status,
            output.stdout.decode(errors="replace"),
            output.stderr.decode(errors="replace"),
            output.seconds,
            output.cut,
        )
        if output.timed_out:
            raise ScriptTimedOut(self.allocation_id, ran, seconds, self.about.what)
        if check and ran.status != 0:
            raise ScriptFailed(self.allocation_id, ran, self.about.what)
        return ran


async def _size(content: bytes | Path) -> int:
    if isinstance(content, bytes):
        return len(content)
    return (await asyncio.to_thread(content.stat)).st_size


def _unit(text: str) -> Unit:
    said = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    load, active, sub, result, pid = (said.get(name, "") for name in UNIT_PROPERTIES)
    return Unit(load, active, sub, result, int(pid or 0))
