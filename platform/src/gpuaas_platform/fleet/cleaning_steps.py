"""The steps of a cleaning: each is one transaction that holds the node and its cleaning.

A node becomes `ready` in `_succeeded` and nowhere else. What a step needs from the network is done
by `cleaning_work.py` before it or after it, never inside.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from gpuaas_contract.capacity import CleaningMethod, Node
from gpuaas_contract.cleaning import Cleaning, CleaningStepName
from gpuaas_contract.states import (
    CLEANING,
    AgentStatus,
    CleaningStatus,
    NodeStatus,
    StepState,
)
from gpuaas_platform.capacity import cleaning as capacity
from gpuaas_platform.capacity import nodes
from gpuaas_platform.capacity.holdings import CLEANING_TOPIC, present
from gpuaas_platform.fleet.access import access_wanted
from gpuaas_platform.fleet.agents import ABSENT
from gpuaas_platform.fleet.cleaning_rules import Move, Seen, next_actions, next_move
from gpuaas_platform.fleet.enrolments import enrolment_reissue
from gpuaas_platform.fleet.one_address import SHARED
from gpuaas_platform.fleet.store import agents as agent_rows
from gpuaas_platform.fleet.store import cleanings as store
from gpuaas_platform.fleet.tasks import tasks_give_up
from gpuaas_platform.kernel.caller import PLATFORM
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.problems import not_found
from gpuaas_platform.kernel.work import Answer, Happened, Target, Undone, Work

_CHECKING: Final = timedelta(minutes=5)
_HOOK_LOST: Final = timedelta(seconds=90)
_HOOK_AGAIN: Final = timedelta(seconds=30)
_REASON_MOST: Final = 2000
_NO_HOOK: Final = "The region has no hook any more, or nothing says how its machines reach us."
WAITS: Final = {
    CleaningMethod.ATTESTED: "Waits for an operator to clean it by hand and to confirm that.",
    CleaningMethod.REIMAGE: "The region's hook is asked to install it anew.",
    CleaningMethod.RECREATE: "Its provider takes the machine away.",
    CleaningMethod.SAME_TENANT_ONLY: "Its region cleans no machine any more: waits for an operator"
    " to clean it by hand and to confirm that.",
}


@dataclass
class HookRequest:
    """A request to a region's hook: written down by a step, sent after its transaction."""

    hook: capacity.Hook | None = None
    attempt: int = 0
    body: dict[str, Any] | None = None


async def cleaning_step(work: Work, cleaning_id: str, request: HookRequest) -> Answer[Cleaning]:
    """Look at a cleaning and do what comes next; `request` is filled when the hook is asked."""
    row, node = await cleaning_held(work, cleaning_id)
    seen = await _seen(work, row, request)
    move, reason = next_move(seen)
    if move is Move.WAIT:
        raise Undone
    step = _Step(row, node, seen, request, reason)
    after = await _MOVES[move](work, step)
    view = cleaning_view(after)
    work.audit(Target("cleaning", cleaning_id, PLATFORM, cleaning_view(row), view, reason))
    work.signal(CLEANING_TOPIC)
    return Answer(view)


async def hook_answered(work: Work, cleaning_id: str, attempt: int, error: str) -> Answer[Cleaning]:
    """What became of a request to the hook; no error: it has begun."""
    row, _ = await cleaning_held(work, cleaning_id)
    if row["attempt"] != attempt or row["taken"] or row["status"] != CleaningStatus.WIPING:
        raise Undone
    due_at = work.now + _HOOK_AGAIN if error else work.now
    await store.hook_answered(work.conn, cleaning_id, due_at, taken=not error)
    reason = f"Request {attempt} to the hook failed: {error}" if error else row["status_reason"]
    after = await moved(work, row, CleaningStatus.WIPING, reason, row["steps"])
    detail = {"attempt": attempt, "error": error}
    work.audit(Target("cleaning", cleaning_id, PLATFORM, reason=reason, detail=detail))
    work.signal(CLEANING_TOPIC)
    return Answer(cleaning_view(after))


async def cleaning_held(work: Work, cleaning_id: str) -> tuple[Record, Node | None]:
    """A cleaning and its node, held; the node of a machine that was taken away may be gone."""
    found = await store.cleaning_read(work.conn, cleaning_id)
    if found is None:
        raise not_found("cleaning", cleaning_id)
    node = await nodes.node_hold_if_there(work.conn, found["node_id"])  # node before cleaning
    return present(await store.cleaning_lock(work.conn, cleaning_id)), node


async def moved(
    work: Work, row: Record, status: CleaningStatus, reason: str, steps: Sequence[dict[str, Any]]
) -> Record:
    """A cleaning that is held comes to a status; told where that is another one."""
    if not CLEANING.allows(row["status"], status):
        raise RuntimeError(f"a cleaning that is {row['status']} cannot become {status}")
    ended = status in CLEANING.terminal
    deadline = row["deadline_at"] if status == row["status"] else None
    changed = store.Changed(
        row["id"], status, reason[:_REASON_MOST], steps, deadline, work.now if ended else None
    )
    after = present(await store.cleaning_change(work.conn, changed))
    if status != row["status"]:
        cleaning_emit(work, after)
    return after


