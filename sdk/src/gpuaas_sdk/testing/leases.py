"""The in-memory platform's side of controllers: claims, leases, fencing, reports, ends, observers.

The rules are those of the contract; the conformance suite runs on this and on the real platform.
Called by `surface.py`.
"""

import secrets
from datetime import timedelta

from gpuaas_contract.apps import (
    AppInstance,
    ErrorFamily,
    Lease,
    Operation,
    OperationError,
    Step,
)
from gpuaas_contract.controllers import (
    Cancellation,
    Claim,
    Claimed,
    Claims,
    Completion,
    Failure,
    Heartbeat,
    HeartbeatAnswer,
    HeldLease,
    Observation,
    Observe,
    ObserverLease,
    Release,
    Report,
    StepReport,
)
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.states import InstanceStatus, OperationStatus, StepState
from gpuaas_sdk.testing import facts
from gpuaas_sdk.testing.asking import dependents_cancel, topology_follow
from gpuaas_sdk.testing.making import Caller
from gpuaas_sdk.testing.settling import begin, give_up, succeed
from gpuaas_sdk.testing.world import ACTIVE, Refused, Watcher, World

_OVER = frozenset(StepState) - {StepState.PENDING, StepState.RUNNING}
_LONGEST_BACKOFF = timedelta(minutes=30)


def operation_claim(world: World, caller: Caller, body: Claim) -> Claims:
    """Take ready operations; each gets a new token and a higher fence."""
    leases_sweep(world)
    now = world.clock.now()
    found = [one for one in world.operations.values() if _wanted(one, body) and one.ready]
    due = [one for one in found if one.not_before <= now]
    return Claims(items=[_take(world, caller, one, body) for one in due[: body.capacity]])


def operation_heartbeat(
    world: World, caller: Caller, operation_id: str, body: Heartbeat
) -> HeartbeatAnswer:
    """Keep a lease."""
    row = _held(world, caller, operation_id, body.lease_token)
    until = _extend(world, row, body.lease_seconds)
    return HeartbeatAnswer(until=until.until, cancel_requested=row.cancel_requested)


def operation_report(world: World, caller: Caller, operation_id: str, body: Report) -> Operation:
    """Progress."""
    _apply(world, _held(world, caller, operation_id, body.lease_token), body)
    return world.operation(operation_id)


def operation_complete(
    world: World, caller: Caller, operation_id: str, body: Completion
) -> Operation:
    """Done. Done beats a cancel that came too late."""
    row = _apply(world, _held(world, caller, operation_id, body.lease_token), body)
    succeed(world, row)
    return world.operation(operation_id)


def operation_fail(world: World, caller: Caller, operation_id: str, body: Failure) -> Operation:
    """The attempt failed."""
    row = _apply(world, _held(world, caller, operation_id, body.lease_token), body)
    _attempt_failed(world, row, body)
    dependents_cancel(world, row.id)
    return world.operation(operation_id)


def operation_stopped(
    world: World, caller: Caller, operation_id: str, body: Cancellation
) -> Operation:
    """Stopped at a safe point, as asked."""
    row = _held(world, caller, operation_id, body.lease_token)
    if not row.cancel_requested:
        raise Refused(ErrorCode.STATE_CONFLICT, "Nobody asked for this operation to be cancelled.")
    row = _apply(world, row, body)
    world.move_operation(row.id, OperationStatus.CANCELLED, conditions=[])
    give_up(world, row, usable=True)
    dependents_cancel(world, row.id)
    topology_follow(world, row.instance_id)
    return world.operation(operation_id)


def operation_release(world: World, caller: Caller, operation_id: str, body: Release) -> Operation:
    """The lease is handed back; no attempt is counted."""
    row = _held(world, caller, operation_id, body.lease_token)
    _lease_end(world, row, row.attempt)
    dependents_cancel(world, row.id)
    return world.operation(operation_id)


def instance_observe(
    world: World, caller: Caller, instance_id: str, body: Observe
) -> ObserverLease:
    """Become or stay the observer."""
    row = world.instance(instance_id)
    now, held = world.clock.now(), world.watchers.get(instance_id)
    mine = held is not None and held.token == body.lease_token and held.holder == caller.id
    if held is not None and held.until > now and not mine:
        raise Refused(ErrorCode.LEASE_LOST, "Another replica observes this instance.")
    kept = mine and held is not None and held.until > now
    token = held.token if kept and held is not None else secrets.token_urlsafe(24)
    until = now + timedelta(seconds=body.lease_seconds)
    world.watchers[instance_id] = Watcher(caller.id, token, until)
    return ObserverLease(
        token=token, until=until, mark=_mark(world, instance_id), revision=row.revision
    )


def instance_report(
    world: World, caller: Caller, instance_id: str, body: Observation
) -> AppInstance:
    """What the observer sees."""
    row, held = world.instance(instance_id), world.watchers.get(instance_id)
    valid = held is not None and held.token == body.lease_token and held.holder == caller.id
    if held is None or not valid or held.until <= world.clock.now():
        raise Refused(ErrorCode.LEASE_LOST, "You do not observe this instance (any more).")
    if row.status is InstanceStatus.DELETED:
        raise Refused(ErrorCode.STATE_CONFLICT, "The instance is deleted.")
    if body.mark not in {None, _mark(world, instance_id)}:
        raise Refused(ErrorCode.OBSERVATION_OVERTAKEN, "An operation overtook this look.")
    facts.touch_require(world, instance_id, (body.instance, body.members), None)
    facts.members_apply(world, instance_id, body.members)
    facts.instance_apply(world, instance_id, body.instance)
    topology_follow(world, instance_id)
    return world.instance(instance_id)


