"""One instance under its lock: loaded, changed in memory by the rules, saved once at the end.

Every change to an instance, its members or its queue goes through a `Scene`, so that locks are
always taken in one order: instance, operations, allocations. Called by the services of this room.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.states import InstanceStatus, MemberStatus, OperationStatus
from gpuaas_platform.apps import rules, transitions
from gpuaas_platform.apps.rows import ACTIVE, InstanceRow, MemberRow, OperationRow
from gpuaas_platform.apps.store import instances, operations
from gpuaas_platform.apps.transitions import Cause
from gpuaas_platform.capacity import allocations
from gpuaas_platform.kernel.problems import PlatformError, not_found
from gpuaas_platform.kernel.work import Work


class Scene:
    """What one mutation sees and changes of one instance."""

    def __init__(self, work: Work, instance: InstanceRow, members: Iterable[MemberRow]) -> None:
        self.work = work
        self.instance = instance
        self.members = {row.id: row for row in members}
        self.operations: dict[str, OperationRow] = {}
        self.cause = Cause(work.call.correlation_id)
        self._instance_was = instance
        self._members_were = dict(self.members)
        self._operations_were: dict[str, OperationRow] = {}
        self._told: set[str] = set()
        self._queue_changed = False
        self._worked = False

    @property
    def live(self) -> list[MemberRow]:
        """Members that are not removed."""
        return [row for row in self.members.values() if row.live]

    def caused_by(self, row: OperationRow) -> None:
        """From here on, changes belong to this operation."""
        self.cause = Cause(row.correlation_id, row.id)

    def instance_move(self, target: InstanceStatus) -> None:
        """Change the instance's state."""
        self.instance = transitions.instance_moved(self.work, self.instance, target, self.cause)
        self._told.add(self.instance.id)

    def instance_change(self, **changes: Any) -> None:  # noqa: ANN401 - columns of any type
        """Change anything but the state of the instance."""
        self.instance = replace(self.instance, **changes)

    def member_move(self, member_id: str, target: MemberStatus) -> None:
        """Change a member's state."""
        row = self.member(member_id)
        moved = transitions.member_moved(self.work, self.instance.app_slug, row, target, self.cause)
        self.members[member_id] = moved
        self._told.add(member_id)

    def member_change(self, member_id: str, **changes: Any) -> None:  # noqa: ANN401 - columns of any type
        """Change anything but the state of a member."""
        self.members[member_id] = replace(self.member(member_id), **changes)

    def member(self, member_id: str) -> MemberRow:
        """A live member, or a tombstone this mutation made."""
        if member_id not in self.members:
            raise not_found("member", member_id)
        return self.members[member_id]

    async def member_add(self, row: MemberRow) -> None:
        """Take in a new member."""
        await instances.member_insert(self.work.conn, row)
        self.members[row.id] = self._members_were[row.id] = row
        self._member_tell(row, "requested")

    async def operation_add(self, row: OperationRow) -> None:
        """Put a new operation at the end of the queue."""
        await operations.operation_insert(self.work.conn, row)
        self.operation_known(row)
        transitions.operation_tell(self.work, row, "requested", {})
        self._queue_changed = True

    async def operation(self, operation_id: str) -> OperationRow:
        """One operation of this instance, locked."""
        if operation_id not in self.operations:
            row = await operations.operation_lock(self.work.conn, operation_id)
            if row is None or row.instance_id != self.instance.id:
                raise not_found("operation", operation_id)
            self.operation_known(row)
        return self.operations[operation_id]

    def operation_known(self, row: OperationRow) -> None:
        """Take in an operation that is locked already."""
        self.operations[row.id] = row
        self._operations_were[row.id] = row

    def operation_move(
        self,
        operation_id: str,
        target: OperationStatus,
        why: str = "",
        **changes: Any,  # noqa: ANN401 - columns of any type
    ) -> None:
        """Change an operation's state (and what changes with it)."""
        row = self.operations[operation_id]
        self.operations[operation_id] = transitions.operation_moved(
            self.work, row, target, why, **changes
        )
        self._queue_changed = True
        self.work_note()

    def operation_again(self, operation_id: str) -> None:
        """Put a failed operation into its old place in the queue, with one attempt more."""
        row = self.operations[operation_id]
        attempt = row.attempt + 1
        self.operation_move(
            row.id,
            OperationStatus.REQUESTED,
            why="retry",
            attempt=attempt,
            max_attempts=max(row.max_attempts, attempt),
            not_before=self.work.now,
            cancel_requested=False,
        )

    def operation_change(self, operation_id: str, **changes: Any) -> None:  # noqa: ANN401 - columns of any type
        """Change anything but the state of an operation."""
        self.operations[operation_id] = replace(self.operations[operation_id], **changes)

    def work_note(self) -> None:
        """An operation moved or said what is true: what an observer saw before it is old."""
        self._worked = True

    def wake_claims(self) -> None:
        """Something of this instance can be claimed now."""
        claims_wake(self.work, self.instance)

    async def save(self) -> None:
        """Write what changed, free machines whose members are gone, let the next ones run."""
        await self._allocations_follow()
        self._instance_save_prepare()
        work = self.work
        for row in self.operations.values():
            if row != self._operations_were[row.id]:
                revision = await operations.operation_save(work.conn, row)
                self.operations[row.id] = replace(row, revision=revision)
                work.signal(f"operation:{row.id}")
        for row_id, member in self.members.items():
            if member != self._members_were.get(row_id):
                if row_id not in self._told:
                    self._member_tell(member, "updated")
                revision = await instances.member_save(
                    work.conn, replace(member, updated_at=work.now)
                )
                self.members[row_id] = replace(member, revision=revision)
        await self._instance_save()
        if self._queue_changed:
            await self._queue_advance()
        work.signal(f"instance:{self.instance.id}")

    async def _instance_save(self) -> None:
        """Write the instance; that its operations moved is no change of its own anybody reads."""
        changed = self.instance != self._instance_was
        if self._worked:
            self.instance = replace(self.instance, worked=self.instance.worked + 1)
        if changed:
            revision = await instances.instance_save(self.work.conn, self.instance)
            self.instance = replace(self.instance, revision=revision)
        elif self._worked:
            await instances.worked_save(self.work.conn, self.instance)

    async def _queue_advance(self) -> None:
        """Let run what nothing stands before any more, and wake the controllers for it."""
        ready = rules.newly_ready(await operations.queue_read(self.work.conn, self.instance.id))
        if ready:
            await operations.operations_make_ready(self.work.conn, ready)
            for operation_id in ready:
                self.work.signal(f"operation:{operation_id}")
        open_again = any(
            row.status is OperationStatus.REQUESTED and row.ready
            for row in self.operations.values()
        )
        if ready or open_again:
            claims_wake(self.work, self.instance)

    def _member_tell(self, row: MemberRow, what: str) -> None:
        told = transitions.Told(what, self.cause, {})
        transitions.member_tell(self.work, self.instance.app_slug, row, told)

    def _instance_save_prepare(self) -> None:
        if self.instance == self._instance_was:
            return
        if self.instance.id not in self._told:
            transitions.instance_tell(self.work, self.instance, "updated", self.cause, {})
        self.instance = replace(self.instance, updated_at=self.work.now)

    async def _allocations_follow(self) -> None:
        """Free machines that lost their last live member; set aside those not verified clean."""
        held = {row.allocation_id for row in self.live}
        gone = {
            row.allocation_id
            for row in self.members.values()
            if not row.live and self._members_were[row.id].live
        }
        if gone - held:
            await allocations.allocations_unbind(self.work, sorted(gone - held))
        blocked = {
            row.allocation_id
            for row in self.live
            if row.status is MemberStatus.CLEANUP_BLOCKED
            and self._members_were[row.id].status is not MemberStatus.CLEANUP_BLOCKED
        }
        if blocked:
            why = f"What is left of the instance {self.instance.resource_name} is not verified."
            await allocations.allocations_block(self.work, sorted(blocked), why)


async def scene_open(work: Work, instance_id: str) -> Scene:
    """Lock an instance and load its live members. Whoever calls authorises next."""
    instance = await instances.instance_lock(work.conn, instance_id)
    if instance is None:
        raise not_found("app instance", instance_id)
    return Scene(work, instance, await instances.members_live(work.conn, [instance_id]))


def gone_refuse(scene: Scene) -> None:
    """Nothing is added to an instance that is being taken down."""
    if scene.instance.status in rules.GONE:
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            f"The instance {scene.instance.resource_name} is {scene.instance.status}; nothing else"
            " can be asked of it.",
            context={
                "app_instance_id": scene.instance.id,
                "status": scene.instance.status,
                "operation_id": scene.instance.last_operation_id or "",
            },
        )


def claims_wake(work: Work, instance: InstanceRow) -> None:
    """Wake controllers that wait for work of this instance."""
    work.signal(f"claim:{instance.app_slug}")
    work.signal(f"claim:{instance.app_slug}:{instance.project_id}")


def working(rows: Iterable[OperationRow]) -> list[OperationRow]:
    """Those a controller holds right now."""
    return [row for row in rows if row.status in ACTIVE]