def with_step(
    work: Work, row: Record, name: CleaningStepName, state: StepState, message: str
) -> list[dict[str, Any]]:
    """The steps of a cleaning with this one as it is now."""
    step = {"name": name, "state": state, "at": work.now.isoformat(), "message": message}
    return [one for one in row["steps"] if one["name"] != name] + [step]


async def reopened(work: Work, row: Record, reason: str) -> Record:
    """A cleaning that was set aside starts over at the machine."""
    await store.cleaning_begin_again(work.conn, row["id"], work.now)
    waits = WAITS[CleaningMethod(row["method"])]
    steps = with_step(work, row, CleaningStepName.CLEAN, StepState.RUNNING, reason or waits)
    return await moved(work, row, CleaningStatus.WIPING, waits, steps)


async def identity_end(work: Work, node: Node, reason: str) -> None:
    """Refuse every identity and enrolment a node that is held has, and give its tasks up."""
    await capacity.identities_refuse(work, node.id)
    agent = await agent_rows.agent_lock(work.conn, node.id)
    if agent is None or agent["status"] == AgentStatus.LEFT:
        return
    await agent_rows.agent_status_set(work.conn, node.id, AgentStatus.LEFT, reason)
    await agent_rows.identities_end(work.conn, node.id)
    await nodes.node_agent_forget(work, node.id)
    await nodes.node_condition_put(work, node.id, ABSENT, None)
    await nodes.node_condition_put(work, node.id, SHARED, None)
    await tasks_give_up(work, node.id, "The machine left its tenant before it told the outcome.")
    data = {"name": node.name, "reason": reason}
    work.emit(Happened("fleet.node.identity_revoked", node.id, PLATFORM, data))


def cleaning_emit(work: Work, row: Record) -> None:
    """An event for the status a cleaning has come to."""
    data = {
        "node_id": row["node_id"],
        "node_name": row["node_name"],
        "method": row["method"],
        "reason": row["status_reason"],
    }
    story = row["correlation_id"] or None
    work.emit(
        Happened(f"fleet.cleaning.{row['status']}", row["id"], PLATFORM, data, correlation_id=story)
    )


def cleaning_view(row: Record) -> Cleaning:
    """A cleaning as the contract says it."""
    fields = {name: row[name] for name in Cleaning.model_fields if name != "next_actions"}
    confirmed = row["confirmed_by"] is not None
    method, status = CleaningMethod(row["method"]), CleaningStatus(row["status"])
    return Cleaning(**fields, next_actions=next_actions(method, status, confirmed=confirmed))


@dataclass(frozen=True)
class _Step:
    """One step about to be done."""

    row: Record
    node: Node | None
    seen: Seen
    request: HookRequest
    reason: str

    @property
    def machine(self) -> Node:
        """The node, which is there for every method but one that takes machines away."""
        return present(self.node)


async def _seen(work: Work, row: Record, request: HookRequest) -> Seen:
    conn, node_id, now = work.conn, row["node_id"], work.now
    method = CleaningMethod(row["method"])
    gone, failed = False, ""
    if method is CleaningMethod.RECREATE:
        unmaking = await capacity.machine_unmaking(conn, node_id)
        gone, failed = unmaking.gone, unmaking.failed
    if method is CleaningMethod.REIMAGE:
        url = work.call.platform.settings.public_url
        hook = request.hook
        failed = "" if hook is not None and (hook.platform_url or url) else _NO_HOOK
    agent = await agent_rows.agent_read(conn, node_id)
    enrolled = agent is not None and agent["status"] != AgentStatus.LEFT
    return Seen(
        status=CleaningStatus(row["status"]),
        method=method,
        had_agent=row["had_agent"],
        late=row["deadline_at"] is not None and row["deadline_at"] <= now,
        attempt=row["attempt"],
        asked=row["due_at"] > now,
        taken=row["taken"],
        confirmed=row["confirmed_by"] is not None,
        closed=enrolled and await _closed(conn, node_id, agent),
        gone=gone,
        failed=failed,
        enrolled=enrolled,
        settled=enrolled and await _closed(conn, node_id, agent),
    )


async def _closed(conn: Connection, node_id: str, agent: Record | None) -> bool:
    """The agent has confirmed that exactly what should hold does: nobody is let in."""
    wanted = await access_wanted(conn, node_id)
    row = present(agent)
    return bool(row["access_revision"] == wanted.revision and not row["access_error"])


async def _revoke(work: Work, step: _Step) -> Record:
    row = step.row
    if step.node is not None:
        await identity_end(work, step.node, "The node has left its tenant.")
    state, said = StepState.SKIPPED, "There is no agent on the machine to end its sessions."
    if step.seen.closed:
        state, said = StepState.SUCCEEDED, "The agent has ended all sessions and lets nobody in."
    elif row["had_agent"]:
        said = "The agent did not confirm in time that it ended the sessions."
    steps = with_step(work, row, CleaningStepName.SESSIONS, state, said)
    ended = "Identities and enrolments made before this moment are refused."
    steps += _step(work, CleaningStepName.IDENTITY, StepState.SUCCEEDED, ended)
    waits = WAITS[CleaningMethod(row["method"])]
    steps += _step(work, CleaningStepName.CLEAN, StepState.RUNNING, waits)
    if step.node is not None and step.node.status is not NodeStatus.RETIRED:
        await capacity.node_shut(work, step.node, NodeStatus.CLEANING, waits)
    return await moved(work, row, CleaningStatus.WIPING, waits, steps)


