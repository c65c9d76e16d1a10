"""Routes of the billing room: reads alone. What is counted follows from what happens elsewhere."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from gpuaas_contract.billing import (
    InstanceUsage,
    UsageFilter,
    UsageRecord,
    UsageRecordQuery,
    UsageSummaryQuery,
    UsageTotal,
)
from gpuaas_contract.common import Page
from gpuaas_platform.billing import service
from gpuaas_platform.kernel.call import CallDep

router = APIRouter(tags=["billing"])
Id = Annotated[str, Path(max_length=64)]


@router.get("/app-instances/{instance_id}/usage", operation_id="usage_instance")
async def usage_instance(
    call: CallDep, instance_id: Id, query: Annotated[UsageFilter, Query()]
) -> InstanceUsage:
    """Show what an app instance used since it was made: hours, machines, money by day."""
    return await service.instance_usage(call, instance_id, query)


@router.get("/projects/{project_id}/usage", operation_id="usage_project")
async def usage_project(
    call: CallDep, project_id: Id, query: Annotated[UsageRecordQuery, Query()]
) -> Page[UsageRecord]:
    """List a project's usage records: what goes on first, then what ended last."""
    return await service.project_records(call, project_id, query)


@router.get("/projects/{project_id}/usage/summary", operation_id="usage_project_summary")
async def usage_project_summary(
    call: CallDep, project_id: Id, query: Annotated[UsageSummaryQuery, Query()]
) -> list[UsageTotal]:
    """Sum a project's usage by day or in total; of the last 31 days unless said otherwise."""
    return await service.project_summary(call, project_id, query)


@router.get("/tenants/{org_id}/usage", operation_id="usage_tenant")
async def usage_tenant(
    call: CallDep, org_id: Id, query: Annotated[UsageRecordQuery, Query()]
) -> Page[UsageRecord]:
    """List a tenant's usage records with those of its projects: what goes on first."""
    return await service.tenant_records(call, org_id, query)


@router.get("/tenants/{org_id}/usage/summary", operation_id="usage_tenant_summary")
async def usage_tenant_summary(
    call: CallDep, org_id: Id, query: Annotated[UsageSummaryQuery, Query()]
) -> list[UsageTotal]:
    """Sum a tenant's usage by day, by project or in total; of the last 31 days by default."""
    return await service.tenant_summary(call, org_id, query)
