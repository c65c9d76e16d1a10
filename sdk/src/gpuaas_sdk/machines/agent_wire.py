"""For machines nobody can connect to: the node's agent pulls scripts as tasks and reports back.

Output and errors come back through the platform. What is sent this way is kept there with the task,
so a secret never goes into a script, its environment or its input here: have the agent deliver it.
"""

import asyncio
import base64
import math
import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gpuaas_contract.fleet import (
    OUTPUT_MAX_BYTES,
    SCRIPT_MAX,
    NodeTask,
    NodeTaskCancel,
    NodeTaskCreate,
    RunScript,
    TaskKind,
    TaskOutput,
)
from gpuaas_contract.states import NODE_TASK, NodeTaskStatus
from gpuaas_sdk.client import Client, Request
from gpuaas_sdk.errors import GpuaasError
from gpuaas_sdk.failures import PermanentFailure
from gpuaas_sdk.machines.certificate import failure_of
from gpuaas_sdk.machines.failures import MachineUnreachable
from gpuaas_sdk.machines.scripts import ALLOCATION_VARIABLE, CORRELATION_VARIABLE, About, Order
from gpuaas_sdk.machines.wire import Output, Wire

_WAIT: Final = 20
_LABEL: Final = 200


@dataclass(frozen=True)
class AgentAccess:
    """Tasks for the node's agent. One that has not begun within `begin_within` is given up."""

    begin_within: int = 60

    @property
    def key(self) -> str:
        """Pooled as one way."""
        return "agent"

    def wire(self, client: Client, allocation_id: str) -> Wire:
        """The way to the machine of an allocation."""
        return AgentWire(client, allocation_id, self.begin_within)


@dataclass(frozen=True)
class AgentWire:
    """The way to one machine through its agent."""

    client: Client
    allocation_id: str
    begin_within: int

    async def ready(self, about: About) -> None:
        """There is nothing to open: the first task tells."""

    async def close(self) -> None:
        """There is nothing to close."""

    async def execute(self, order: Order) -> Output:
        """Have a script run, and wait for its end."""
        began = time.monotonic()
        task: NodeTask | None = None
        try:
            body = NodeTaskCreate(
                spec=await _spec(order),
                label=order.about.what[:_LABEL],
                begin_within_seconds=self.begin_within,
            )
            task = await self._call("POST", f"/allocations/{self.allocation_id}/tasks", body, order)
            task = await self._ended(task, order)
            said = await self._output(task)
        except asyncio.CancelledError:
            if task is not None:
                await asyncio.shield(self._cancel(task, order))
            raise
        except GpuaasError as error:
            raise failure_of(self.allocation_id, error) from error
        return self._judged(task, order, said, time.monotonic() - began)

    async def _ended(self, task: NodeTask, order: Order) -> NodeTask:
        while task.status not in NODE_TASK.terminal:
            path = f"/node-tasks/{task.id}?wait={_WAIT}s&after={task.revision}"
            task = await self._call("GET", path, None, order, wait=_WAIT)
        return task

    async def _output(self, task: NodeTask) -> bytes:
        said, offset = bytearray(), 0
        while offset < task.output_bytes:
            path = f"/node-tasks/{task.id}/output"
            piece = await self.client.get(path, TaskOutput, offset=offset)
            said += base64.b64decode(piece.data)
            if piece.next_offset <= offset:
                break
            offset = piece.next_offset
        return bytes(said)

    async def _cancel(self, task: NodeTask, order: Order) -> None:
        try:
            async with asyncio.timeout(10):
                body = NodeTaskCancel(reason="The step was cancelled.")
                await self._call("POST", f"/node-tasks/{task.id}/cancel", body, order)
        except (GpuaasError, TimeoutError):
            return  # its own time limit ends it

    async def _call(
        self,
        method: str,
        path: str,
        body: NodeTaskCreate | NodeTaskCancel | None,
        order: Order,
        wait: float = 0,
    ) -> NodeTask:
        story = order.about.correlation_id or None
        request = Request(method, path, body, correlation_id=story, wait=wait)
        return await self.client.call(request, NodeTask)

    def _judged(self, task: NodeTask, order: Order, said: bytes, seconds: float) -> Output:
        result = task.result
        if task.status is NodeTaskStatus.EXPIRED:
            text = f"its agent did not take the task within {self.begin_within} s"
            raise MachineUnreachable(self.allocation_id, text)
        code = "cancelled" if result is None else result.code
        status = None if result is None else result.exit_status
        timed_out = code == "timed_out"
        if status is None and not timed_out:
            told = "" if result is None else result.message
            text = f"the task {task.id} ended as {code}: {told}; what it did is not known"
            raise MachineUnreachable(self.allocation_id, text, code="machine_lost")
        out, err = _parted(said)
        return Output(
            status=124 if status is None else status,
            stdout=out[: order.stdout_limit],
            stderr=err[: order.stderr_limit],
            seconds=seconds if result is None or result.seconds is None else result.seconds,
            cut=task.output_cut or len(out) > order.stdout_limit or len(err) > order.stderr_limit,
            timed_out=timed_out,
        )


async def _spec(order: Order) -> RunScript:
    script = _wrapped(order, await asyncio.to_thread(_whole, order))
    if len(script) > SCRIPT_MAX:
        raise PermanentFailure(
            "too_large_for_agent",
            f"{len(script)} bytes are too many for a task; deliver an artifact instead.",
        )
    environment = {
        "LC_ALL": "C.UTF-8",
        CORRELATION_VARIABLE: order.about.correlation_id,
        ALLOCATION_VARIABLE: order.allocation_id,
        **order.env,
    }
    return RunScript(
        kind=TaskKind.RUN_SCRIPT,
        script=script,
        environment=environment,
        timeout_seconds=max(1, math.ceil(order.timeout)),
        output_bytes=OUTPUT_MAX_BYTES,
    )


def _whole(order: Order) -> bytes:
    return b"".join(
        piece.read_bytes() if isinstance(piece, Path) else piece for piece in order.input
    )


def _wrapped(order: Order, given: bytes) -> str:
    """Keep output and errors apart: a task has one stream. Errors come last, after their length."""
    inner = f"eval {shlex.quote(order.script)}"
    lines = [
        'd=; trap \'[ -z "$d" ] || rm -rf -- "$d"\' EXIT',
        # Any user of the machine can fill /tmp: that keeps no script out.
        "for p in /tmp /run; do d=$(mktemp -d -p $p 2>/dev/null) || continue",
        f"base64 -d >$d/in 2>/dev/null <<'.' && break\n{base64.encodebytes(given).decode()}.",
        'rm -rf -- "$d"; d=; done',
        "[ -n \"$d\" ] || { echo 'there is room neither in /tmp nor in /run'; exit 1; }",
        f"({inner}) <$d/in 2>$d/err; s=$?",
        f"head -c {order.stderr_limit} $d/err >$d/kept; cat $d/kept",
        'printf "\\n%s" "$(stat -c %s $d/kept)"; exit $s',
    ]
    return "\n".join(lines)


def _parted(said: bytes) -> tuple[bytes, bytes]:
    """Output and errors of a script that came to its end; all is output of one that did not."""
    rest, newline, length = said.rpartition(b"\n")
    if not newline or not length.isdigit() or int(length) > len(rest):
        return said, b""
    split = len(rest) - int(length)
    return rest[:split], rest[split:]
