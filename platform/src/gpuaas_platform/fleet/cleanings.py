"""Cleanings of nodes as operators see them, and what they can do about one."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from gpuaas_contract.capacity import Node
from gpuaas_contract.cleaning import (
    Cleaning,
    CleaningAction,
    CleaningConfirm,
    CleaningRetire,
    CleaningRetry,
    CleaningStepName,
)
from gpuaas_contract.common import Page
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.ids import Prefix
from gpuaas_contract.permissions import Permission
from gpuaas_contract.states import AgentStatus, CleaningStatus, NodeStatus, StepState
from gpuaas_platform.capacity import cleaning as capacity
from gpuaas_platform.capacity import nodes
from gpuaas_platform.capacity.holdings import CLEANING_TOPIC, present
from gpuaas_platform.fleet.cleaning_steps import (
    WAITS,
    cleaning_emit,
    cleaning_held,
    cleaning_view,
    identity_end,
    moved,
    reopened,
    with_step,
)
from gpuaas_platform.fleet.store import agents as agent_rows
from gpuaas_platform.fleet.store import cleanings as store
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import PLATFORM
from gpuaas_platform.kernel.database import Record
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import PlatformError, invalid, not_found
from gpuaas_platform.kernel.work import Answer, Target, Work

_CLOSING: Final = timedelta(seconds=20)


@dataclass(frozen=True)
class CleaningQuery:
    """What a list of cleanings was asked for."""

    node_id: str | None
    status: CleaningStatus | None
    cursor: str | None
    limit: int


async def cleaning_list(call: Call, query: CleaningQuery) -> Page[Cleaning]:
    """Cleanings, newest first."""
    call.caller.require(Permission.NODE_READ, PLATFORM)
    wanted = store.CleaningFilter(query.node_id, query.status)
    async with call.db.connection() as conn:
        after = cursor_decode(query.cursor)
        rows = await store.cleaning_list(conn, wanted, after, query.limit + 1)
    return page_of([cleaning_view(row) for row in rows], query.limit, lambda found: found.id)


async def cleaning_read(call: Call, cleaning_id: str) -> Cleaning:
    """One cleaning."""
    call.caller.require(Permission.NODE_READ, PLATFORM)
    async with call.db.connection() as conn:
        row = await store.cleaning_read(conn, cleaning_id)
    if row is None:
        raise not_found("cleaning", cleaning_id)
    return cleaning_view(row)


async def cleaning_confirm(work: Work, cleaning_id: str, body: CleaningConfirm) -> Answer[Cleaning]:
    """An operator says, by name, that the machine was cleaned by hand."""
    row, node = await _acted_on(work, cleaning_id, CleaningAction.CONFIRM)
    if not row["had_agent"] and not body.host_keys:
        raise invalid("/host_keys", "names the new host keys: this machine has no agent to do so")
    before = cleaning_view(row)
    if row["status"] == CleaningStatus.SET_ASIDE:
        await capacity.node_shut(work, node, NodeStatus.CLEANING, "It was cleaned by hand.")
        row = await reopened(work, row, body.reason)
    if body.host_keys:
        await nodes.host_keys_renew(work, node, body.host_keys)
    by = work.call.caller.id
    enrols = row["had_agent"] and not body.host_keys
    await store.cleaning_confirm(work.conn, cleaning_id, by, had_agent=enrols, now=work.now)
    said = f"{by} confirms that it was cleaned by hand: {body.reason}"
    steps = with_step(work, row, CleaningStepName.CLEAN, StepState.SUCCEEDED, said)
    waits = "Enrol the machine afresh." if enrols else ""
    row = await moved(work, row, CleaningStatus.WIPING, waits, steps)
    after = cleaning_view(row)
    work.audit(Target("cleaning", cleaning_id, PLATFORM, before, after, body.reason))
    work.signal(CLEANING_TOPIC)
    return Answer(after)


async def cleaning_retry(work: Work, cleaning_id: str, body: CleaningRetry) -> Answer[Cleaning]:
    """Try a cleaning that was set aside again."""
    row, node = await _acted_on(work, cleaning_id, CleaningAction.RETRY)
    await capacity.machine_unmake_again(work, node.id)
    await capacity.node_shut(work, node, NodeStatus.CLEANING, WAITS[row["method"]])
    after = cleaning_view(await reopened(work, row, body.reason))
    work.audit(Target("cleaning", cleaning_id, PLATFORM, cleaning_view(row), after, body.reason))
    work.signal(CLEANING_TOPIC)
    return Answer(after)


async def cleaning_retire(work: Work, cleaning_id: str, body: CleaningRetire) -> Answer[Cleaning]:
    """Give a node up: no tenant gets it again."""
    row, node = await _acted_on(work, cleaning_id, CleaningAction.RETIRE)
    await identity_end(work, node, body.reason)
    await capacity.node_shut(work, node, NodeStatus.RETIRED, body.reason)
    retired = await moved(work, row, CleaningStatus.RETIRED, body.reason, row["steps"])
    after = cleaning_view(retired)
    work.audit(Target("cleaning", cleaning_id, PLATFORM, cleaning_view(row), after, body.reason))
    return Answer(after)


async def cleaning_begin(work: Work, node_id: str) -> Answer[Cleaning]:
    """A node has left its tenant: open its cleaning, or go on with one that was set aside."""
    departed = await capacity.node_departed(work, node_id)
    node = departed.node
    held = await store.cleaning_open_lock(work.conn, node_id)
    if held is not None:
        if held["status"] != CleaningStatus.SET_ASIDE:
            work.audit(Target("cleaning", held["id"]))
            return Answer(cleaning_view(held))
        view = cleaning_view(await reopened(work, held, "It was released again."))
        work.audit(Target("cleaning", held["id"], PLATFORM, cleaning_view(held), view))
        return Answer(view)
    agent = await agent_rows.agent_read(work.conn, node_id)
    new = store.NewCleaning(
        id=work.new_id(Prefix.CLEANING),
        node_id=node_id,
        node_name=node.name,
        region=node.region,
        org_id=node.last_org_id,
        method=departed.method,
        had_agent=agent is not None and agent["status"] != AgentStatus.LEFT,
        opens_as=departed.opens_as,
        deadline_at=work.now + _CLOSING,
        correlation_id=departed.correlation_id,
    )
    row = present(await store.cleaning_insert(work.conn, new, work.now))
    work.audit(Target("cleaning", new.id, after=cleaning_view(row)))
    cleaning_emit(work, row)
    work.signal(nodes.node_topic(node_id))
    work.signal(CLEANING_TOPIC)
    return Answer(cleaning_view(row), 201)


async def _acted_on(work: Work, cleaning_id: str, action: CleaningAction) -> tuple[Record, Node]:
    """A cleaning and its node, held, if an operator can do this about it now."""
    work.require(Permission.NODE_MANAGE, PLATFORM)
    row, node = await cleaning_held(work, cleaning_id)
    possible = cleaning_view(row).next_actions
    if action not in possible or node is None:
        names = ", ".join(possible) or "nothing"
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            f"The cleaning is {row['status'].replace('_', ' ')}; what can be done now: {names}.",
            context={"status": row["status"]},
        )
    return row, node
