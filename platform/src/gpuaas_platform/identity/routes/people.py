"""Routes of the people of a project."""

from fastapi import APIRouter

from gpuaas_contract.common import Page
from gpuaas_contract.identity import Person
from gpuaas_platform.identity import people as service
from gpuaas_platform.kernel.call import CallDep
from gpuaas_platform.kernel.paging import Cursor, Limit

router = APIRouter()


@router.get("/projects/{project_id}/people", operation_id="person_list")
async def person_list(
    call: CallDep, project_id: str, cursor: Cursor = None, limit: Limit = 50
) -> Page[Person]:
    """List the people with a role in a project or its tenant, as apps make accounts for them.

    Roles and permissions of others are null unless the caller may read role bindings or control
    operations there.
    """
    return await service.person_list(call, project_id, cursor, limit)
