"""Reads of this room: lists, single things, and waiting for them to change.

State decides, signals only wake: whoever waits reads before and after. Called by the routes.
"""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from gpuaas_contract.apps import AppInstance, Member, Operation, OperationGroup, Requested
from gpuaas_contract.common import Page
from gpuaas_contract.manifest import Manifest
from gpuaas_contract.permissions import Permission
from gpuaas_platform.apps import views
from gpuaas_platform.apps.rows import InstanceRow
from gpuaas_platform.apps.scene import Scene
from gpuaas_platform.apps.store import instances, operations
from gpuaas_platform.apps.store.instances import InstanceFilter, MemberFilter
from gpuaas_platform.apps.store.operations import OperationFilter
from gpuaas_platform.apps.versions import manifest_of
from gpuaas_platform.identity.places import project_place
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.database import Connection
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import not_found
from gpuaas_platform.kernel.work import Answer

T = TypeVar("T", AppInstance, Operation)
_LOOK_AGAIN_SECONDS = 5.0


@dataclass(frozen=True)
class Wait:
    """How long to wait for something newer than a revision."""

    seconds: float
    after_revision: int | None


async def instance_list(
    call: Call, wanted: InstanceFilter, cursor: str | None, limit: int
) -> Page[AppInstance]:
    """Instances in reach, newest first.

    Those of an app that asks for more than the platform's own keys are left out of the page for a
    caller who does not hold them; the page may then be shorter and still have a next one.
    """
    async with call.db.connection() as conn:
        if wanted.project_id is not None:
            await _project_require(call, conn, wanted.project_id, Permission.INSTANCE_READ)
        rows = await instances.instance_list(conn, wanted, cursor_decode(cursor), limit + 1)
        page = page_of(rows, limit, lambda one: one.id)
        found = await _instance_views(call, conn, page.items)
    return Page[AppInstance].model_construct(items=found, next_cursor=page.next_cursor)


async def instance_read(call: Call, instance_id: str, wait: Wait) -> AppInstance:
    """One instance; waits until it is newer than the revision the caller knows."""

    async def look() -> AppInstance:
        async with call.db.connection() as conn:
            row = await instances.instance_read(conn, instance_id)
            if row is None:
                raise not_found("app instance", instance_id)
            call.caller.require(Permission.INSTANCE_READ, row.place)
            manifest = await manifest_of(call.platform, conn, row.app_slug, row.app_version)
            for permission in manifest.permissions.read:
                call.caller.require(permission, row.place)
            return (await _instance_views(call, conn, [row]))[0]

    return await _newer(call, f"instance:{instance_id}", look, wait)


async def member_list(
    call: Call, wanted: MemberFilter, cursor: str | None, limit: int
) -> Page[Member]:
    """Members of an instance, newest first."""
    async with call.db.connection() as conn:
        await _instance_require(call, conn, wanted.instance_id, Permission.INSTANCE_READ)
        rows = await instances.member_list(conn, wanted, cursor_decode(cursor), limit + 1)
    return page_of([views.member_view(row) for row in rows], limit, lambda one: one.id)


async def member_read(call: Call, member_id: str) -> Member:
    """One member, also a removed one."""
    async with call.db.connection() as conn:
        row = await instances.member_read(conn, member_id)
    if row is None:
        raise not_found("member", member_id)
    call.caller.require(Permission.INSTANCE_READ, row.place)
    return views.member_view(row)


async def operation_list(
    call: Call, wanted: OperationFilter, cursor: str | None, limit: int
) -> bytes:
    """Operations in reach, newest first: a page, encoded."""
    async with call.db.connection() as conn:
        if wanted.project_id is not None:
            await _project_require(call, conn, wanted.project_id, Permission.OPERATION_READ)
        if wanted.instance_id is not None:
            await _instance_require(call, conn, wanted.instance_id, Permission.OPERATION_READ)
        rows = await operations.operation_list(conn, wanted, cursor_decode(cursor), limit + 1)
    return views.page_json(rows, limit)


async def operation_read(call: Call, operation_id: str, wait: Wait) -> Operation:
    """One operation; waits until it is newer than the revision the caller knows."""

    async def look() -> Operation:
        async with call.db.connection() as conn:
            row = await operations.operation_read(conn, operation_id)
        if row is None:
            raise not_found("operation", operation_id)
        call.caller.require(Permission.OPERATION_READ, row.place)
        return views.operation_view(row)

    return await _newer(call, f"operation:{operation_id}", look, wait)


async def group_read(call: Call, group_id: str) -> OperationGroup:
    """One group with all its operations."""
    async with call.db.connection() as conn:
        group = await operations.group_read(conn, group_id)
        if group is None:
            raise not_found("operation group", group_id)
        place = Place(group["org_id"], group["project_id"])
        call.caller.require(Permission.OPERATION_READ, place)
        wanted = OperationFilter(call.caller.reach(Permission.OPERATION_READ), group_id=group_id)
        rows = await operations.operation_list(conn, wanted, None, 1000)
    return views.group_view(group, rows[::-1])


async def requested_answer(
    scene: Scene, manifest: Manifest, ids: Sequence[str], topology_before: str | None = None
) -> Answer[Requested]:
    """The answer to a request for long work: 202, with what it became."""
    conn = scene.work.conn
    rows = await operations.operations_read(conn, ids)
    asked = [views.operation_view(rows[one]) for one in ids]
    last_id = scene.instance.last_operation_id
    last = None if last_id is None else await operations.operation_read(conn, last_id)
    changed = topology_before not in {None, scene.instance.topology}
    body = Requested(
        instance=views.instance_view(scene.instance, manifest, last),
        operation=asked[0],
        operations=asked,
        group_id=next((one.group_id for one in asked if one.group_id is not None), None),
        topology_changed_from=topology_before if changed else None,
    )
    location = f"/api/v1/operations/{asked[0].id}"
    return Answer(body, 202, {"Location": location})


async def _instance_views(
    call: Call, conn: Connection, rows: Sequence[InstanceRow]
) -> list[AppInstance]:
    ids = [row.last_operation_id for row in rows if row.last_operation_id is not None]
    last = await operations.operations_read(conn, ids) if ids else {}
    shown = []
    for row in rows:
        manifest = await manifest_of(call.platform, conn, row.app_slug, row.app_version)
        if all(call.caller.allows(key, row.place) for key in manifest.permissions.read):
            found = last.get(row.last_operation_id or "")
            shown.append(views.instance_view(row, manifest, found))
    return shown


async def _newer(call: Call, topic: str, look: Callable[[], Awaitable[T]], wait: Wait) -> T:
    """Look until there is something newer, or the time is up."""
    until = time.monotonic() + wait.seconds
    while True:
        with call.platform.signals.expect(topic) as expected:
            found = await look()
            left = until - time.monotonic()
            if wait.after_revision is None or found.revision > wait.after_revision or left <= 0:
                return found
            await expected.wait(min(left, _LOOK_AGAIN_SECONDS))
            if call.platform.signals.finishing:
                return found


async def _project_require(
    call: Call, conn: Connection, project_id: str, permission: Permission
) -> None:
    call.caller.require(permission, await project_place(conn, project_id))


async def _instance_require(
    call: Call, conn: Connection, instance_id: str, permission: Permission
) -> None:
    row = await instances.instance_read(conn, instance_id)
    if row is None:
        raise not_found("app instance", instance_id)
    call.caller.require(permission, row.place)