async def _ask_hook(work: Work, step: _Step) -> Record:
    row, node, hook = step.row, step.machine, present(step.request.hook)
    command = await enrolment_reissue(work, node, hook.deadline, hook.platform_url)
    await store.hook_asked(work.conn, row["id"], work.now + _HOOK_LOST)
    attempt = row["attempt"] + 1
    step.request.attempt = attempt
    step.request.body = {
        "type": "fleet.node.reimage",
        "cleaning_id": row["id"],
        "attempt": attempt,
        "node": {"id": node.id, "name": node.name, "address": node.address, "sku": node.sku},
        "region": node.region,
        "deadline": (work.now + hook.deadline).isoformat(),
        "command": command,
        "correlation_id": row["correlation_id"],
    }
    said = f"The hook is asked to install it anew, request {attempt}."
    return await moved(work, row, CleaningStatus.WIPING, said, row["steps"])


async def _await_enrolment(work: Work, step: _Step) -> Record:
    row = step.row
    steps = list(row["steps"])
    hook = step.request.hook
    by_hand = row["confirmed_by"] is not None
    if not by_hand:
        said = "The hook has begun to install the machine anew."
        steps = with_step(work, row, CleaningStepName.CLEAN, StepState.SUCCEEDED, said)
    waits = "Waits for the cleaned machine to enrol afresh."
    steps = [one for one in steps if one["name"] != CleaningStepName.ENROLMENT]
    steps += _step(work, CleaningStepName.ENROLMENT, StepState.RUNNING, waits)
    after = await moved(work, row, CleaningStatus.ENROLLING, waits, steps)
    if step.node is not None:
        await capacity.node_shut(work, step.node, NodeStatus.CLEANING, waits)
    if by_hand or hook is None:
        return after
    return await _deadline(work, after, hook.deadline)


async def _check(work: Work, step: _Step) -> Record:
    said = "The machine has enrolled afresh, with other host keys than before."
    steps = with_step(work, step.row, CleaningStepName.ENROLMENT, StepState.SUCCEEDED, said)
    waits = "Waits for its new agent to confirm that it lets nobody in."
    steps += _step(work, CleaningStepName.CHECKS, StepState.RUNNING, waits)
    after = await moved(work, step.row, CleaningStatus.CHECKING, waits, steps)
    await capacity.node_shut(work, step.machine, NodeStatus.CLEANING, waits)
    work.signal(nodes.node_topic(step.machine.id))
    return await _deadline(work, after, _CHECKING)


async def _succeeded(work: Work, step: _Step) -> Record:
    row, steps = step.row, list(step.row["steps"])
    if row["status"] == CleaningStatus.CHECKING:
        said = "The new agent confirms that it lets nobody in."
        steps = with_step(work, row, CleaningStepName.CHECKS, StepState.SUCCEEDED, said)
    if step.seen.gone:
        said = "Its provider has taken the machine away."
        steps = with_step(work, row, CleaningStepName.CLEAN, StepState.SUCCEEDED, said)
        return await moved(work, row, CleaningStatus.SUCCEEDED, said, steps)
    await capacity.node_cleaned(work, step.machine, NodeStatus(row["opens_as"]))
    return await moved(work, row, CleaningStatus.SUCCEEDED, "", steps)


async def _set_aside(work: Work, step: _Step) -> Record:
    steps = [
        {**one, "state": StepState.FAILED, "message": step.reason, "at": work.now.isoformat()}
        if one["state"] == StepState.RUNNING
        else one
        for one in step.row["steps"]
    ]
    reason = f"{step.reason} {step.row['status_reason']}".strip()
    if step.node is not None:
        await capacity.node_shut(work, step.node, NodeStatus.SET_ASIDE, reason)
    return await moved(work, step.row, CleaningStatus.SET_ASIDE, reason, steps)


_MOVES: Final[dict[Move, Callable[[Work, _Step], Awaitable[Record]]]] = {
    Move.REVOKE: _revoke,
    Move.ASK_HOOK: _ask_hook,
    Move.AWAIT_ENROLMENT: _await_enrolment,
    Move.CHECK: _check,
    Move.SUCCEED: _succeeded,
    Move.SET_ASIDE: _set_aside,
}


def _step(
    work: Work, name: CleaningStepName, state: StepState, message: str
) -> list[dict[str, Any]]:
    return [{"name": name, "state": state, "at": work.now.isoformat(), "message": message}]


async def _deadline(work: Work, row: Record, after: timedelta) -> Record:
    until = work.now + after
    changed = store.Changed(row["id"], row["status"], row["status_reason"], row["steps"], until)
    return present(await store.cleaning_change(work.conn, changed))
