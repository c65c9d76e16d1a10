"""What an observer may rely on: it is alone, and what it saw before an operation is not written.

Cases like those of `conformance.py`, which runs these too.
"""

from typing import Any

from gpuaas_contract.apps import AppInstance
from gpuaas_contract.controllers import ControllerSelf, Observation, Observe, ObserverLease
from gpuaas_contract.errors import ErrorCode
from gpuaas_sdk.testing.ground import Ground, same


async def case_an_observer_is_alone(ground: Ground) -> None:
    """One replica observes; its token renews, another is refused until the lease ends."""
    instance = await ground.running()
    path = f"/app-instances/{instance.id}"
    one = Observe(controller=ControllerSelf(replica="one"))
    two = Observe(controller=ControllerSelf(replica="two"))
    lease = await ground.controller.post(f"{path}/observer", one, ObserverLease)
    again = ground.controller.post(f"{path}/observer", two, ObserverLease)
    same(await ground.refused(again), ErrorCode.LEASE_LOST, "the other replica")
    seen = Observation.model_validate(
        {"lease_token": lease.token, "instance": {"health": "degraded"}}
    )
    said = await ground.controller.post(f"{path}/report", seen, AppInstance)
    same(said.health, "degraded", "what it saw")
    ground.advance(61)
    late = ground.controller.post(f"{path}/report", seen, AppInstance)
    same(await ground.refused(late), ErrorCode.LEASE_LOST, "a lapsed observer")
    lease = await ground.controller.post(f"{path}/observer", two, ObserverLease)
    back = two.model_copy(update={"lease_token": lease.token, "lease_seconds": 0})
    await ground.controller.post(f"{path}/observer", back, ObserverLease)
    await ground.controller.post(f"{path}/observer", one, ObserverLease)


async def case_a_look_an_operation_overtook_is_not_written(ground: Ground) -> None:
    """Taken, begun, said what is true, ended: each makes what was seen before it old."""
    instance = await ground.running()
    lease = await _look(ground, instance.id)
    await ground.ask(instance.id, "say")
    await _said(ground, instance.id, lease, "nobody has taken it yet")
    claimed = await ground.claim_one()
    await _overtaken(ground, instance.id, lease, "taken")
    board = claimed.members[0].id
    for what, body in (
        ("report", {}),
        ("report", {"members": [{"member_id": board, "health": "healthy"}]}),
        ("report", {"instance": {"health": "healthy"}}),
        ("complete", {}),
    ):
        lease = await _look(ground, instance.id, lease)
        await ground.say(claimed, what, **body)
        await _overtaken(ground, instance.id, lease, f"{what} {body}")
    lease = await _look(ground, instance.id, lease)
    await _said(ground, instance.id, lease, "looked again")
    same((await ground.instance(instance.id)).health, "degraded", "what was seen last")


async def case_progress_alone_overtakes_no_look(ground: Ground) -> None:
    """Who looks while an operation goes on is heard, however often its steps are told."""
    instance = await ground.running()
    await ground.ask(instance.id, "say")
    claimed = await ground.claim_one()
    await ground.say(claimed, "report", steps=[{"name": "said", "state": "running"}])
    lease = await _look(ground, instance.id)
    await ground.say(claimed, "report", steps=[{"name": "said", "state": "succeeded"}])
    await ground.beat(claimed)
    await _said(ground, instance.id, lease, "during an operation")


async def case_a_controller_without_marks_is_heard(ground: Ground) -> None:
    """An observation that says no mark is written as before there were any."""
    instance = await ground.running()
    lease = await _look(ground, instance.id)
    await ground.ask(instance.id, "say")
    await ground.say(await ground.claim_one(), "complete")
    seen = await _report(ground, instance.id, {"lease_token": lease.token})
    same(seen.health, "degraded", "what it saw")


async def case_the_lease_tells_the_revision_of_the_instance(ground: Ground) -> None:
    """Whoever read the instance before can tell whether it has changed since."""
    instance = await ground.running()
    lease = await _look(ground, instance.id)
    same(lease.revision, instance.revision, "nothing has changed")
    await _said(ground, instance.id, lease, "what is written changes it")
    lease = await _look(ground, instance.id, lease)
    same(lease.revision, (await ground.instance(instance.id)).revision, "what it has now")
    same(lease.revision > instance.revision, True, "it has grown")


async def _look(
    ground: Ground, instance_id: str, held: ObserverLease | None = None
) -> ObserverLease:
    who = ControllerSelf(replica="one")
    body = Observe(controller=who, lease_token=None if held is None else held.token)
    return await ground.controller.post(
        f"/app-instances/{instance_id}/observer", body, ObserverLease
    )


async def _report(ground: Ground, instance_id: str, said: dict[str, Any]) -> AppInstance:
    body = Observation.model_validate({**said, "instance": {"health": "degraded"}})
    return await ground.controller.post(f"/app-instances/{instance_id}/report", body, AppInstance)


async def _said(ground: Ground, instance_id: str, lease: ObserverLease, what: str) -> None:
    said = {"lease_token": lease.token, "mark": lease.mark}
    same((await _report(ground, instance_id, said)).health, "degraded", what)


async def _overtaken(ground: Ground, instance_id: str, lease: ObserverLease, what: str) -> None:
    said = {"lease_token": lease.token, "mark": lease.mark}
    code = await ground.refused(_report(ground, instance_id, said))
    same(code, ErrorCode.OBSERVATION_OVERTAKEN, what)
