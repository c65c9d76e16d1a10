"""Reports outside operations: one replica at a time looks at an instance and says what it sees.

The observer's lease keeps two replicas of a controller from writing over each other. It is asked
for when a look begins, and its mark keeps what was seen from being written after an operation of
which the look may know nothing. Called by the controller's routes.
"""

import base64
import hashlib
import hmac
from dataclasses import replace
from datetime import timedelta

from gpuaas_contract.apps import AppInstance
from gpuaas_contract.controllers import Observation, Observe, ObserverLease
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.permissions import Permission
from gpuaas_contract.states import InstanceStatus
from gpuaas_platform.apps import controllers
from gpuaas_platform.apps.facts import Facts, facts_apply
from gpuaas_platform.apps.rows import InstanceRow
from gpuaas_platform.apps.scene import Scene, scene_open
from gpuaas_platform.apps.settling import topology_follow
from gpuaas_platform.apps.store import instances, operations
from gpuaas_platform.apps.versions import manifest_of
from gpuaas_platform.apps.views import instance_view
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.etag import etag_headers
from gpuaas_platform.kernel.problems import Denied, PlatformError, not_found
from gpuaas_platform.kernel.work import Answer, Target, Work, refusal_record


async def instance_observe(call: Call, instance_id: str, body: Observe) -> ObserverLease:
    """Become or stay the observer. Changes nothing anybody else can see: no audit row."""
    try:
        return await _observe(call, instance_id, body)
    except Denied as error:
        await refusal_record(call, "apps.instance.observe", error)
        raise


async def instance_report(work: Work, instance_id: str, body: Observation) -> Answer[AppInstance]:
    """What the observer sees, in one transaction."""
    scene = await scene_open(work, instance_id)
    before = scene.instance
    work.require(Permission.OPERATION_CONTROL, before.place)
    if not _held(before, body.lease_token, work):
        raise PlatformError(
            ErrorCode.LEASE_LOST,
            "You do not observe this instance (any more); another replica may.",
            context={"app_instance_id": before.id, "observer": before.observer or ""},
        )
    if before.status is InstanceStatus.DELETED:
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            "The instance is deleted; there is nothing to observe.",
            context={"app_instance_id": before.id, "status": before.status},
        )
    await _overtaken_refuse(scene, body.mark)
    await facts_apply(scene, Facts(body.instance, body.members, None))
    row = scene.instance
    manifest = await manifest_of(work.call.platform, work.conn, row.app_slug, row.app_version)
    topology_follow(scene, manifest)
    work.audit(Target("app_instance", row.id, row.place, before, scene.instance))
    await scene.save()
    row = scene.instance
    last = None
    if row.last_operation_id is not None:
        last = await operations.operation_read(work.conn, row.last_operation_id)
    return Answer(instance_view(row, manifest, last), 200, etag_headers(row.revision))


async def _observe(call: Call, instance_id: str, body: Observe) -> ObserverLease:
    async with call.db.transaction() as conn:
        row = await instances.instance_lock(conn, instance_id)
        if row is None:
            raise not_found("app instance", instance_id)
        call.caller.require(Permission.OPERATION_CONTROL, row.place)
        work = Work(call, conn, call.platform.clock.now(), "apps.instance.observe")
        mine = body.lease_token is not None and _held(row, body.lease_token, work)
        free = row.observer_until is None or row.observer_until <= work.now
        if not mine and not free:
            raise PlatformError(
                ErrorCode.LEASE_LOST,
                f"The replica {row.observer} observes this instance until {row.observer_until}.",
                context={"app_instance_id": row.id, "observer": row.observer or ""},
            )
        token = body.lease_token if mine and body.lease_token else _token(work)
        until = work.now + timedelta(seconds=body.lease_seconds)
        holder = replace(row, observer=f"{call.caller.id}/{body.controller.replica}")
        claims = await instances.observer_take(conn, holder, _digest(token), until)
        await controllers.seen(call, conn, body.controller, row.app_slug, [row.id])
    return ObserverLease(token=token, until=until, mark=_mark(row, claims), revision=row.revision)


async def _overtaken_refuse(scene: Scene, mark: str | None) -> None:
    """Nothing an operation did since the look began is written over by what was seen before it.

    Progress alone moves no mark: an observer that is slower than the steps of a long operation
    would never be heard, and a machine that dies meanwhile would not be missed.
    """
    if mark is None:
        return  # of a controller that was written before there were marks
    claims = await operations.claims_count(scene.work.conn, scene.instance.id)
    if mark != _mark(scene.instance, claims):
        raise PlatformError(
            ErrorCode.OBSERVATION_OVERTAKEN,
            "Since this look began, an operation of the instance was taken, said what is true or"
            " ended; nothing of what was seen is written. Look again.",
            context={"app_instance_id": scene.instance.id},
        )


def _mark(row: InstanceRow, claims: int) -> str:
    """Where the operations of a locked instance stand. Claims lock operations alone: counted apart.

    While `worked` stays, no operation enters or leaves those that are open but a new one, which
    nobody has claimed: then the claims only grow, by each claim.
    """
    return f"{row.worked}.{claims}"


def _held(row: InstanceRow, token: str, work: Work) -> bool:
    return (
        row.observer_token_hash is not None
        and row.observer_until is not None
        and row.observer_until > work.now
        and (row.observer or "").startswith(f"{work.call.caller.id}/")
        and hmac.compare_digest(row.observer_token_hash, _digest(token))
    )


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def _token(work: Work) -> str:
    secret = work.call.platform.clock.randomness(32)
    return base64.urlsafe_b64encode(secret).decode().rstrip("=")
