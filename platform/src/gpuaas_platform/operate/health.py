"""What ready means, and the platform as its operators see it.

Called by the routes and by the metrics. Each check stands by itself and says what is missing. A
replica is not ready for what it lacks itself; for the relay, which all share, only after a while,
so that a hand-over takes nobody out of service.
"""

import asyncio
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from gpuaas_contract.operate import (
    Check,
    DutyHolder,
    PlatformHealth,
    QueueDepth,
    Readiness,
    Replica,
    Version,
)
from gpuaas_contract.permissions import Permission
from gpuaas_platform import __version__
from gpuaas_platform.apps import figures
from gpuaas_platform.audit import service as audit
from gpuaas_platform.events import following as events
from gpuaas_platform.events.relay import RELAY
from gpuaas_platform.kernel.call import Call, Platform
from gpuaas_platform.kernel.caller import PLATFORM
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.elections import duty_lock
from gpuaas_platform.kernel.keyring import keyring_of
from gpuaas_platform.kernel.keyring_file import KeyringError
from gpuaas_platform.kernel.migrate import migrations
from gpuaas_platform.kernel.problems import PlatformError
from gpuaas_platform.kernel.replica import session_name, session_parse
from gpuaas_platform.kernel.signals import SESSION
from gpuaas_platform.operate import store

PART: Final = "operate.readiness"
_FRESH_SECONDS: Final = 1.0  # probes of any number and rate cost one look per second
_NO_RELAY_SECONDS: Final = 15.0
_LAG_SECONDS: Final = 30.0
_MIB: Final = 1024 * 1024


@dataclass
class _Memory:
    """What a process remembers between looks. One look at a time; the others take its answer."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    looked_at: float = float("-inf")
    answer: Readiness | None = None
    relay_seen_at: float = float("-inf")


@dataclass(frozen=True)
class Sessions:
    """Replicas and duties, as their sessions on the database show them."""

    replicas: list[Replica]
    duties: list[DutyHolder]

    def holder(self, duty: str) -> str | None:
        """Which replica does a duty."""
        return next((one.holder for one in self.duties if one.duty == duty), None)


async def readiness(platform: Platform) -> Readiness:
    """Check what the platform needs, each by itself; an answer is good for a second."""
    memory: _Memory = platform.parts.setdefault(PART, _Memory())
    async with memory.lock:
        now = time.monotonic()
        if memory.answer is None or now - memory.looked_at >= _FRESH_SECONDS:
            checks = await _checks(platform, memory, now)
            ready = all(check.ok for check in checks)
            memory.answer = Readiness(status="ready" if ready else "not_ready", checks=checks)
            memory.looked_at = now
        return memory.answer


async def version(platform: Platform) -> Version:
    """The platform's version and the revision of its database."""
    async with platform.db.connection() as conn:
        return Version(version=__version__, schema_revision=await store.schema_revision(conn))


async def health_read(call: Call) -> PlatformHealth:
    """Everything about the platform's own state, for those who run it."""
    call.caller.require(Permission.HEALTH_READ, PLATFORM)
    platform = call.platform
    ready = await readiness(platform)
    now = platform.clock.now()
    async with platform.db.connection() as conn:
        sessions = sessions_of(await store.sessions_read(conn))
        backlog = await events.backlog(conn)
        unchained = await audit.chain_waiting(conn)
        work = await figures.figures_read(platform, conn)
        revision = await store.schema_revision(conn)
    since = {"outbox": backlog.oldest, "claimable_operations": work.claimable_since}
    ages = {
        name: None if at is None else max(0.0, (now - at).total_seconds())
        for name, at in since.items()
    }
    return PlatformHealth(
        version=__version__,
        schema_revision=revision,
        readiness=ready,
        replicas=sessions.replicas,
        duties=sessions.duties,
        queues=[
            QueueDepth(name="outbox", depth=backlog.depth, oldest_seconds=ages["outbox"]),
            QueueDepth(name="audit_chain", depth=unchained),
            QueueDepth(
                name="operations",
                depth=sum(work.operations.values()),
                oldest_seconds=ages["claimable_operations"],
            ),
        ],
        operations=work.operations,
        webhooks_failing=backlog.webhooks_failing,
        webhook_deliveries_dead=backlog.deliveries_dead,
        controllers=work.controllers,
    )


