"""The contract's cases of giving up: what is abandoned is never called clean.

Part of `conformance.py`, which runs them on the in-memory platform and on the real one.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from gpuaas_contract.apps import AppInstance, ConditionType, Operation, ReasonGiven, Requested
from gpuaas_contract.controllers import ControllerSelf, Observation, Observe, ObserverLease
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.states import InstanceStatus, MemberStatus, OperationStatus
from gpuaas_sdk.client import Request
from gpuaas_sdk.testing.ground import Ground, same

ABSENT: Final = {"runtime_verified_absent": True, "evidence": {"looked": True}}
_NO: Final = {"code": "no", "message": "No.", "family": "permanent"}


async def case_an_abandoned_deploy_is_set_aside_until_verified(ground: Ground) -> None:
    """Machines that were touched are kept aside; the app's statement makes it a tombstone."""
    asked = await ground.deploy()
    claimed = await ground.claim_one()
    await ground.say(claimed, "report")
    ended = await _abandon(ground, asked.operation.id)
    same(ended.status, OperationStatus.ABANDONED, "the operation")
    same(await ground.refused(ground.say(claimed, "report")), ErrorCode.LEASE_LOST, "its holder")
    instance = await ground.instance(asked.instance.id)
    same(instance.status, InstanceStatus.CLEANUP_BLOCKED, "the instance")
    kinds = [one.type for one in instance.conditions]
    same(kinds, [ConditionType.CLEANUP_UNVERIFIED], "what it says")
    members = await ground.members(instance.id)
    found = {one.status for one in members}
    same(found, {MemberStatus.CLEANUP_BLOCKED}, "the members")
    gone = [{"member_id": one.id, "absence": ABSENT} for one in members]
    after = await _seen(ground, instance.id, gone)
    same((after.status, after.conditions), (InstanceStatus.DELETED, []), "in the end")


async def case_an_abandoned_deploy_nobody_began_leaves_nothing(ground: Ground) -> None:
    """Nothing was done on any machine, so there is nothing to verify."""
    asked = await ground.deploy()
    await _abandon(ground, asked.operation.id)
    same((await ground.instance(asked.instance.id)).status, InstanceStatus.DELETED, "the instance")
    same(await ground.claim(), [], "nothing is left to do")


async def case_an_abandoned_remove_sets_its_member_aside(ground: Ground) -> None:
    """The instance goes on; the member is neither here nor called gone."""
    instance = await ground.running(pins=2)
    pin = (await ground.members(instance.id))[-1]
    (asked,) = await ground.ask(instance.id, "remove_pin", member_ids=[pin.id])
    await ground.say(await ground.claim_one(), "fail", **_NO)
    await _abandon(ground, asked.id)
    again = await ground.refused(_abandon(ground, asked.id))
    same(again, ErrorCode.STATE_CONFLICT, "a second time")
    held = next(one for one in await ground.members(instance.id) if one.id == pin.id)
    same(held.status, MemberStatus.CLEANUP_BLOCKED, "the member")
    same((await ground.instance(instance.id)).status, InstanceStatus.RUNNING, "the instance")
    await _seen(ground, instance.id, [{"member_id": pin.id, "absence": ABSENT}])
    left = [one.id for one in await ground.members(instance.id)]
    same(pin.id in left, False, "once it is verified")


async def case_an_abandoned_delete_keeps_what_was_verified(ground: Ground) -> None:
    """A member stated to be gone is a tombstone; the other one is set aside."""
    instance = await ground.running()
    request = Request("DELETE", f"/app-instances/{instance.id}")
    asked = await ground.person.call(request, Requested)
    claimed = await ground.claim_one()
    first = claimed.members[0]
    gone = [{"member_id": first.id, "status": "removed", "absence": ABSENT}]
    await ground.say(claimed, "report", members=gone)
    await ground.say(claimed, "fail", **_NO)
    await _abandon(ground, asked.operation.id)
    left = await ground.members(instance.id)
    same([one.id == first.id for one in left], [False], "the other one alone")
    same(left[0].status, MemberStatus.CLEANUP_BLOCKED, "it is")
    after = await ground.instance(instance.id)
    same(after.status, InstanceStatus.CLEANUP_BLOCKED, "the instance")


async def _abandon(ground: Ground, operation_id: str) -> Operation:
    body = ReasonGiven(reason="The machines were sold.")
    return await ground.person.post(f"/operations/{operation_id}/abandon", body, Operation)


async def _seen(
    ground: Ground, instance_id: str, members: Sequence[Mapping[str, object]]
) -> AppInstance:
    path = f"/app-instances/{instance_id}"
    who = Observe(controller=ControllerSelf(replica="one"))
    lease = await ground.controller.post(f"{path}/observer", who, ObserverLease)
    seen = Observation.model_validate({"lease_token": lease.token, "members": members})
    return await ground.controller.post(f"{path}/report", seen, AppInstance)
