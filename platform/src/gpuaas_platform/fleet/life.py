"""This room's life in a process: how agents are known, and what time alone changes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import Any, Final

from gpuaas_contract.identity import NODE_TOKEN_PREFIX
from gpuaas_platform.capacity.holdings import CLEANING_TOPIC
from gpuaas_platform.capacity.trust import TOPIC as TRUST_TOPIC
from gpuaas_platform.capacity.trust import WANTED_PART
from gpuaas_platform.fleet.access import made_trust
from gpuaas_platform.fleet.agents import absence_settle
from gpuaas_platform.fleet.cleaning_work import EVERY as CLEANING_EVERY
from gpuaas_platform.fleet.cleaning_work import CleaningWork
from gpuaas_platform.fleet.directions import ABSENCE_TOPIC
from gpuaas_platform.fleet.enrolments import enrolment_expire
from gpuaas_platform.fleet.identities import node_resolve
from gpuaas_platform.fleet.store import agents as agent_rows
from gpuaas_platform.fleet.store import enrolments as enrolment_rows
from gpuaas_platform.fleet.store import tasks as task_rows
from gpuaas_platform.fleet.tasks import task_expire
from gpuaas_platform.identity.authenticator import RESOLVER_PART
from gpuaas_platform.kernel.call import Platform, system_call
from gpuaas_platform.kernel.loops import Loop, loop_running
from gpuaas_platform.kernel.work import Handler, Undone, mutate

_SWEEP_SECONDS: Final = 10.0
_BATCH: Final = 200
_REMEMBER_ENDED: Final = timedelta(hours=1)


@asynccontextmanager
async def fleet_life(platform: Platform) -> AsyncIterator[None]:
    """Run for as long as the process serves."""
    platform.parts[f"{RESOLVER_PART}:{NODE_TOKEN_PREFIX}"] = node_resolve
    platform.parts[WANTED_PART] = partial(made_trust, platform)
    platform.signals.wake(TRUST_TOPIC)
    cleaning = CleaningWork(platform)
    loop = Loop("fleet-sweep", partial(sweep_turn, platform), _SWEEP_SECONDS, ABSENCE_TOPIC)
    cleanings = Loop("fleet-cleaning", cleaning.turn, CLEANING_EVERY, CLEANING_TOPIC)
    try:
        async with loop_running(platform.signals, loop), loop_running(platform.signals, cleanings):
            yield
    finally:
        await cleaning.close()


async def sweep_turn(platform: Platform) -> None:
    """End what was not used or begun in time; say who is absent and who is back."""
    now = platform.clock.now()
    patience = timedelta(seconds=platform.settings.agent_absent_seconds)
    kept = timedelta(days=platform.settings.task_output_retention_days)
    async with platform.db.connection() as conn:
        enrolments = await enrolment_rows.enrolments_due(conn, now, _BATCH)
        tasks = await task_rows.tasks_due(conn, now, _BATCH)
        changed = await agent_rows.agents_absence_changed(conn, now - patience, _BATCH)
        await agent_rows.tokens_forget(conn, now - _REMEMBER_ENDED)
        await task_rows.output_forget(conn, now - kept)
    for enrolment_id in enrolments:
        end = partial(enrolment_expire, enrolment_id=enrolment_id)
        await _settled(platform, "fleet.enrolment.expire", end)
    for task_id in tasks:
        finish = partial(task_expire, task_id=task_id)
        await _settled(platform, "fleet.task.expire", finish)
    for row in changed:
        settle = partial(absence_settle, node_id=row["node_id"], patience=patience)
        await _settled(platform, "fleet.node.presence", settle)


async def _settled(platform: Platform, action: str, handler: Handler[Any]) -> None:
    story = f"fleet-{platform.clock.randomness(8).hex()}"
    with suppress(Undone):  # another replica was first, or it is no longer so
        await mutate(system_call(platform, "/fleet", story), action, handler)
