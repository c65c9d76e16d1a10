"""Delivery of events to webhooks: claim, deliver in order, write down how it went.

Runs in every replica. A webhook is served by whoever holds its lease; a process that dies loses
the lease and another delivers again what was not written down: at least once, in order, always
with the same id. Nothing is awaited from the network inside a transaction.
"""

import asyncio
import random
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final

import httpcore2
import structlog

from gpuaas_contract.events import EventFilter
from gpuaas_contract.ids import Prefix
from gpuaas_platform.events import webhook_service
from gpuaas_platform.events.envelope import event_json, source_of
from gpuaas_platform.events.interest import Interest
from gpuaas_platform.events.retry import retry_delay
from gpuaas_platform.events.signing import delivery_headers
from gpuaas_platform.events.store import sequence, webhooks
from gpuaas_platform.events.store.webhooks import Attempt, Lease
from gpuaas_platform.events.target import Sender
from gpuaas_platform.kernel.call import Platform, system_call
from gpuaas_platform.kernel.caller import Reach
from gpuaas_platform.kernel.database import Record
from gpuaas_platform.kernel.keyring import keyring_of
from gpuaas_platform.kernel.loops import Loop, loop_running
from gpuaas_platform.kernel.outbound import Guard, TargetUnreachable
from gpuaas_platform.kernel.problems import PlatformError
from gpuaas_platform.kernel.work import mutate

_log = structlog.get_logger(__name__)
_AT_ONCE: Final = 16
_PAGE: Final = 50
_SWEEP_SECONDS: Final = 2.0
_PAUSE_SECONDS: Final = 0.02  # between two claims: an event alone never waits
_LEASE_SECONDS: Final = 20.0  # beyond the longest a target may take
_GONE: Final = 410
_FAILURES = (
    OSError,
    TimeoutError,
    TargetUnreachable,
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
)


@dataclass(frozen=True)
class _Outcome:
    """How one attempt went. No status: nothing answered."""

    error: str = ""
    status: int | None = None
    retry_after: float | None = None

    @property
    def arrived(self) -> bool:
        return not self.error


@dataclass(frozen=True)
class _Message:
    """One event as it is delivered."""

    id: str
    type: str
    seq: int
    body: bytes


