"""What time alone changes: leases lapse, steps become stuck, controllers go missing.

Run by a loop in every replica and, for leases, by every claim. Each finding is one mutation that
looks again under the instance's lock, so replicas do not disturb each other.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import Any

from pydantic import BaseModel

from gpuaas_contract.apps import ConditionType, ErrorFamily
from gpuaas_contract.ids import Prefix
from gpuaas_contract.states import OperationStatus
from gpuaas_platform.apps import controllers, rules
from gpuaas_platform.apps.progress import overdue_step
from gpuaas_platform.apps.queueing import dependents_cancel
from gpuaas_platform.apps.reports import Failed, attempt_failed, lease_end
from gpuaas_platform.apps.rows import ACTIVE
from gpuaas_platform.apps.scene import Scene, scene_open
from gpuaas_platform.apps.store import controllers as controllers_store
from gpuaas_platform.apps.store import instances, operations
from gpuaas_platform.apps.transitions import operation_tell
from gpuaas_platform.capacity.allocations import USERS_PART
from gpuaas_platform.kernel.call import Platform, system_call
from gpuaas_platform.kernel.loops import Loop, loop_running
from gpuaas_platform.kernel.work import Answer, Target, Undone, Work, mutate

_BATCH = 200
_EVERY_SECONDS = 5.0
_FORGET_AFTER = timedelta(days=7)


class _NothingToDo(Undone):
    """It is no longer so: another replica was faster."""


@asynccontextmanager
async def apps_life(platform: Platform) -> AsyncIterator[None]:
    """The room's loop for the life of the process."""
    platform.parts[USERS_PART] = instances.members_using
    loop = Loop("apps-sweep", partial(sweep, platform), _EVERY_SECONDS, controllers.SWEEP_TOPIC)
    async with loop_running(platform.signals, loop):
        yield


async def sweep(platform: Platform) -> None:
    """One turn."""
    await leases_sweep(platform)
    await stuck_sweep(platform)
    await absence_sweep(platform)


async def leases_sweep(platform: Platform) -> None:
    """Return operations whose holder fell silent to the queue, or end them."""
    async with platform.db.connection() as conn:
        found = await operations.leases_lapsed(conn, platform.clock.now(), _BATCH)
    for record in found:
        await _mutate(platform, "apps.operation.lapse", record, _lapse)


async def stuck_sweep(platform: Platform) -> None:
    """Mark operations whose step is past its deadline. Late is not failed."""
    async with platform.db.connection() as conn:
        found = await operations.steps_overdue(conn, platform.clock.now(), _BATCH)
    for record in found:
        await _mutate(platform, "apps.operation.stuck", record, _stuck)


async def absence_sweep(platform: Platform) -> None:
    """Say where no controller takes the work, and where one is back."""
    now = platform.clock.now()
    since = now - timedelta(seconds=platform.settings.controller_absent_seconds)
    async with platform.db.connection() as conn:
        found = await controllers_store.absence_changed(conn, since, _BATCH)
        await controllers_store.controllers_forget(conn, now - _FORGET_AFTER)
    for record in found:
        await _mutate(platform, "apps.instance.controller_seen", record, _absence)


class _Done(BaseModel):
    """A sweep's mutation has no body anybody reads."""


async def _mutate(
    platform: Platform,
    action: str,
    record: Any,  # noqa: ANN401 - a database record
    handler: Callable[[Work, Any], Awaitable[None]],
) -> None:
    correlation_id = record["correlation_id"] or platform.clock.new_id(Prefix.REQUEST)
    call = system_call(platform, f"/system/{action}", correlation_id)

    async def run(work: Work) -> Answer[_Done]:
        await handler(work, record)
        return Answer(None)

    try:
        await mutate(call, action, run)
    except _NothingToDo:
        return


async def _lapse(work: Work, record: Any) -> None:  # noqa: ANN401 - a database record
    scene = await scene_open(work, record["instance_id"])
    row = await scene.operation(record["id"])
    if row.status not in ACTIVE or row.lease_until is None or row.lease_until > work.now:
        raise _NothingToDo
    scene.caused_by(row)
    if row.superseded or row.attempt < row.max_attempts:
        lease_end(scene, row, why="lease_lapsed", attempt=row.attempt + 1)
    else:
        silent = f"the controller {row.lease_replica} fell silent"
        failed = Failed("lease_lapsed", silent, ErrorFamily.TEMPORARY, True, True)
        attempt_failed(scene, row, failed)
    if scene.operations[row.id].status is OperationStatus.CANCELLED:
        await dependents_cancel(scene, row.id)
    _audit(work, scene, row.id, "lease_lapsed")
    await scene.save()


async def _stuck(work: Work, record: Any) -> None:  # noqa: ANN401 - a database record
    scene = await scene_open(work, record["instance_id"])
    row = await scene.operation(record["id"])
    due = row.step_deadline is not None and row.step_deadline <= work.now
    if row.status is not OperationStatus.RUNNING or not due:
        raise _NothingToDo
    scene.caused_by(row)
    step = overdue_step(row.progress, work.now)
    what = f"The step {step}" if step else "The attempt"
    condition = {
        "type": ConditionType.STUCK,
        "reason": step or "attempt_deadline",
        "message": f"{what} takes longer than it should; it may still succeed.",
        "next_action": "Wait, cancel, or abandon.",
    }
    conditions = rules.condition_set(row.conditions, condition, work.now)
    scene.operation_change(row.id, conditions=conditions, step_deadline=None)
    operation_tell(work, scene.operations[row.id], "stuck", {"step": step})
    _audit(work, scene, row.id, "stuck")
    await scene.save()


async def _absence(work: Work, record: Any) -> None:  # noqa: ANN401 - a database record
    scene = await scene_open(work, record["id"])
    row = scene.instance
    held = rules.condition_get(row.conditions, ConditionType.CONTROLLER_ABSENT)
    if (None if held is None else held["reason"]) == record["reason"]:
        raise _NothingToDo
    if record["reason"] is None:
        controllers.absence_unset(scene)
    else:
        controllers.absence_set(scene, waits=record["reason"] == "work_waits")
    work.audit(Target("app_instance", row.id, row.place, row, scene.instance))
    await scene.save()


def _audit(work: Work, scene: Scene, operation_id: str, why: str) -> None:
    row = scene.operations[operation_id]
    work.audit(Target("operation", row.id, row.place, after=row.status, reason=why))
