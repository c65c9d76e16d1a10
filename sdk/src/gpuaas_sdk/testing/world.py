"""What the in-memory platform holds, and the only place where its states move.

The contract's tables are enforced; models are replaced, never changed, so a refused request is
undone by putting the old dictionaries back. Used by the modules of this kit alone.
"""

import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from gpuaas_contract.apps import AppInstance, Member, Operation
from gpuaas_contract.common import Condition
from gpuaas_contract.errors import ErrorCode, FieldError
from gpuaas_contract.manifest import Manifest, OperationSpec
from gpuaas_contract.states import (
    INSTANCE,
    MEMBER,
    OPERATION,
    InstanceStatus,
    MemberStatus,
    OperationStatus,
    StateMachine,
)

ACTIVE: Final = frozenset({OperationStatus.ACCEPTED, OperationStatus.RUNNING})
OPEN: Final = ACTIVE | {OperationStatus.REQUESTED}
GONE: Final = frozenset({InstanceStatus.DELETING, InstanceStatus.DELETED})
_LEAVING: Final = frozenset(
    {
        MemberStatus.REMOVING,
        MemberStatus.REMOVED,
        MemberStatus.CLEANUP_BLOCKED,
        MemberStatus.FAILED,
    }
)


class Refused(Exception):
    """The in-memory platform refuses a request, with one of the contract's codes."""

    def __init__(self, code: ErrorCode, detail: str, errors: Iterable[FieldError] = ()) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
        self.errors = list(errors)


class FakeClock:
    """A clock that moves only when told to."""

    def __init__(self) -> None:
        self._now = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        """The time; each look is a millisecond later, so that order is visible."""
        self._now += timedelta(milliseconds=1)
        return self._now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now += timedelta(seconds=seconds)


@dataclass(frozen=True)
class Hidden:
    """What the platform knows of an operation and does not show."""

    token: str | None = None
    began: bool = False
    superseded: bool = False
    fence: int = 0
    parallelism: int = 1


@dataclass(frozen=True)
class Watcher:
    """Who observes an instance."""

    holder: str
    token: str
    until: datetime


