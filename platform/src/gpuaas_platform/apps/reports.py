"""What a controller says while it holds a lease: progress, completion, failure, a stop.

Each is one transaction, guarded by the lease token: a stale holder gets `lease_lost` and changes
nothing. Called by the controller's routes inside a mutation.
"""

import hashlib
import hmac
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from gpuaas_contract.apps import ConditionType, ErrorFamily, Operation
from gpuaas_contract.controllers import Cancellation, Completion, Failure, Release, Report
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.manifest import Manifest
from gpuaas_contract.permissions import Permission
from gpuaas_contract.states import OperationStatus
from gpuaas_platform.apps import rules
from gpuaas_platform.apps.facts import Facts, facts_apply
from gpuaas_platform.apps.progress import deadline_of, steps_merged
from gpuaas_platform.apps.queueing import dependents_cancel
from gpuaas_platform.apps.recovery import operation_open
from gpuaas_platform.apps.rows import ACTIVE, OperationRow
from gpuaas_platform.apps.scene import Scene
from gpuaas_platform.apps.settling import begin, give_up, succeed, topology_follow, trouble_note
from gpuaas_platform.apps.store import operations
from gpuaas_platform.apps.transitions import operation_tell
from gpuaas_platform.apps.versions import manifest_of
from gpuaas_platform.apps.views import operation_view
from gpuaas_platform.kernel.problems import PlatformError, not_found
from gpuaas_platform.kernel.work import Answer, Target, Work


async def operation_report(work: Work, operation_id: str, body: Report) -> Answer[Operation]:
    """Progress: steps, and what is now true of instance and members."""
    scene, row = await _held(work, operation_id, body.lease_token)
    await _apply(scene, row, body)
    operation_tell(work, scene.operations[row.id], "progressed", _step_now(scene, row.id))
    return await _answer(scene, row)


async def operation_complete(work: Work, operation_id: str, body: Completion) -> Answer[Operation]:
    """The work is done. Done beats a cancel that came too late."""
    scene, row = await _held(work, operation_id, body.lease_token)
    await _apply(scene, row, body)
    manifest = await _manifest(scene)
    succeed(scene, scene.operations[row.id], manifest)
    return await _answer(scene, row)


async def operation_fail(work: Work, operation_id: str, body: Failure) -> Answer[Operation]:
    """The attempt failed: again later, or the end with its ways out."""
    scene, row = await _held(work, operation_id, body.lease_token)
    await _apply(scene, row, body)
    attempt_failed(scene, scene.operations[row.id], Failed.of(body))
    if scene.operations[row.id].status is OperationStatus.CANCELLED:
        await dependents_cancel(scene, row.id)
    return await _answer(scene, row)


async def operation_stopped(work: Work, operation_id: str, body: Cancellation) -> Answer[Operation]:
    """The controller stopped at a safe point because a cancel was asked for."""
    scene, row = await _held(work, operation_id, body.lease_token)
    if not row.cancel_requested:
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            "Nobody asked for this operation to be cancelled; complete it or let it fail.",
            context={"operation_id": row.id},
        )
    await _apply(scene, row, body)
    scene.operation_move(row.id, OperationStatus.CANCELLED, why=body.message, conditions=[])
    give_up(scene, row, usable=True)
    await dependents_cancel(scene, row.id)
    topology_follow(scene, await _manifest(scene))
    return await _answer(scene, row)


async def operation_release(work: Work, operation_id: str, body: Release) -> Answer[Operation]:
    """The controller hands the lease back: somebody else goes on, no attempt is counted."""
    scene, row = await _held(work, operation_id, body.lease_token)
    lease_end(scene, row, why="released", attempt=row.attempt)
    if scene.operations[row.id].status is OperationStatus.CANCELLED:
        await dependents_cancel(scene, row.id)
    return await _answer(scene, row)


@dataclass(frozen=True)
class Failed:
    """Why an attempt failed, and whether to try again by itself."""

    code: str
    message: str
    family: ErrorFamily
    retryable: bool
    usable: bool
    retry_after: float | None = None
    detail: dict[str, Any] | None = None

    @classmethod
    def of(cls, body: Failure) -> "Failed":
        """As the controller told it."""
        return cls(
            body.code, body.message, body.family, body.retryable, body.instance_usable,
            body.retry_after_seconds, body.detail,
        )  # fmt: skip


