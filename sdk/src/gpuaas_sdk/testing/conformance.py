"""What a controller may rely on, as tests that run on any platform that claims the contract.

Each case is an async function of a `Ground`. The SDK runs them on the in-memory platform; the
repository runs the same on the real one with a real PostgreSQL.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from gpuaas_contract.apps import (
    InstanceCreate,
    Operation,
    Requested,
)
from gpuaas_contract.controllers import (
    Completion,
    Report,
)
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.states import InstanceStatus, MemberStatus, OperationStatus, StepState
from gpuaas_sdk.client import Request
from gpuaas_sdk.runtime.controller import Controller, Options
from gpuaas_sdk.testing import conformance_abandon, conformance_observe
from gpuaas_sdk.testing.conformance_abandon import ABSENT
from gpuaas_sdk.testing.example import SLUG, Boards, notes_app
from gpuaas_sdk.testing.ground import Ground, same, true

_PATIENCE: Final = 60.0


async def case_a_claim_gives_everything(ground: Ground) -> None:
    """A claim carries the operation, its instance and its live members."""
    asked = await ground.deploy()
    claimed = await ground.claim_one()
    same(claimed.operation.status, OperationStatus.ACCEPTED, "claimed")
    same(claimed.instance.id, asked.instance.id, "its instance")
    same(len(claimed.members), 2, "its members")
    same(claimed.lease.fence, 1, "the first fence")
    same(await ground.claim(), [], "nothing is claimed twice")


async def case_the_first_report_begins(ground: Ground) -> None:
    """The first report makes the operation running and its target under way."""
    await ground.deploy()
    claimed = await ground.claim_one()
    steps = [{"name": "paper", "state": "running"}]
    said = await ground.say(claimed, "report", steps=steps)
    same(said.status, OperationStatus.RUNNING, "the operation")
    states = [(one.name, one.state) for one in said.progress]
    same(states, [("paper", StepState.RUNNING), ("ink", StepState.PENDING)], "its steps")
    instance = await ground.instance(claimed.instance.id)
    same(instance.status, InstanceStatus.DEPLOYING, "the instance")
    found = {one.status for one in await ground.members(instance.id)}
    same(found, {MemberStatus.RECONCILING}, "the members")


async def case_a_step_keeps_its_first_start(ground: Ground) -> None:
    """Reported again, a step replaces what was said and keeps when it began."""
    await ground.deploy()
    claimed = await ground.claim_one()
    first = await ground.say(claimed, "report", steps=[{"name": "paper", "state": "running"}])
    ground.advance(5)
    ended = {"name": "paper", "state": "succeeded", "message": "ok"}
    second = await ground.say(claimed, "report", steps=[ended])
    same(second.progress[0].started_at, first.progress[0].started_at, "its start")
    same(second.progress[0].message, "ok", "its message")
    true(second.progress[0].ended_at is not None, "its end")


async def case_completion_settles_states(ground: Ground) -> None:
    """Done: the operation succeeded, the instance runs, its members are ready."""
    instance = await ground.running()
    same(instance.status, InstanceStatus.RUNNING, "the instance")
    found = {one.status for one in await ground.members(instance.id)}
    same(found, {MemberStatus.READY}, "the members")


async def case_a_lapsed_lease_returns_the_work(ground: Ground) -> None:
    """Whoever fell silent loses the work; the next holder has a higher fence and attempt."""
    await ground.deploy()
    first = await ground.claim_one()
    await ground.say(first, "report")
    ground.advance(61)
    lost = await ground.refused(ground.say(first, "report"))
    same(lost, ErrorCode.LEASE_LOST, "the silent one")
    await ground.claim()
    ground.advance(60)
    second = await ground.claim_one()
    same((second.lease.fence, second.operation.attempt), (2, 2), "fence and attempt")
    same(await ground.refused(ground.beat(first)), ErrorCode.LEASE_LOST, "a stale heartbeat")
    for what in ("report", "complete", "release"):
        lost = await ground.refused(ground.say(first, what))
        same(lost, ErrorCode.LEASE_LOST, f"a stale {what}")
    await ground.say(second, "complete")


async def case_a_heartbeat_keeps_the_lease(ground: Ground) -> None:
    """Beats keep a lease for as long as they come."""
    await ground.deploy()
    claimed = await ground.claim_one()
    for _ in range(4):
        ground.advance(40)
        await ground.beat(claimed)
    same(await ground.claim(), [], "nobody else gets it")
    ended = await ground.say(claimed, "complete")
    same((ended.status, ended.attempt), (OperationStatus.SUCCEEDED, 1), "its end")


async def case_a_release_counts_no_attempt(ground: Ground) -> None:
    """A lease handed back: at once for the next, the same attempt, a higher fence."""
    await ground.deploy()
    first = await ground.claim_one()
    await ground.say(first, "report", steps=[{"name": "paper", "state": "succeeded"}])
    await ground.say(first, "release")
    second = await ground.claim_one()
    same((second.operation.attempt, second.lease.fence), (1, 2), "attempt and fence")
    same(second.operation.progress[0].state, StepState.SUCCEEDED, "progress is kept")


async def case_failures_go_by_family(ground: Ground) -> None:
    """Temporary: again after the delay, then exhausted. The end offers ways out."""
    await ground.deploy()
    body = {"code": "busy", "message": "Busy.", "family": "temporary", "retry_after_seconds": 30}
    for attempt in (1, 2):
        claimed = await ground.claim_one()
        said = await ground.say(claimed, "fail", **body)
        same((said.status, said.attempt), (OperationStatus.REQUESTED, attempt + 1), "again")
        same(await ground.claim(), [], "not before its delay")
        ground.advance(31)
    last = await ground.say(await ground.claim_one(), "fail", **body)
    same(last.status, OperationStatus.FAILED, "the last attempt")
    same(last.error and last.error.code, "attempts_exhausted", "why")
    instance = await ground.instance(last.instance_id)
    same(instance.status, InstanceStatus.FAILED, "the instance")


async def case_a_permanent_failure_ends_at_once(ground: Ground) -> None:
    """Permanent and conflict are not tried again; what is unusable is called failed."""
    instance = await ground.running()
    for usable, status in ((True, InstanceStatus.RUNNING), (False, InstanceStatus.FAILED)):
        await ground.ask(instance.id, "say")
        body = {"code": "no", "message": "No.", "family": "permanent", "instance_usable": usable}
        said = await ground.say(await ground.claim_one(), "fail", **body)
        same(said.status, OperationStatus.FAILED, "the operation")
        same((await ground.instance(instance.id)).status, status, "the instance")


async def case_what_failed_can_be_asked_for_again(ground: Ground) -> None:
    """A start that failed leaves a degraded instance, which can be started again, or retried."""
    instance = await ground.running()
    await ground.ask(instance.id, "stop")
    await ground.say(await ground.claim_one(), "complete")
    no = {"code": "no", "message": "No.", "family": "permanent"}
    (first,) = await ground.ask(instance.id, "start")
    await ground.say(await ground.claim_one(), "fail", **no)
    same((await ground.instance(instance.id)).status, InstanceStatus.DEGRADED, "after the failure")
    await ground.ask(instance.id, "start")
    await ground.say(await ground.claim_one(), "fail", **no)
    await ground.person.call(Request("POST", f"/operations/{first.id}/retry"), Operation)
    again = await ground.claim_one()
    same(again.operation.id, first.id, "the same operation")
    await ground.say(again, "complete")
    same((await ground.instance(instance.id)).status, InstanceStatus.RUNNING, "in the end")


async def case_a_failed_delete_goes_on_when_asked_for_again(ground: Ground) -> None:
    """The same decommission, one attempt more; nothing is taken down twice at once."""
    instance = await ground.running()
    request = Request("DELETE", f"/app-instances/{instance.id}")
    first = await ground.person.call(request, Requested)
    no = {"code": "no", "message": "No.", "family": "permanent"}
    refused = await ground.refused(ground.person.call(request, Requested))
    same(refused, ErrorCode.STATE_CONFLICT, "while it is under way")
    await ground.say(await ground.claim_one(), "fail", **no)
    again = await ground.person.call(request, Requested)
    same(again.operation.id, first.operation.id, "the same operation")
    same(again.operation.attempt, 2, "its attempt")
    same((await ground.claim_one()).operation.id, first.operation.id, "claimed")


async def case_a_cancel_is_heard_and_acknowledged(ground: Ground) -> None:
    """A cancel is told with every answer; `stopped` is refused unless it was asked for."""
    instance = await ground.running()
    (asked,) = await ground.ask(instance.id, "say")
    claimed = await ground.claim_one()
    await ground.say(claimed, "report")
    early = await ground.refused(ground.say(claimed, "stopped"))
    same(early, ErrorCode.STATE_CONFLICT, "nobody asked")
    await ground.person.post(f"/operations/{asked.id}/cancel", None, Operation)
    said = await ground.say(claimed, "report")
    true(said.cancel_requested, "it is told")
    ended = await ground.say(claimed, "stopped", message="stopped")
    same(ended.status, OperationStatus.CANCELLED, "its end")
    same((await ground.instance(instance.id)).status, InstanceStatus.RUNNING, "the instance")


async def case_done_beats_a_late_cancel(ground: Ground) -> None:
    """Work that is done is done."""
    await ground.deploy()
    claimed = await ground.claim_one()
    await ground.say(claimed, "report")
    path = f"/operations/{claimed.operation.id}/cancel"
    await ground.person.post(path, None, Operation)
    ended = await ground.say(claimed, "complete")
    same(ended.status, OperationStatus.SUCCEEDED, "its end")


async def case_exclusive_work_stands_alone(ground: Ground) -> None:
    """Two operations on two members run together; one member has one at a time."""
    instance = await ground.running(pins=1)
    pins = list(ground.allocations[2:4])
    added = await ground.ask(instance.id, "add_pin", input={"pins": pins})
    same(len(added), 2, "one operation per member")
    claimed = await ground.claim()
    same(len(claimed), 2, "both at once")
    await ground.person.call(Request("DELETE", f"/app-instances/{instance.id}"), Requested)
    same(await ground.claim(), [], "the exclusive one waits")
    for one in claimed:
        said = await ground.say(one, "report")
        true(said.cancel_requested, "what runs is asked to stop")
        await ground.say(one, "stopped")
    (last,) = await ground.claim()
    same(last.operation.kind, "decommission", "now it is its turn")


async def case_members_after_a_deploy_wait_for_it(ground: Ground) -> None:
    """Members deploy does not act on get operations of their own, once it succeeded."""
    asked = await ground.deploy(pins=2, version="1.1.0")
    kinds = sorted(one.kind for one in asked.operations)
    same(kinds, ["add_pin", "add_pin", "deploy"], "what it became")
    deploy = await ground.claim_one()
    await ground.say(deploy, "report")
    found = [one.status for one in await ground.members(asked.instance.id)]
    waiting = [MemberStatus.RECONCILING, MemberStatus.REQUESTED, MemberStatus.REQUESTED]
    same(found, waiting, "the members")
    await ground.say(deploy, "complete")
    added = await ground.claim()
    same([one.operation.waits_for for one in added], [deploy.operation.id] * 2, "now they go")
    for one in added:
        await ground.say(one, "complete")


async def case_what_waits_for_a_cancelled_deploy_goes_with_it(ground: Ground) -> None:
    """An operation that will never succeed takes those that wait for it along."""
    asked = await ground.deploy(pins=2, version="1.1.0")
    path = f"/operations/{asked.operation.id}/cancel"
    await ground.person.post(path, None, Operation)
    states = {(await ground.operation(one.id)).status for one in asked.operations}
    same(states, {OperationStatus.CANCELLED}, "all of it")
    same(await ground.claim(), [], "nothing is left to do")


async def case_delete_needs_every_member_gone(ground: Ground) -> None:
    """A delete completes when each member is said to be removed, with what was looked at."""
    instance = await ground.running()
    await ground.person.call(Request("DELETE", f"/app-instances/{instance.id}"), Requested)
    claimed = await ground.claim_one()
    early = await ground.refused(ground.say(claimed, "complete"))
    same(early, ErrorCode.STATE_CONFLICT, "members are still there")
    gone = [
        {"member_id": one.id, "status": "removed", "absence": ABSENT} for one in claimed.members
    ]
    await ground.say(claimed, "complete", members=gone)
    same((await ground.instance(instance.id)).status, InstanceStatus.DELETED, "the instance")


async def case_a_report_is_whole_or_nothing(ground: Ground) -> None:
    """One wrong part refuses all of it; the platform's own words are not the app's."""
    await ground.deploy()
    claimed = await ground.claim_one()
    wrong = [{"member_id": claimed.members[0].id, "status": "drained"}]
    steps = [{"name": "paper", "state": "succeeded"}]
    code = await ground.refused(ground.say(claimed, "report", steps=steps, members=wrong))
    same(code, ErrorCode.STATE_CONFLICT, "no such transition")
    now = await ground.operation(claimed.operation.id)
    same(now.progress[0].state, StepState.PENDING, "nothing was written")
    deleted = ground.say(claimed, "report", instance={"status": "deleted"})
    same(await ground.refused(deleted), ErrorCode.STATE_CONFLICT, "a report cannot delete")


async def case_an_input_matches_the_manifest(ground: Ground) -> None:
    """What the schema does not allow is refused, field by field; what is left out is filled in."""
    path = f"/projects/{ground.project_id}/app-instances"

    def deploy(**settings: object) -> Awaitable[Requested]:
        body = InstanceCreate(app_slug=SLUG, version="1.0.0", name="wrong", settings=settings)
        return ground.person.post(path, body, Requested)

    found = await ground.fields_refused(deploy(colour="red", pins="many"))
    same(found, {"/settings/board", "/settings/colour", "/settings/pins"}, "of a deploy")
    asked = await deploy(board=ground.allocations[0])
    same(asked.instance.settings["pins"], [], "the default")
    await ground.say(await ground.claim_one(), "complete")
    none = await ground.fields_refused(ground.ask(asked.instance.id, "add_pin"))
    same(none, {"/input/pins"}, "what is needed")
    odd = await ground.fields_refused(
        ground.ask(asked.instance.id, "add_pin", input={"pins": [3], "glue": True})
    )
    same(odd, {"/input/pins/0", "/input/glue"}, "of another kind, and unknown")


async def case_a_repeated_answer_is_thesame(ground: Ground) -> None:
    """The same key with the same body gives the first answer; with another, a conflict."""
    await ground.deploy()
    claimed = await ground.claim_one()
    path = f"/operations/{claimed.operation.id}/complete"
    body = Completion(lease_token=claimed.lease.token)
    request = Request("POST", path, body, idempotency_key="the-same-key-both-times-0001")
    first = await ground.controller.call(request, Operation)
    second = await ground.controller.call(request, Operation)
    same((first.revision, first.status), (second.revision, second.status), "the answer")
    other = Request(
        "POST",
        f"/operations/{claimed.operation.id}/report",
        Report(lease_token=claimed.lease.token),
        idempotency_key="the-same-key-both-times-0001",
    )
    code = await ground.refused(ground.controller.call(other, Operation))
    same(code, ErrorCode.IDEMPOTENCY_CONFLICT, "another body")


async def case_the_runtime_does_a_whole_life(ground: Ground) -> None:
    """The SDK's controller deploys, adds, reconciles, removes and takes down."""
    boards = Boards()
    options = Options(replica="life", wait_seconds=0.2, observe=None)
    controller = Controller(notes_app(boards), ground.controller, options)
    task = asyncio.create_task(controller.run())
    try:
        asked = await ground.deploy()
        await _ended(ground, asked.operation.id)
        instance_id = asked.instance.id
        pins = {"pins": [ground.allocations[2]]}
        (added,) = await ground.ask(instance_id, "add_pin", input=pins)
        await _ended(ground, added.id)
        boards.take(ground.allocations[0], "paper")
        (healed,) = await ground.ask(instance_id, "reconcile")
        await _ended(ground, healed.id)
        true(boards.has(ground.allocations[0], "paper"), "drift is repaired")
        (removed,) = await ground.ask(instance_id, "remove_pin", member_ids=[added.member_id])
        await _ended(ground, removed.id)
        gone = Request("DELETE", f"/app-instances/{instance_id}")
        last = await ground.person.call(gone, Requested)
        await _ended(ground, last.operation.id)
    finally:
        controller.stop()
        await task
    same((await ground.instance(instance_id)).status, InstanceStatus.DELETED, "its end")
    true(not any(boards.hanging.values()), "nothing is left")


_ELSEWHERE: Final = vars(conformance_abandon) | vars(conformance_observe)
CASES: Final[tuple[Callable[[Ground], Awaitable[None]], ...]] = tuple(
    found for name, found in sorted((_ELSEWHERE | globals()).items()) if name.startswith("case_")
)


async def _ended(ground: Ground, operation_id: str) -> None:
    async with asyncio.timeout(_PATIENCE):
        while True:
            found = await ground.operation(operation_id)
            if found.status is OperationStatus.SUCCEEDED:
                return
            true(found.status is not OperationStatus.FAILED, f"{found.kind}: {found.error}")
            await asyncio.sleep(0.02)
