"""Routes of the SSH authority and of access grants."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from gpuaas_contract.common import Page
from gpuaas_contract.custody import (
    KRL_MEDIA_TYPE,
    AccessGrant,
    AccessGrantCreate,
    AccessGrantIssued,
    AccessGrantRevoke,
    AccessGrantsCreate,
    AccessGrantsIssued,
    CaRotate,
    SshCa,
)
from gpuaas_platform.custody import authority, granting, grants
from gpuaas_platform.kernel.call import CallDep, OpenCallDep
from gpuaas_platform.kernel.paging import Cursor, Limit
from gpuaas_platform.kernel.work import mutate

router = APIRouter(tags=["custody"])
Id = Annotated[str, Path(max_length=64)]


@router.get("/ssh/ca", operation_id="ssh_ca_read")
async def ssh_ca_read(call: OpenCallDep) -> SshCa:
    """Read the public keys hosts trust for certificates; they are no secret."""
    return await authority.ca_read(call)


@router.post("/ssh/ca/rotate", operation_id="ssh_ca_rotate", response_model=SshCa)
async def ssh_ca_rotate(call: CallDep, body: CaRotate) -> Response:
    """Let the upcoming key sign from now on."""
    return await authority.ca_rotate(call, body)


@router.get(
    "/ssh/krl",
    operation_id="ssh_krl_read",
    response_class=Response,
    responses={200: {"content": {KRL_MEDIA_TYPE: {}}, "description": "A list for RevokedKeys"}},
)
async def ssh_krl_read(call: OpenCallDep) -> Response:
    """Read the revocation list for sshd, in OpenSSH's format."""
    krl, version = await grants.revocations(call.platform)
    return Response(krl, 200, {"X-KRL-Version": str(version)}, KRL_MEDIA_TYPE)


@router.post(
    "/allocations/{allocation_id}/access-grants",
    operation_id="access_grant_create",
    status_code=201,
    response_model=AccessGrantIssued,
)
async def access_grant_create(
    call: CallDep, allocation_id: Id, body: AccessGrantCreate
) -> Response:
    """Get a certificate for the machine of an allocation, for some minutes."""
    return await granting.grant_create(call, allocation_id, body)


@router.post(
    "/access-grants",
    operation_id="access_grants_create",
    status_code=201,
    response_model=AccessGrantsIssued,
)
async def access_grants_create(call: CallDep, body: AccessGrantsCreate) -> Response:
    """Get a certificate for the machine of each of several allocations, in one request."""
    return await granting.grants_create(call, body)


@router.get("/access-grants", operation_id="access_grant_list")
async def access_grant_list(
    call: CallDep,
    project_id: Annotated[str | None, Query(max_length=64)] = None,
    allocation_id: Annotated[str | None, Query(max_length=64)] = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Page[AccessGrant]:
    """List access grants in reach, newest first."""
    return await grants.grant_list(
        call, grants.GrantQuery(project_id, allocation_id, cursor, limit)
    )


@router.get("/access-grants/{grant_id}", operation_id="access_grant_read")
async def access_grant_read(call: CallDep, grant_id: Id) -> AccessGrant:
    """Read one access grant."""
    return await grants.grant_read(call, grant_id)


@router.post(
    "/access-grants/{grant_id}/revoke",
    operation_id="access_grant_revoke",
    response_model=AccessGrant,
)
async def access_grant_revoke(call: CallDep, grant_id: Id, body: AccessGrantRevoke) -> Response:
    """End a certificate before its time, through the revocation list."""
    handler = partial(grants.grant_revoke, grant_id=grant_id, body=body)
    return await mutate(call, "custody.grant.revoke", handler)
