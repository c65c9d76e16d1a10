"""Finds what cleanings have to do next, and asks hooks to install machines anew.

Runs in every replica. State decides: a step locks the node and its cleaning and looks again, so
that two replicas do nothing twice, and a crash leaves a step to the next turn. A request to a hook
is written down before it is sent; when nothing is heard of it, another one follows.
"""

import json
from contextlib import suppress
from functools import partial
from typing import Any, Final

import httpcore2
import structlog

from gpuaas_platform.capacity import cleaning as capacity
from gpuaas_platform.events.signing import delivery_headers
from gpuaas_platform.events.target import Sender
from gpuaas_platform.fleet.cleaning_steps import HookRequest, cleaning_step, hook_answered
from gpuaas_platform.fleet.cleanings import cleaning_begin
from gpuaas_platform.fleet.store import cleanings as store
from gpuaas_platform.kernel.call import Platform, system_call
from gpuaas_platform.kernel.keyring import keyring_of
from gpuaas_platform.kernel.masking import error_told
from gpuaas_platform.kernel.outbound import Guard, TargetUnreachable
from gpuaas_platform.kernel.work import Handler, Undone, mutate

_log = structlog.get_logger(__name__)
EVERY: Final = 2.0
_BATCH: Final = 200
_CONNECTIONS: Final = 8
_FAILURES: Final = (
    OSError, TimeoutError, TargetUnreachable, httpcore2.NetworkError, httpcore2.ProtocolError,
)  # fmt: skip


class CleaningWork:
    """The cleanings, as one replica works on them."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        settings = platform.settings
        self._sender = Sender(
            Guard(settings.webhook_allowed_networks),
            timeout=settings.webhook_timeout_seconds,
            connections=_CONNECTIONS,
        )

    async def close(self) -> None:
        """Close the connections to hooks."""
        await self._sender.close()

    async def turn(self) -> None:
        """Let leave what was kept long enough, open cleanings, and do their next steps."""
        now = self._platform.clock.now()
        async with self._platform.db.connection() as conn:
            over = await capacity.nodes_warm_over(conn, now, _BATCH)
            departed = await capacity.nodes_departing(conn, _BATCH)
        for node_id in over:
            story = f"warm-{self._platform.clock.randomness(8).hex()}"
            end = partial(capacity.node_warm_end, node_id=node_id)
            await self._done("capacity.node.warm_end", story, end)
        for node_id, story in departed:
            begin = partial(cleaning_begin, node_id=node_id)
            await self._done("fleet.cleaning.begin", story, begin)
        async with self._platform.db.connection() as conn:
            due = await store.cleanings_due(conn, now, _BATCH)
        for row in due:
            await self._step(row["id"], row["region"], row["correlation_id"])

    async def _step(self, cleaning_id: str, region: str, story: str) -> None:
        keyring = await keyring_of(self._platform)
        async with self._platform.db.connection() as conn:
            request = HookRequest(hook=await capacity.region_hook(conn, keyring, region))
        step = partial(cleaning_step, cleaning_id=cleaning_id, request=request)
        done = await self._done("fleet.cleaning.step", story, step)
        if done and request.body is not None:
            error = await self._asked(cleaning_id, request)
            tell = partial(
                hook_answered, cleaning_id=cleaning_id, attempt=request.attempt, error=error
            )
            await self._done("fleet.cleaning.hook", story, tell)

    async def _asked(self, cleaning_id: str, request: HookRequest) -> str:
        """Ask the hook; why it did not begin, or nothing."""
        hook = request.hook
        if hook is None:
            raise RuntimeError("a request is made with its hook")
        body = json.dumps(request.body).encode()
        now = self._platform.clock.now()
        signed = delivery_headers([hook.key], f"{cleaning_id}-{request.attempt}", now, body)
        headers = [("content-type", "application/json"), *signed[1:]]
        try:
            reply = await self._sender.post(hook.url, headers, body)
        except _FAILURES as error:
            return str(error) or type(error).__name__
        return "" if 200 <= reply.status < 300 else f"it answered {reply.status}"

    async def _done(self, action: str, story: str, handler: Handler[Any]) -> bool:
        """Whether a change was made; one cleaning's trouble is not another's."""
        call = system_call(self._platform, "/fleet/cleanings", story)
        with suppress(Undone):  # there is nothing to do, or another replica was first
            try:
                await mutate(call, action, handler)
            except Undone:
                raise
            except Exception as error:  # noqa: BLE001 - written down; the next turn tries again
                _log.warning("cleaning_not_stepped", action=action, error=error_told(error))
                return False
            return True
        return False
