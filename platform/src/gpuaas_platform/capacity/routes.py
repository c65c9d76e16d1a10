"""Routes of the capacity room."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from gpuaas_contract.capacity import (
    Allocation,
    AllocationCreate,
    Node,
    NodeClean,
    NodeCreate,
    NodeUpdate,
    Quota,
    QuotaSet,
    Region,
    RegionCleaning,
    RegionCleaningSaved,
    RegionCleaningSet,
    RegionCreate,
    Sku,
    SkuCreate,
    SkuUpdate,
)
from gpuaas_contract.common import Page
from gpuaas_contract.states import AllocationStatus
from gpuaas_platform.capacity import allocations, cleaning, service
from gpuaas_platform.kernel.call import CallDep
from gpuaas_platform.kernel.paging import ANY_OF, Cursor, Limit
from gpuaas_platform.kernel.work import mutate

router = APIRouter(tags=["capacity"])
Id = Annotated[str, Path(max_length=64)]


@router.post("/regions", operation_id="region_create", status_code=201, response_model=Region)
async def region_create(call: CallDep, body: RegionCreate) -> Response:
    """Make a region known."""
    return await mutate(call, "capacity.region.create", partial(service.region_create, body=body))


@router.get("/regions", operation_id="region_list")
async def region_list(call: CallDep, cursor: Cursor = None, limit: Limit = 100) -> Page[Region]:
    """List regions by name."""
    return await service.region_list(call, cursor, limit)


@router.get("/regions/{name}/cleaning", operation_id="region_cleaning_read")
async def region_cleaning_read(call: CallDep, name: Id) -> RegionCleaning:
    """Read how the machines of a region are cleaned between tenants."""
    return await cleaning.region_cleaning_read(call, name)


@router.put(
    "/regions/{name}/cleaning",
    operation_id="region_cleaning_set",
    response_model=RegionCleaningSaved,
)
async def region_cleaning_set(call: CallDep, name: Id, body: RegionCleaningSet) -> Response:
    """Set how the machines of a region are cleaned between tenants."""
    return await cleaning.region_cleaning_set(call, name, body)


@router.post("/skus", operation_id="sku_create", status_code=201, response_model=Sku)
async def sku_create(call: CallDep, body: SkuCreate) -> Response:
    """Offer a kind of machine at a price."""
    return await mutate(call, "capacity.sku.create", partial(service.sku_create, body=body))


@router.patch("/skus/{name}", operation_id="sku_update", response_model=Sku)
async def sku_update(call: CallDep, name: Id, body: SkuUpdate) -> Response:
    """Change the price or the label of a kind of machine."""
    return await mutate(
        call, "capacity.sku.update", partial(service.sku_update, name=name, body=body)
    )


@router.get("/skus", operation_id="sku_list")
async def sku_list(call: CallDep, cursor: Cursor = None, limit: Limit = 100) -> Page[Sku]:
    """List SKUs with their prices, by name."""
    return await service.sku_list(call, cursor, limit)


@router.post("/nodes", operation_id="node_create", status_code=201, response_model=Node)
async def node_create(call: CallDep, body: NodeCreate) -> Response:
    """Make an existing host known, with the host keys it must show."""
    return await mutate(call, "capacity.node.create", partial(service.node_create, body=body))


@router.get("/nodes", operation_id="node_list")
async def node_list(call: CallDep, cursor: Cursor = None, limit: Limit = 100) -> Page[Node]:
    """List nodes, newest first."""
    return await service.node_list(call, cursor, limit)


@router.get("/nodes/{node_id}", operation_id="node_read")
async def node_read(call: CallDep, node_id: Id) -> Node:
    """Read one node."""
    return await service.node_read(call, node_id)


@router.patch("/nodes/{node_id}", operation_id="node_update", response_model=Node)
async def node_update(call: CallDep, node_id: Id, body: NodeUpdate) -> Response:
    """Cordon a node or open it again."""
    return await mutate(
        call, "capacity.node.update", partial(service.node_update, node_id=node_id, body=body)
    )


@router.post(
    "/nodes/{node_id}/clean", operation_id="node_clean", status_code=202, response_model=Node
)
async def node_clean(call: CallDep, node_id: Id, body: NodeClean) -> Response:
    """Take a free node out of its last tenant's use and clean it now."""
    handler = partial(cleaning.node_clean, node_id=node_id, body=body)
    return await mutate(call, "capacity.node.clean", handler)


@router.post(
    "/projects/{project_id}/allocations",
    operation_id="allocation_create",
    status_code=201,
    response_model=Allocation,
)
async def allocation_create(call: CallDep, project_id: Id, body: AllocationCreate) -> Response:
    """Give a project a free machine of the wanted kind."""
    return await mutate(
        call,
        "capacity.allocation.create",
        partial(allocations.allocation_create, project_id=project_id, body=body),
    )


@router.get("/allocations", operation_id="allocation_list")
async def allocation_list(
    call: CallDep,
    status: Annotated[list[AllocationStatus], ANY_OF],
    project_id: Annotated[str | None, Query(max_length=64)] = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Page[Allocation]:
    """List allocations in reach, newest first."""
    query = allocations.AllocationQuery(project_id, status, cursor, limit)
    return await allocations.allocation_list(call, query)


@router.get("/allocations/{allocation_id}", operation_id="allocation_read")
async def allocation_read(call: CallDep, allocation_id: Id) -> Allocation:
    """Read one allocation."""
    return await allocations.allocation_read(call, allocation_id)


@router.post(
    "/allocations/{allocation_id}/release",
    operation_id="allocation_release",
    response_model=Allocation,
)
async def allocation_release(call: CallDep, allocation_id: Id) -> Response:
    """Give a machine back; refused while an instance uses it."""
    return await mutate(
        call,
        "capacity.allocation.release",
        partial(allocations.allocation_release, allocation_id=allocation_id),
    )


@router.put("/tenants/{org_id}/quotas", operation_id="tenant_quota_set", response_model=Quota)
async def tenant_quota_set(call: CallDep, org_id: Id, body: QuotaSet) -> Response:
    """Limit how many allocations a tenant may hold."""
    handler = partial(service.quota_set, org_id=org_id, project_id=None, body=body)
    return await mutate(call, "capacity.quota.set", handler)


@router.get("/tenants/{org_id}/quotas", operation_id="tenant_quota_list")
async def tenant_quota_list(call: CallDep, org_id: Id) -> list[Quota]:
    """List a tenant's quotas with their present use."""
    return await service.quota_list(call, org_id, None)


@router.put(
    "/tenants/{org_id}/projects/{project_id}/quotas",
    operation_id="project_quota_set",
    response_model=Quota,
)
async def project_quota_set(call: CallDep, org_id: Id, project_id: Id, body: QuotaSet) -> Response:
    """Limit how many allocations a project may hold."""
    handler = partial(service.quota_set, org_id=org_id, project_id=project_id, body=body)
    return await mutate(call, "capacity.quota.set", handler)


@router.get("/tenants/{org_id}/projects/{project_id}/quotas", operation_id="project_quota_list")
async def project_quota_list(call: CallDep, org_id: Id, project_id: Id) -> list[Quota]:
    """List the quotas that hold in a project, with their present use."""
    return await service.quota_list(call, org_id, project_id)
