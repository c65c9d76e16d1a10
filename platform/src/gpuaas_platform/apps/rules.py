"""Pure rules of the queue and of recovery: who may run next, when again, which ways out.

Called by the services of this room with rows and the time. Imports no I/O.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from gpuaas_contract.apps import ConditionType, GroupStatus, NextAction, Way
from gpuaas_contract.states import InstanceStatus, MemberStatus, OperationStatus
from gpuaas_platform.apps.rows import ACTIVE, OPEN, InstanceRow, MemberRow, OperationRow, Waiting

_MAX_BACKOFF: Final = timedelta(minutes=30)
GONE: Final = frozenset({InstanceStatus.DELETING, InstanceStatus.DELETED})


def newly_ready(queue: Sequence[Waiting]) -> list[str]:
    """Which operations of one instance may now be claimed, in the order of the queue.

    Two operations are in each other's way when one is exclusive or both act on one member; the
    earlier goes first, and nothing starts beside what runs. What is ready already counts as
    running: it may be claimed at any moment. An operation whose predecessor has not succeeded
    sleeps: it neither starts nor stands in anybody's way.
    """
    awake = [one for one in queue if _predecessor_done(one)]
    holders = [one for one in awake if _holds_place(one)]
    in_the_way = _Crowd(holders)
    groups: Counter[str | None] = Counter(one.group_id for one in holders)
    found: list[str] = []
    for one in awake:
        if _holds_place(one):
            continue
        room = one.group_id is None or groups[one.group_id] < one.parallelism
        if room and not in_the_way.blocks(one):
            found.append(one.id)
            groups[one.group_id] += 1
        in_the_way.join(one)
    return found


class _Crowd:
    """Operations that come before: asked whether one of them is in somebody's way."""

    def __init__(self, members: Sequence[Waiting]) -> None:
        self._size = 0
        self._exclusive = False
        self._busy: set[str] = set()
        for one in members:
            self.join(one)

    def join(self, one: Waiting) -> None:
        self._size += 1
        self._exclusive = self._exclusive or one.exclusive
        self._busy |= one.member_ids

    def blocks(self, one: Waiting) -> bool:
        if one.exclusive:
            return self._size > 0
        return self._exclusive or bool(self._busy & one.member_ids)


def backoff(base_seconds: float, attempt: int) -> timedelta:
    """How long to wait before the attempt after this one: doubling, with an end."""
    doubled = timedelta(seconds=base_seconds * 2 ** min(max(0, attempt - 1), 20))
    return min(doubled, _MAX_BACKOFF)


def operation_ways(row: OperationRow) -> list[NextAction]:
    """The ways out of an operation's present state."""
    ways: list[NextAction] = []
    if row.status in OPEN and row.cancellable and not row.cancel_requested:
        ways.append(NextAction(action=Way.CANCEL, operation_id=row.id))
    if row.status is OperationStatus.FAILED:
        why = "" if row.error is None else str(row.error["message"])
        ways.append(NextAction(action=Way.RETRY, operation_id=row.id, reason=why))
        ways.append(NextAction(action=Way.RECONCILE, reason="Observe what is there and converge."))
    stuck = condition_get(row.conditions, ConditionType.STUCK) is not None
    if row.status is OperationStatus.FAILED or (row.status in OPEN and (row.began or stuck)):
        ways.append(
            NextAction(
                action=Way.ABANDON,
                operation_id=row.id,
                reason="Last resort: machines not verified clean stay aside.",
            )
        )
    return ways


def instance_ways(row: InstanceRow, last: OperationRow | None) -> list[NextAction]:
    """The ways out of an instance's present state."""
    ways: list[NextAction] = []
    if last is not None and (last.status is OperationStatus.FAILED or last.status in OPEN):
        ways += operation_ways(last)
    absent = condition_get(row.conditions, ConditionType.CONTROLLER_ABSENT)
    if absent is not None:
        ways.append(NextAction(action=Way.START_CONTROLLER, reason=absent["message"]))
    troubled = row.status in {InstanceStatus.FAILED, InstanceStatus.DEGRADED} or bool(
        set(_types(row.conditions)) - {ConditionType.CONTROLLER_ABSENT}
    )
    if troubled and row.status not in GONE and not any(w.action is Way.RECONCILE for w in ways):
        ways.append(NextAction(action=Way.RECONCILE, reason="Observe what is there and converge."))
    if row.status in {InstanceStatus.FAILED, InstanceStatus.CLEANUP_BLOCKED}:
        ways.append(NextAction(action=Way.DELETE, reason="Take down what is left."))
    return ways


def member_ways(row: MemberRow) -> list[NextAction]:
    """The ways out of a member's present state."""
    if row.status is MemberStatus.CLEANUP_BLOCKED:
        return [
            NextAction(
                action=Way.RECONCILE,
                member_id=row.id,
                reason="The machine is set aside until the app states that nothing is left on it.",
            )
        ]
    if row.status in {MemberStatus.FAILED, MemberStatus.DEGRADED} or row.conditions:
        return [NextAction(action=Way.RECONCILE, member_id=row.id)]
    return []


def group_status(counts: Mapping[OperationStatus, int]) -> GroupStatus:
    """The whole of a group from its parts."""
    total = sum(counts.values())
    if any(counts.get(status, 0) for status in OPEN):
        return GroupStatus.IN_PROGRESS
    if counts.get(OperationStatus.SUCCEEDED, 0) == total:
        return GroupStatus.SUCCEEDED
    if counts.get(OperationStatus.CANCELLED, 0) == total:
        return GroupStatus.CANCELLED
    if counts.get(OperationStatus.SUCCEEDED, 0):
        return GroupStatus.PARTLY_FAILED
    return GroupStatus.FAILED


def condition_get(conditions: Iterable[dict[str, Any]], kind: str) -> dict[str, Any] | None:
    """The condition of this type, if it holds."""
    return next((one for one in conditions if one["type"] == kind), None)


def condition_set(
    conditions: Sequence[dict[str, Any]], new: dict[str, Any], now: datetime
) -> list[dict[str, Any]]:
    """The conditions with this one; one that holds already keeps its `since`."""
    held = condition_get(conditions, new["type"])
    since = stamp(now) if held is None else held["since"]
    rest = [one for one in conditions if one["type"] != new["type"]]
    return [*rest, {"reason": "", "message": "", "next_action": "", **new, "since": since}]


def condition_clear(conditions: Sequence[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """The conditions without this one."""
    return [one for one in conditions if one["type"] != kind]


def stamp(now: datetime) -> str:
    """A moment as it is kept inside JSON, written as every answer writes it."""
    return now.isoformat().replace("+00:00", "Z")


def _holds_place(one: Waiting) -> bool:
    return one.status in ACTIVE or one.ready


def _predecessor_done(one: Waiting) -> bool:
    return one.waits_for is None or one.waits_for_status is OperationStatus.SUCCEEDED


def _types(conditions: Iterable[dict[str, Any]]) -> list[str]:
    return [one["type"] for one in conditions]
