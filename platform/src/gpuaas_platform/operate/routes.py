"""Routes of the operate room. Health and version are open: they tell nothing of any tenant."""

from fastapi import APIRouter, Response

from gpuaas_contract.operate import Live, Readiness, Version
from gpuaas_platform.kernel.call import OpenCallDep
from gpuaas_platform.operate import service

router = APIRouter(tags=["operate"])


@router.get("/health/live", operation_id="health_live")
async def health_live() -> Live:
    """The process runs."""
    return Live()


@router.get(
    "/health/ready",
    operation_id="health_ready",
    responses={503: {"model": Readiness, "description": "Not ready; says what is missing"}},
)
async def health_ready(call: OpenCallDep, response: Response) -> Readiness:
    """Whether the platform can do its work, and what is missing if not."""
    readiness = await service.readiness(call.platform)
    response.status_code = 200 if readiness.status == "ready" else 503
    return readiness


@router.get("/version", operation_id="version_read")
async def version_read(call: OpenCallDep) -> Version:
    """Which platform this is."""
    return await service.version(call.platform)