@dataclass
class World:
    """Everything there is."""

    manifests: dict[tuple[str, str], Manifest]
    clock: FakeClock = field(default_factory=FakeClock)
    instances: dict[str, AppInstance] = field(default_factory=dict)
    members: dict[str, Member] = field(default_factory=dict)
    operations: dict[str, Operation] = field(default_factory=dict)
    hidden: dict[str, Hidden] = field(default_factory=dict)
    watchers: dict[str, Watcher] = field(default_factory=dict)
    worked: dict[str, int] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of it, or nothing."""
        names = ("instances", "members", "operations", "hidden", "watchers", "worked")
        before = {name: dict(getattr(self, name)) for name in names}
        try:
            yield
            for instance_id in self.instances:
                self._ready(instance_id)
        except BaseException:
            for name, held in before.items():
                setattr(self, name, held)
            raise

    def new_id(self, prefix: str) -> str:
        """An id that sorts by its making."""
        return f"{prefix}_{next(self._numbers):026d}"

    def manifest(self, instance: AppInstance) -> Manifest:
        """The manifest of an instance's version."""
        return self.manifests[instance.app_slug, instance.app_version]

    def spec(self, operation: Operation) -> OperationSpec | None:
        """The operation's entry in the manifest."""
        return self.manifest(self.instance(operation.instance_id)).operation(operation.kind)

    def instance(self, instance_id: str) -> AppInstance:
        """An instance."""
        if instance_id not in self.instances:
            raise Refused(ErrorCode.NOT_FOUND, f"There is no app instance {instance_id}.")
        return self.instances[instance_id]

    def operation(self, operation_id: str) -> Operation:
        """An operation."""
        if operation_id not in self.operations:
            raise Refused(ErrorCode.NOT_FOUND, f"There is no operation {operation_id}.")
        return self.operations[operation_id]

    def live(self, instance_id: str) -> list[Member]:
        """Members that are not removed, oldest first."""
        return [
            one
            for one in self.members.values()
            if one.instance_id == instance_id and one.status is not MemberStatus.REMOVED
        ]

    def queue(self, instance_id: str) -> list[Operation]:
        """Open operations of an instance, in order."""
        return [
            one
            for one in self.operations.values()
            if one.instance_id == instance_id and one.status in OPEN
        ]

    def change_instance(self, instance_id: str, **changes: Any) -> None:  # noqa: ANN401 - fields of any type
        """Change anything but the state of an instance."""
        self.instances[instance_id] = _changed(self.instance(instance_id), changes, self.clock)

    def change_member(self, member_id: str, **changes: Any) -> None:  # noqa: ANN401 - fields of any type
        """Change anything but the state of a member."""
        if member_id not in self.members:
            raise Refused(ErrorCode.NOT_FOUND, f"There is no member {member_id}.")
        self.members[member_id] = _changed(self.members[member_id], changes, self.clock)

    def change_operation(self, operation_id: str, **changes: Any) -> None:  # noqa: ANN401 - fields of any type
        """Change anything but the state of an operation."""
        row = self.operation(operation_id)
        changes.setdefault("revision", row.revision + 1)
        self.operations[operation_id] = row.model_copy(update=changes)

    def work_note(self, instance_id: str) -> None:
        """An operation moved or said what is true: what an observer saw before it is old."""
        self.worked[instance_id] = self.worked.get(instance_id, 0) + 1

    def hide(self, operation_id: str, **changes: Any) -> None:  # noqa: ANN401 - fields of any type
        """Change what is not shown of an operation."""
        held = {**vars(self.hidden[operation_id]), **changes}
        self.hidden[operation_id] = Hidden(**held)

    def move_instance(self, instance_id: str, target: InstanceStatus) -> None:
        """Change the state of an instance."""
        row = self.instance(instance_id)
        _require(INSTANCE, row.id, row.status, target)
        ended = self.clock.now() if target is InstanceStatus.DELETED else None
        self.change_instance(instance_id, status=target, deleted_at=ended)

    def move_member(self, member_id: str, target: MemberStatus) -> None:
        """Change the state of a member. What is put in place again is not absent."""
        if member_id not in self.members:
            raise Refused(ErrorCode.NOT_FOUND, f"There is no member {member_id}.")
        row = self.members[member_id]
        _require(MEMBER, row.id, row.status, target)
        gone = self.clock.now() if target is MemberStatus.REMOVED else None
        absence = row.absence if target in _LEAVING else None
        self.change_member(member_id, status=target, removed_at=gone, absence=absence)

    def move_operation(
        self,
        operation_id: str,
        target: OperationStatus,
        **changes: Any,  # noqa: ANN401 - fields of any type
    ) -> None:
        """Change the state of an operation. Without a holder there is no lease."""
        row = self.operation(operation_id)
        _require(OPERATION, row.id, row.status, target)
        ended = not OPERATION.table[target] or target is OperationStatus.FAILED
        values: dict[str, Any] = {"ended_at": self.clock.now() if ended else None}
        if target not in ACTIVE:
            values["lease"] = None
            self.hide(operation_id, token=None)
        if target is not OperationStatus.REQUESTED:
            values["ready"] = False
        self.change_operation(operation_id, status=target, **(values | changes))
        self.work_note(row.instance_id)

    def _ready(self, instance_id: str) -> None:
        """Which operations may be claimed: nothing starts beside what stands in its way."""
        queue = [one for one in self.queue(instance_id) if self._awake(one)]
        before = [one for one in queue if one.status in ACTIVE or one.ready]
        holding = {one.id for one in before}
        groups = [one.group_id for one in before]
        for one in queue:
            if one.id in holding:
                continue
            full = one.group_id is not None and (
                groups.count(one.group_id) >= self.hidden[one.id].parallelism
            )
            if not full and not any(in_the_way(one, other) for other in before):
                self.change_operation(one.id, ready=True, revision=one.revision)
                groups.append(one.group_id)
            before.append(one)

    def _awake(self, one: Operation) -> bool:
        if one.waits_for is None:
            return True
        return self.operations[one.waits_for].status is OperationStatus.SUCCEEDED


def in_the_way(one: Operation, other: Operation) -> bool:
    """Whether two operations of an instance may not run at the same time."""
    return one.exclusive or other.exclusive or bool(targets(one) & targets(other))


def targets(operation: Operation) -> set[str]:
    """The members an operation acts on."""
    return {one for one in (operation.member_id, operation.new_member_id) if one is not None}


def without(conditions: Iterable[Condition], kinds: Iterable[str]) -> list[Condition]:
    """The conditions but those of these types."""
    dropped = set(kinds)
    return [one for one in conditions if one.type not in dropped]


def _changed(row: Any, changes: dict[str, Any], clock: FakeClock) -> Any:  # noqa: ANN401 - instance or member
    return row.model_copy(
        update={"revision": row.revision + 1, "updated_at": clock.now(), **changes}
    )


def _require(machine: StateMachine, identity: str, source: str, target: str) -> None:
    if not machine.allows(source, target):
        raise Refused(
            ErrorCode.STATE_CONFLICT,
            f"The {machine.name} {identity} is {source} and cannot become {target}.",
        )