def attempt_failed(scene: Scene, row: OperationRow, failed: Failed) -> None:
    """Queue the next attempt with a delay, or end the operation and say the ways out."""
    again = failed.family is ErrorFamily.TEMPORARY and failed.retryable
    error = {
        "code": failed.code,
        "message": failed.message,
        "family": failed.family,
        "retryable": failed.retryable,
        "instance_usable": failed.usable,
        "attempt": row.attempt,
        "detail": failed.detail or {},
    }
    if row.superseded:
        scene.operation_move(row.id, OperationStatus.CANCELLED, why=failed.code, error=error)
        return
    if again and row.attempt < row.max_attempts and not row.cancel_requested:
        delay = rules.backoff(row.retry_after_seconds, row.attempt)
        if failed.retry_after is not None:
            delay = timedelta(seconds=failed.retry_after)
        scene.operation_move(
            row.id,
            OperationStatus.REQUESTED,
            why=failed.code,
            attempt=row.attempt + 1,
            not_before=scene.work.now + delay,
            ready=True,
            error=error,
        )
        return
    if again and not row.cancel_requested:
        error |= {
            "code": "attempts_exhausted",
            "message": f"All {row.attempt} attempts failed; the last: {failed.message}",
            "detail": {"last_code": failed.code, **(failed.detail or {})},
        }
    scene.operation_move(row.id, OperationStatus.FAILED, why=str(error["code"]), error=error)
    give_up(scene, row, usable=failed.usable)
    trouble_note(scene, row, ConditionType.OPERATION_FAILED, str(error["message"]))


def lease_end(scene: Scene, row: OperationRow, why: str, attempt: int) -> None:
    """The operation has no holder any more: back to its place in the queue."""
    if row.superseded:
        scene.operation_move(row.id, OperationStatus.CANCELLED, why=why)
        return
    delay = timedelta(0)
    if attempt != row.attempt:
        delay = rules.backoff(row.retry_after_seconds, row.attempt)
    scene.operation_move(
        row.id,
        OperationStatus.REQUESTED,
        why=why,
        attempt=attempt,
        not_before=scene.work.now + delay,
        ready=True,
    )


def lease_require(row: OperationRow, token: str, caller_id: str, work: Work) -> None:
    """The caller holds the operation's present lease, or must stop."""
    given = hashlib.sha256(token.encode()).digest()
    held = (
        row.status in ACTIVE
        and row.lease_token_hash is not None
        and row.lease_until is not None
        and hmac.compare_digest(row.lease_token_hash, given)
        and row.lease_holder == caller_id
        and row.lease_until > work.now
    )
    if not held:
        raise PlatformError(
            ErrorCode.LEASE_LOST,
            f"You do not hold the lease of the operation {row.id} (any more); stop work on it.",
            context={"operation_id": row.id, "status": row.status},
        )


async def _held(work: Work, operation_id: str, token: str) -> tuple[Scene, OperationRow]:
    scene, row = await operation_open(work, operation_id)
    work.require(Permission.OPERATION_CONTROL, row.place)
    lease_require(row, token, work.call.caller.id, work)
    return scene, row


async def _apply(scene: Scene, row: OperationRow, body: Report) -> None:
    work = scene.work
    if row.status is OperationStatus.ACCEPTED:
        begin(scene, row)
    began = scene.operations[row.id]
    manifest = await _manifest(scene)
    spec = manifest.operation(row.kind)
    progress = steps_merged(
        began.progress, body.steps, () if spec is None else spec.steps, work.now
    )
    changes: dict[str, Any] = {
        "progress": progress,
        "step_deadline": deadline_of(progress, began, work.now),
        "conditions": rules.condition_clear(began.conditions, ConditionType.STUCK),
    }
    if body.lease_seconds is not None:
        changes["lease_until"] = work.now + timedelta(seconds=body.lease_seconds)
    scene.operation_change(row.id, **changes)
    if body.instance is not None or body.members:
        scene.work_note()
    await facts_apply(scene, Facts(body.instance, body.members, scene.operations[row.id]))


def _step_now(scene: Scene, operation_id: str) -> dict[str, Any]:
    progress = scene.operations[operation_id].progress
    ended = sum(step["state"] not in {"pending", "running"} for step in progress)
    current = next((step for step in progress if step["state"] == "running"), None)
    return {
        "step": None if current is None else current["name"],
        "steps_done": ended,
        "steps": len(progress),
    }


async def _manifest(scene: Scene) -> Manifest:
    row = scene.instance
    return await manifest_of(
        scene.work.call.platform, scene.work.conn, row.app_slug, row.app_version
    )


async def _answer(scene: Scene, before: OperationRow) -> Answer[Operation]:
    work = scene.work
    after = scene.operations[before.id]
    work.audit(
        Target(
            "operation", before.id, before.place, before.status, after.status,
            correlation_id=before.correlation_id,
            detail={"request_correlation_id": work.call.correlation_id, "attempt": before.attempt},
        )
    )  # fmt: skip
    await scene.save()
    row = await operations.operation_read(work.conn, before.id)
    if row is None:
        raise not_found("operation", before.id)
    return Answer(operation_view(row))
