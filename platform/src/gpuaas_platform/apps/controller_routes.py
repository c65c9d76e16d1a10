"""Routes an app's controller works through: claim, heartbeat, report, end, hand back, observe."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from gpuaas_contract.apps import AppInstance, Operation
from gpuaas_contract.controllers import (
    Cancellation,
    Claim,
    Claims,
    Completion,
    Failure,
    Heartbeat,
    HeartbeatAnswer,
    Observation,
    Observe,
    ObserverLease,
    Release,
    Report,
)
from gpuaas_platform.apps import claims, observers, reports
from gpuaas_platform.kernel.call import CallDep
from gpuaas_platform.kernel.work import mutate

router = APIRouter(tags=["controllers"])

Id = Annotated[str, Path(max_length=64)]


@router.post("/operations/claim", operation_id="operation_claim", response_model=Claims)
async def operation_claim(request: Request, call: CallDep, body: Claim) -> Response:
    """Take operations to work on; waits for work when there is none."""
    return await claims.operation_claim(call, body, request.is_disconnected)


@router.post("/operations/{operation_id}/heartbeat", operation_id="operation_heartbeat")
async def operation_heartbeat(call: CallDep, operation_id: Id, body: Heartbeat) -> HeartbeatAnswer:
    """Keep a lease, and learn whether to stop."""
    return await claims.operation_heartbeat(call, operation_id, body)


@router.post(
    "/operations/{operation_id}/report", operation_id="operation_report", response_model=Operation
)
async def operation_report(call: CallDep, operation_id: Id, body: Report) -> Response:
    """Report progress and what is now true, in one transaction."""
    handler = partial(reports.operation_report, operation_id=operation_id, body=body)
    return await mutate(call, "apps.operation.report", handler)


@router.post(
    "/operations/{operation_id}/complete",
    operation_id="operation_complete",
    response_model=Operation,
)
async def operation_complete(call: CallDep, operation_id: Id, body: Completion) -> Response:
    """Say that the work is done."""
    handler = partial(reports.operation_complete, operation_id=operation_id, body=body)
    return await mutate(call, "apps.operation.complete", handler)


@router.post(
    "/operations/{operation_id}/fail", operation_id="operation_fail", response_model=Operation
)
async def operation_fail(call: CallDep, operation_id: Id, body: Failure) -> Response:
    """Say that the attempt failed, and whether a repeat can help."""
    handler = partial(reports.operation_fail, operation_id=operation_id, body=body)
    return await mutate(call, "apps.operation.fail", handler)


@router.post(
    "/operations/{operation_id}/stopped",
    operation_id="operation_stopped",
    response_model=Operation,
)
async def operation_stopped(call: CallDep, operation_id: Id, body: Cancellation) -> Response:
    """Say that the work stopped at a safe point because a cancel was asked for."""
    handler = partial(reports.operation_stopped, operation_id=operation_id, body=body)
    return await mutate(call, "apps.operation.stopped", handler)


@router.post(
    "/operations/{operation_id}/release",
    operation_id="operation_release",
    response_model=Operation,
)
async def operation_release(call: CallDep, operation_id: Id, body: Release) -> Response:
    """Hand a lease back; no attempt is counted."""
    handler = partial(reports.operation_release, operation_id=operation_id, body=body)
    return await mutate(call, "apps.operation.release", handler)


@router.post("/app-instances/{instance_id}/observer", operation_id="app_instance_observe")
async def app_instance_observe(call: CallDep, instance_id: Id, body: Observe) -> ObserverLease:
    """Become, or stay, the one replica that reports on an instance outside operations."""
    return await observers.instance_observe(call, instance_id, body)


@router.post(
    "/app-instances/{instance_id}/report",
    operation_id="app_instance_report",
    response_model=AppInstance,
)
async def app_instance_report(call: CallDep, instance_id: Id, body: Observation) -> Response:
    """Report what the observer sees, in one transaction."""
    handler = partial(observers.instance_report, instance_id=instance_id, body=body)
    return await mutate(call, "apps.instance.report", handler)
