"""Routes of app instances, members and operations, as people and automation use them."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field

from gpuaas_contract.apps import (
    AppInstance,
    Controller,
    InstanceCreate,
    InstanceUpdate,
    Member,
    Operation,
    OperationCreate,
    OperationGroup,
    Preview,
    ReasonGiven,
    Requested,
)
from gpuaas_contract.common import MAX_PAGE, Input, Page
from gpuaas_contract.permissions import Permission
from gpuaas_contract.states import InstanceStatus, MemberStatus, OperationStatus
from gpuaas_platform.apps import controllers, deploying, instances, operations, reads, recovery
from gpuaas_platform.apps.reads import Wait
from gpuaas_platform.apps.store.instances import InstanceFilter, MemberFilter
from gpuaas_platform.apps.store.operations import OperationFilter
from gpuaas_platform.kernel.call import Call, CallDep
from gpuaas_platform.kernel.etag import etag_headers
from gpuaas_platform.kernel.paging import ANY_OF
from gpuaas_platform.kernel.waiting import WaitFor, wait_seconds
from gpuaas_platform.kernel.work import mutate

router = APIRouter(tags=["apps"])

Id = Annotated[str, Path(max_length=64)]
After = Annotated[int | None, Query(ge=0, description="The revision the caller knows")]
Word = Annotated[str | None, Field(max_length=128)]


class Paged(Input):
    """Where a list goes on, and how long a page is."""

    cursor: Annotated[
        str | None, Field(max_length=500, description="`next_cursor` of the page before")
    ] = None
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="Items per page at most")] = 50


class InstanceQuery(Paged):
    """Filters of instances."""

    app_slug: Word = None
    status: Annotated[list[InstanceStatus], ANY_OF]
    search: Annotated[
        str | None, Field(max_length=128, description="Part of the app's one-line summary")
    ] = None


class MemberQuery(Paged):
    """Filters of members."""

    component_key: Word = None
    status: Annotated[list[MemberStatus], ANY_OF]
    removed: Annotated[bool, Field(description="Tombstones too")] = False


class OperationQuery(Paged):
    """Filters of operations."""

    member_id: Word = None
    group_id: Word = None
    status: Annotated[list[OperationStatus], ANY_OF]
    kind: Word = None
    correlation_id: Word = None


@router.post(
    "/projects/{project_id}/app-instances",
    operation_id="app_instance_create",
    status_code=202,
    response_model=Requested,
)
async def app_instance_create(call: CallDep, project_id: Id, body: InstanceCreate) -> Response:
    """Deploy an app into allocations of a project."""
    handler = partial(deploying.instance_create, project_id=project_id, body=body)
    return await mutate(call, "apps.instance.create", handler)


@router.get("/projects/{project_id}/app-instances", operation_id="app_instance_list")
async def app_instance_list(
    call: CallDep, project_id: Id, query: Annotated[InstanceQuery, Query()]
) -> Page[AppInstance]:
    """Instances of a project, newest first."""
    wanted = _instances(call, query, project_id)
    return await reads.instance_list(call, wanted, query.cursor, query.limit)


@router.get("/app-instances", operation_id="app_instance_list_all")
async def app_instance_list_all(
    call: CallDep, query: Annotated[InstanceQuery, Query()]
) -> Page[AppInstance]:
    """Instances in reach, newest first."""
    wanted = _instances(call, query, None)
    return await reads.instance_list(call, wanted, query.cursor, query.limit)


@router.get("/app-instances/{instance_id}", operation_id="app_instance_read")
async def app_instance_read(
    call: CallDep,
    response: Response,
    instance_id: Id,
    wait: WaitFor = "0s",
    after_revision: After = None,
) -> AppInstance:
    """One instance; with `wait` and `after_revision`, once it has changed."""
    found = await reads.instance_read(call, instance_id, _wait(wait, after_revision))
    response.headers.update(etag_headers(found.revision))
    return found


@router.patch(
    "/app-instances/{instance_id}",
    operation_id="app_instance_update",
    response_model=AppInstance,
)
async def app_instance_update(call: CallDep, instance_id: Id, body: InstanceUpdate) -> Response:
    """Change the label or the settings of an instance."""
    handler = partial(instances.instance_update, instance_id=instance_id, body=body)
    return await mutate(call, "apps.instance.update", handler)


@router.delete(
    "/app-instances/{instance_id}",
    operation_id="app_instance_delete",
    status_code=202,
    response_model=Requested,
)
async def app_instance_delete(call: CallDep, instance_id: Id) -> Response:
    """Ask for an instance to be taken down, with proof that nothing is left."""
    handler = partial(instances.instance_delete, instance_id=instance_id)
    return await mutate(call, "apps.instance.delete", handler)


@router.post(
    "/app-instances/{instance_id}/reconcile",
    operation_id="app_instance_reconcile",
    status_code=202,
    response_model=Requested,
)
async def app_instance_reconcile(call: CallDep, instance_id: Id) -> Response:
    """Ask the app to look at what is there and converge."""
    handler = partial(operations.instance_reconcile, instance_id=instance_id)
    return await mutate(call, "apps.instance.reconcile", handler)


@router.get("/app-instances/{instance_id}/members", operation_id="app_member_list")
async def app_member_list(
    call: CallDep, instance_id: Id, query: Annotated[MemberQuery, Query()]
) -> Page[Member]:
    """Members of an instance, newest first."""
    wanted = MemberFilter(instance_id, query.component_key, query.status, query.removed)
    return await reads.member_list(call, wanted, query.cursor, query.limit)


@router.get("/app-members/{member_id}", operation_id="app_member_read")
async def app_member_read(call: CallDep, response: Response, member_id: Id) -> Member:
    """One member, also a removed one."""
    found = await reads.member_read(call, member_id)
    response.headers.update(etag_headers(found.revision))
    return found


@router.post(
    "/app-instances/{instance_id}/operations",
    operation_id="operation_create",
    status_code=202,
    response_model=Requested,
)
async def operation_create(call: CallDep, instance_id: Id, body: OperationCreate) -> Response:
    """Ask something of an instance or its members; many members make a group."""
    handler = partial(operations.operation_request, instance_id=instance_id, body=body)
    return await mutate(call, "apps.operation.create", handler)


@router.post("/app-instances/{instance_id}/operations/preview", operation_id="operation_preview")
async def operation_preview(call: CallDep, instance_id: Id, body: OperationCreate) -> Preview:
    """Say what a request would do, before it is made."""
    return await operations.operation_preview(call, instance_id, body)


@router.get(
    "/app-instances/{instance_id}/operations",
    operation_id="operation_list",
    response_model=Page[Operation],
)
async def operation_list(
    call: CallDep, instance_id: Id, query: Annotated[OperationQuery, Query()]
) -> Response:
    """Operations of an instance, newest first."""
    wanted = _operations(call, query, None, instance_id)
    page = await reads.operation_list(call, wanted, query.cursor, query.limit)
    return Response(page, media_type="application/json")


@router.get(
    "/projects/{project_id}/operations",
    operation_id="project_operation_list",
    response_model=Page[Operation],
)
async def project_operation_list(
    call: CallDep, project_id: Id, query: Annotated[OperationQuery, Query()]
) -> Response:
    """Operations of a project, newest first."""
    wanted = _operations(call, query, project_id, None)
    page = await reads.operation_list(call, wanted, query.cursor, query.limit)
    return Response(page, media_type="application/json")


@router.get("/operations", operation_id="operation_list_all", response_model=Page[Operation])
async def operation_list_all(call: CallDep, query: Annotated[OperationQuery, Query()]) -> Response:
    """Operations in reach, newest first."""
    wanted = _operations(call, query, None, None)
    page = await reads.operation_list(call, wanted, query.cursor, query.limit)
    return Response(page, media_type="application/json")


@router.get("/operations/{operation_id}", operation_id="operation_read")
async def operation_read(
    call: CallDep,
    response: Response,
    operation_id: Id,
    wait: WaitFor = "0s",
    after_revision: After = None,
) -> Operation:
    """One operation; with `wait` and `after_revision`, once it has changed."""
    found = await reads.operation_read(call, operation_id, _wait(wait, after_revision))
    response.headers.update(etag_headers(found.revision))
    return found


@router.get("/operation-groups/{group_id}", operation_id="operation_group_read")
async def operation_group_read(call: CallDep, group_id: Id) -> OperationGroup:
    """One group with all its operations."""
    return await reads.group_read(call, group_id)


@router.post(
    "/operations/{operation_id}/cancel",
    operation_id="operation_cancel",
    status_code=202,
    response_model=Operation,
)
async def operation_cancel(call: CallDep, operation_id: Id) -> Response:
    """Stop an operation at its next safe point."""
    handler = partial(recovery.operation_cancel, operation_id=operation_id)
    return await mutate(call, "apps.operation.cancel", handler)


@router.post(
    "/operations/{operation_id}/retry",
    operation_id="operation_retry",
    status_code=202,
    response_model=Operation,
)
async def operation_retry(call: CallDep, operation_id: Id) -> Response:
    """Try a failed operation again."""
    handler = partial(recovery.operation_retry, operation_id=operation_id)
    return await mutate(call, "apps.operation.retry", handler)


@router.post(
    "/operations/{operation_id}/abandon",
    operation_id="operation_abandon",
    response_model=Operation,
)
async def operation_abandon(call: CallDep, operation_id: Id, body: ReasonGiven) -> Response:
    """Give an operation up for good; machines not verified clean are set aside."""
    handler = partial(recovery.operation_abandon, operation_id=operation_id, reason=body.reason)
    return await mutate(call, "apps.operation.abandon", handler)


@router.get("/projects/{project_id}/controllers", operation_id="controller_list")
async def controller_list(call: CallDep, project_id: Id) -> list[Controller]:
    """Controllers seen that serve a project."""
    return await controllers.controller_list(call, project_id)


def _instances(call: Call, query: InstanceQuery, project_id: str | None) -> InstanceFilter:
    reach = call.caller.reach(Permission.INSTANCE_READ)
    return InstanceFilter(reach, project_id, query.app_slug, query.status, query.search)


def _operations(
    call: Call, query: OperationQuery, project_id: str | None, instance_id: str | None
) -> OperationFilter:
    return OperationFilter(
        call.caller.reach(Permission.OPERATION_READ),
        project_id,
        instance_id,
        query.member_id,
        query.group_id,
        query.status,
        query.kind,
        query.correlation_id,
    )


def _wait(text: str, after_revision: int | None) -> Wait:
    return Wait(wait_seconds(text), after_revision)
