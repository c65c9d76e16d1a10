"""Putting members and operations in place: shared by deploy, requests and take-down.

Works on an open `Scene`. Called by the services of this room.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gpuaas_contract.errors import ErrorCode, FieldError
from gpuaas_contract.ids import Prefix
from gpuaas_contract.manifest import OperationSpec
from gpuaas_contract.manifest_read import Seat
from gpuaas_contract.states import MemberStatus, OperationStatus
from gpuaas_platform.apps.making import member_new
from gpuaas_platform.apps.rows import ACTIVE, OperationRow
from gpuaas_platform.apps.scene import Scene
from gpuaas_platform.apps.store import operations
from gpuaas_platform.kernel.problems import PlatformError


@dataclass(frozen=True)
class Group:
    """Operations asked for together."""

    kind: str
    size: int
    parallelism: int

    @classmethod
    def of(cls, spec: OperationSpec, size: int, parallelism: int | None = None) -> "Group":
        """A group of this size, as wide as the app allows and the person asked."""
        widest = 1 if spec.group is None else spec.group.max_parallel
        return cls(spec.kind, size, min(widest, parallelism or widest))


async def group_add(scene: Scene, group: Group) -> str | None:
    """A group for more than one operation; its id, or None when there is no need."""
    if group.size < 2:
        return None
    work, row = scene.work, scene.instance
    group_id = work.new_id(Prefix.OPERATION_GROUP)
    await operations.group_insert(
        work.conn,
        {
            "id": group_id,
            "instance_id": row.id,
            "org_id": row.org_id,
            "project_id": row.project_id,
            "kind": group.kind,
            "parallelism": group.parallelism,
            "correlation_id": work.call.correlation_id,
            "requested_by": work.call.caller.id,
            "requested_at": work.now,
        },
    )
    return group_id


async def member_place(scene: Scene, seat: Seat, *, shared: bool) -> str:
    """Make a member on an allocation that is bound already; whoever shares it now says so."""
    if shared:
        for other in scene.live:
            if other.allocation_id == seat.allocation_id:
                scene.member_change(other.id, shares_allocation=True)
    member = member_new(scene.work, scene.instance, seat, shared=shared)
    await scene.member_add(member)
    return member.id


def input_require(errors: Sequence[FieldError], prefix: str) -> None:
    """The input matches the app's schema, or every place where it does not."""
    if errors:
        raise PlatformError(
            ErrorCode.INVALID_INPUT,
            f"{prefix}{errors[0].pointer}: {errors[0].message}",
            errors=[
                FieldError(pointer=f"{prefix}{one.pointer}", message=one.message) for one in errors
            ],
        )


async def queue_supersede(scene: Scene) -> None:
    """End what waits in the queue and ask what runs to stop: the instance is going."""
    for row in await operations.operations_open_lock(scene.work.conn, scene.instance.id):
        scene.operation_known(row)
        if row.status in ACTIVE:
            scene.operation_change(row.id, cancel_requested=True, superseded=True)
        else:
            scene.operation_move(row.id, OperationStatus.CANCELLED, superseded=True)
            never_begun_remove(scene, row)


async def dependents_cancel(scene: Scene, operation_id: str) -> None:
    """What waited for an operation that will never succeed is cancelled with it."""
    for row in await operations.dependents_lock(scene.work.conn, operation_id):
        scene.operation_known(row)
        scene.operation_move(row.id, OperationStatus.CANCELLED)
        never_begun_remove(scene, row)


def never_begun_remove(scene: Scene, row: OperationRow) -> None:
    """A member whose adding never began is gone with it: nothing was done on its machine."""
    if row.began:
        return
    for member_id in row.member_ids:
        member = scene.members.get(member_id)
        if member is not None and member.status is MemberStatus.REQUESTED:
            scene.member_move(member_id, MemberStatus.REMOVING)
            scene.member_move(member_id, MemberStatus.REMOVED)