class Dispatcher:
    """The webhooks this process serves."""

    def __init__(self, platform: Platform) -> None:
        settings = platform.settings
        self._platform = platform
        self._source = source_of(settings)
        self._lease = timedelta(seconds=settings.webhook_timeout_seconds + _LEASE_SECONDS)
        self._tasks: set[asyncio.Task[None]] = set()
        self._sender = Sender(
            Guard(settings.webhook_allowed_networks),
            timeout=settings.webhook_timeout_seconds,
            connections=_AT_ONCE,
        )

    async def turn(self) -> None:
        """Claim what is due, as much as fits, and serve it beside everything else."""
        free = _AT_ONCE - len(self._tasks)
        if free <= 0 or self._platform.signals.finishing:
            return
        now, token = self._platform.clock.now(), secrets.token_hex(16)
        async with self._platform.db.connection() as conn:
            hooks = await webhooks.hooks_claim(conn, now, token, now + self._lease, free)
        for hook in hooks:
            task = asyncio.create_task(self._serve(hook), name=f"webhook {hook['id']}")
            self._tasks.add(task)
            task.add_done_callback(self._served)

    async def stop(self) -> None:
        """Leave what is under way; its leases are given back."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._sender.close()

    def _served(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is None:
            self._platform.signals.wake("events")  # a place is free, and there may be more

    async def _serve(self, hook: Record) -> None:
        """Deliver until there is nothing left, an attempt fails, or the lease is lost."""
        lease = Lease(hook["id"], hook["lease"], hook["lease_until"])
        try:
            keyring = await keyring_of(self._platform)
            keys = webhook_service.hook_keys(keyring, hook, self._platform.clock.now())
            if await self._deliver_new(hook, lease, keys):
                await self._deliver_again(hook, lease, keys)
        except PlatformError as error:
            _log.warning("webhook_not_served", webhook_id=hook["id"], error=error.detail)
            await asyncio.sleep(_SWEEP_SECONDS)
        except Exception as error:  # noqa: BLE001 - one webhook's trouble is not another's
            _log.exception("webhook_not_served", webhook_id=hook["id"], error=type(error).__name__)
            await asyncio.sleep(_SWEEP_SECONDS)
        finally:
            async with self._platform.db.connection() as conn:
                await webhooks.hook_release(conn, lease)

    async def _deliver_new(self, hook: Record, lease: Lease, keys: list[bytes]) -> bool:
        """Events behind the cursor, in order; whether all went well."""
        cursor, attempts = hook["cursor"], hook["event_attempts"]
        while True:
            async with self._platform.db.connection() as conn:
                head = await sequence.event_head(conn)
                span = sequence.Span(_PAGE, after=cursor, up_to=head)
                rows = await sequence.events_list(conn, _interest(hook), span)
            for row in rows:
                message = _Message(
                    row["id"], row["type"], row["seq"], event_json(row, self._source)
                )
                attempts += 1
                outcome = await self._attempt(hook["url"], keys, message)
                if not await self._record(lease, message, attempts, outcome):
                    return False
                cursor, attempts = message.seq, 0
            if len(rows) < _PAGE:
                async with self._platform.db.connection() as conn:
                    return await webhooks.hook_skip(conn, lease, head)

    async def _deliver_again(self, hook: Record, lease: Lease, keys: list[bytes]) -> None:
        """Dead deliveries somebody asked for again: one attempt each."""
        async with self._platform.db.connection() as conn:
            rows = await webhooks.redeliveries(conn, hook["id"], _PAGE)
        for row in rows:
            message = _Message(row["event_id"], row["event_type"], row["seq"], row["body"])
            outcome = await self._attempt(hook["url"], keys, message)
            status = "delivered" if outcome.arrived else "dead"
            attempt = Attempt(
                row["id"], message.id, message.type, message.seq, row["attempts"] + 1, status,
                outcome.status, outcome.error, self._platform.clock.now(),
            )  # fmt: skip
            async with self._platform.db.transaction() as conn:
                if not await webhooks.redelivery_end(conn, lease, attempt):
                    return

    async def _attempt(self, url: str, keys: list[bytes], message: _Message) -> _Outcome:
        now = self._platform.clock.now()
        headers = delivery_headers(keys, message.id, now, message.body)
        try:
            reply = await self._sender.post(url, headers, message.body)
        except _FAILURES as error:
            return _Outcome(str(error) or type(error).__name__)
        if 200 <= reply.status < 300:
            return _Outcome(status=reply.status)
        return _Outcome(f"it answered {reply.status}", reply.status, reply.retry_after)

    async def _record(
        self, lease: Lease, message: _Message, attempts: int, outcome: _Outcome
    ) -> bool:
        """Write down how it went; whether to go on with the next event."""
        settings, now = self._platform.settings, self._platform.clock.now()
        dead = not outcome.arrived and attempts >= settings.webhook_attempts
        status = "delivered" if outcome.arrived else ("dead" if dead else "failed")
        attempt = Attempt(
            self._platform.clock.new_id(Prefix.DELIVERY), message.id, message.type, message.seq,
            attempts, status, outcome.status, outcome.error, now, message.body if dead else None,
        )  # fmt: skip
        lease = Lease(lease.hook_id, lease.token, now + self._lease)
        async with self._platform.db.transaction() as conn:
            if outcome.arrived:
                return await webhooks.hook_delivered(conn, lease, attempt)
            delay = retry_delay(attempts, random.random(), outcome.retry_after)  # noqa: S311 - jitter
            next_at = now if dead else now + timedelta(seconds=delay)
            since = await webhooks.hook_failed(conn, lease, attempt, next_at)
        if since is None:
            return False
        reason = _reason_to_disable(outcome, now - since, settings.webhook_disable_hours)
        if reason is not None:
            await self._disable(lease.hook_id, reason)
        return False

    async def _disable(self, hook_id: str, reason: str) -> None:
        call = system_call(self._platform, f"/webhooks/{hook_id}", f"webhook-{hook_id}")
        handler = partial(webhook_service.webhook_disable, hook_id=hook_id, reason=reason)
        await mutate(call, "events.webhook.disable", handler)


@asynccontextmanager
async def dispatch_running(platform: Platform) -> AsyncIterator[None]:
    """Serve webhooks for as long as the block runs."""
    dispatcher = Dispatcher(platform)
    turn, pause = dispatcher.turn, _PAUSE_SECONDS
    loop = Loop("webhooks", turn, every=_SWEEP_SECONDS, topic="events", pause=pause)
    try:
        async with loop_running(platform.signals, loop):
            yield
    finally:
        await dispatcher.stop()


def _interest(hook: Record) -> Interest:
    """The events of the webhook's own place that it asks for."""
    wanted = EventFilter(
        type=hook["types"],
        org_id=None if hook["project_id"] else hook["org_id"],
        project_id=hook["project_id"],
        app_slug=hook["app_slug"],
        app_instance_id=hook["app_instance_id"],
    )
    projects = () if hook["project_id"] is None else (hook["project_id"],)
    orgs = (hook["org_id"],) if hook["project_id"] is None else ()
    return Interest(wanted, Reach(everywhere=False, org_ids=orgs, project_ids=projects))


def _reason_to_disable(outcome: _Outcome, failing: timedelta, hours: float) -> str | None:
    if outcome.status == _GONE:
        return "The target answered 410 (gone)."
    if failing > timedelta(hours=hours):
        return f"Nothing was taken for {hours:g} hours; last: {outcome.error}"
    return None