def sessions_of(rows: Sequence[Record]) -> Sessions:
    """Replicas and duties from the names of sessions and the locks they hold."""
    own = session_parse(session_name(SESSION))
    replicas: list[Replica] = []
    holders: dict[str, str | None] = {}
    for row in rows:
        parsed = session_parse(row["name"])
        if parsed is None:
            continue
        purpose, release, replica = parsed
        if purpose == SESSION:
            this = own is not None and replica == own[2]
            replicas.append(Replica(name=replica, version=release, this_one=this))
        elif duty_lock(purpose) in row["locks"]:
            holders[purpose] = replica
        else:
            holders.setdefault(purpose, None)
    duties = [DutyHolder(duty=duty, holder=holders[duty]) for duty in sorted(holders)]
    return Sessions(replicas, duties)


async def _checks(platform: Platform, memory: _Memory, now: float) -> list[Check]:
    checks = []
    try:
        async with platform.db.connection() as conn:
            checks.append(Check(name="database", ok=True))
            checks.append(await _schema(conn))
            checks.append(await _relay(platform, conn, memory, now))
        checks.append(await _keys(platform))
    except PlatformError as error:
        checks = [Check(name="database", ok=False, detail=error.detail)]
    checks += [_signals(platform), await _disk(platform), _staying(platform)]
    return checks


async def _schema(conn: Connection) -> Check:
    found, expected = await store.schema_revision(conn), len(migrations())
    if found == expected:
        return Check(name="schema", ok=True, detail=f"revision {found}")
    remedy = "run `gpuaas-platform migrate`" if found < expected else "start its release here too"
    detail = f"revision {found}, expected {expected}: {remedy}"
    return Check(name="schema", ok=False, detail=detail)


async def _relay(platform: Platform, conn: Connection, memory: _Memory, now: float) -> Check:
    holder = sessions_of(await store.sessions_read(conn)).holder(RELAY)
    oldest = (await events.backlog(conn)).oldest
    lag = 0.0 if oldest is None else (platform.clock.now() - oldest).total_seconds()
    if holder is not None:
        memory.relay_seen_at = now
    if lag > _LAG_SECONDS:
        detail = f"events have waited for {lag:.0f} s to be told; done by {holder or 'nobody'}"
        return Check(name="relay", ok=False, detail=detail)
    if holder is None:
        known = now - memory.relay_seen_at <= _NO_RELAY_SECONDS
        return Check(name="relay", ok=known, detail="no replica has taken it at the moment")
    return Check(name="relay", ok=True)


async def _keys(platform: Platform) -> Check:
    """A replica without the installation's keys reads no secret and signs nothing."""
    try:
        await keyring_of(platform)
    except KeyringError as error:
        return Check(name="keys", ok=False, detail=error.detail)
    except OSError as error:
        return Check(name="keys", ok=False, detail=f"the file of the keys: {error.strerror}")
    return Check(name="keys", ok=True)


def _signals(platform: Platform) -> Check:
    ok = platform.signals.connected
    detail = "" if ok else "not connected: changes are seen late, by polling"
    return Check(name="signals", ok=ok, detail=detail)


async def _disk(platform: Platform) -> Check:
    folder, least = platform.settings.data_dir, platform.settings.min_free_bytes
    try:
        free = (await asyncio.to_thread(shutil.disk_usage, folder)).free
    except OSError as error:
        return Check(name="disk", ok=False, detail=f"the data folder: {error.strerror}")
    if free < least:
        detail = f"{free // _MIB} MiB free in the data folder, {least // _MIB} are needed"
        return Check(name="disk", ok=False, detail=detail)
    return Check(name="disk", ok=True)


def _staying(platform: Platform) -> Check:
    ends = platform.signals.finishing
    return Check(name="staying", ok=not ends, detail="this replica is about to end" if ends else "")