def leases_sweep(world: World) -> None:
    """Return operations whose holder fell silent to the queue, or end them."""
    now = world.clock.now()
    for row in list(world.operations.values()):
        if row.status not in ACTIVE or row.lease is None or row.lease.until > now:
            continue
        if world.hidden[row.id].superseded or row.attempt < row.max_attempts:
            _lease_end(world, row, row.attempt + 1)
            dependents_cancel(world, row.id)
            continue
        silent = Failure(
            lease_token="x" * 16,
            code="lease_lapsed",
            message=f"the controller {row.lease.replica} fell silent",
            family=ErrorFamily.TEMPORARY,
        )
        _attempt_failed(world, row, silent)


def _mark(world: World, instance_id: str) -> str:
    return str(world.worked.get(instance_id, 0))


def _wanted(one: Operation, body: Claim) -> bool:
    return (
        one.status is OperationStatus.REQUESTED
        and one.app_slug == body.app_slug
        and body.project_id in {None, one.project_id}
        and body.instance_id in {None, one.instance_id}
    )


def _take(world: World, caller: Caller, row: Operation, body: Claim) -> Claimed:
    token, fence = secrets.token_urlsafe(24), world.hidden[row.id].fence + 1
    until = world.clock.now() + timedelta(seconds=body.lease_seconds)
    lease = Lease(holder=caller.id, replica=body.controller.replica, until=until, fence=fence)
    world.move_operation(row.id, OperationStatus.ACCEPTED, lease=lease)
    world.hide(row.id, token=token, fence=fence)
    return Claimed(
        operation=world.operation(row.id),
        lease=HeldLease(token=token, until=until, fence=fence),
        instance=world.instance(row.instance_id),
        members=world.live(row.instance_id),
    )


def _held(world: World, caller: Caller, operation_id: str, token: str) -> Operation:
    row = world.operation(operation_id)
    held = (
        row.status in ACTIVE
        and row.lease is not None
        and world.hidden[row.id].token == token
        and row.lease.holder == caller.id
        and row.lease.until > world.clock.now()
    )
    if not held:
        raise Refused(ErrorCode.LEASE_LOST, f"You do not hold the lease of {row.id} (any more).")
    return row


def _extend(world: World, row: Operation, seconds: int) -> Lease:
    if row.lease is None:
        raise RuntimeError(f"{row.id} has no lease")
    until = world.clock.now() + timedelta(seconds=seconds)
    lease = row.lease.model_copy(update={"until": until})
    world.change_operation(row.id, lease=lease, revision=row.revision)
    return lease


def _apply(world: World, row: Operation, body: Report) -> Operation:
    if row.status is OperationStatus.ACCEPTED:
        begin(world, row)
    world.change_operation(row.id, progress=_merged(world, world.operation(row.id), body.steps))
    if body.lease_seconds is not None:
        _extend(world, world.operation(row.id), body.lease_seconds)
    if body.instance is not None or body.members:
        world.work_note(row.instance_id)
    facts.touch_require(world, row.instance_id, (body.instance, body.members), row)
    facts.members_apply(world, row.instance_id, body.members)
    facts.instance_apply(world, row.instance_id, body.instance)
    return world.operation(row.id)


def _merged(world: World, row: Operation, reported: list[StepReport]) -> list[Step]:
    now = world.clock.now()
    steps = {step.name: step for step in row.progress}
    for report in reported:
        before = steps.get(report.name, Step(name=report.name, state=StepState.PENDING))
        again = before.state in _OVER and report.state is StepState.RUNNING
        started = None if again else before.started_at
        if started is None and report.state not in {StepState.PENDING, StepState.SKIPPED}:
            started = now
        ended = before.ended_at if before.state == report.state else None
        steps[report.name] = Step(
            name=report.name,
            state=report.state,
            started_at=started,
            ended_at=(ended or now) if report.state in _OVER else None,
            message=report.message,
        )
    return list(steps.values())


def _attempt_failed(world: World, row: Operation, body: Failure) -> None:
    again = body.family is ErrorFamily.TEMPORARY and body.retryable and not row.cancel_requested
    error = OperationError(
        code=body.code,
        message=body.message,
        family=body.family,
        retryable=body.retryable,
        instance_usable=body.instance_usable,
        attempt=row.attempt,
        detail=body.detail,
    )
    if world.hidden[row.id].superseded:
        world.move_operation(row.id, OperationStatus.CANCELLED, error=error)
        return
    if again and row.attempt < row.max_attempts:
        delay = _backoff(world, row)
        if body.retry_after_seconds is not None:
            delay = timedelta(seconds=body.retry_after_seconds)
        world.move_operation(
            row.id,
            OperationStatus.REQUESTED,
            attempt=row.attempt + 1,
            not_before=world.clock.now() + delay,
            ready=True,
            error=error,
        )
        return
    if again:
        said = f"All {row.attempt} attempts failed; the last: {body.message}"
        error = error.model_copy(update={"code": "attempts_exhausted", "message": said})
    world.move_operation(row.id, OperationStatus.FAILED, error=error)
    give_up(world, row, usable=body.instance_usable)


def _lease_end(world: World, row: Operation, attempt: int) -> None:
    if world.hidden[row.id].superseded:
        world.move_operation(row.id, OperationStatus.CANCELLED)
        return
    delay = _backoff(world, row) if attempt != row.attempt else timedelta(0)
    world.move_operation(
        row.id,
        OperationStatus.REQUESTED,
        attempt=attempt,
        not_before=world.clock.now() + delay,
        ready=True,
    )


def _backoff(world: World, row: Operation) -> timedelta:
    spec = world.spec(row)
    base = 10 if spec is None else spec.retry_after_seconds
    return min(_LONGEST_BACKOFF, timedelta(seconds=base * 2 ** min(max(0, row.attempt - 1), 20)))
