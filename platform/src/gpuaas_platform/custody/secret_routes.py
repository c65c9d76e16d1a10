"""Routes of access credentials and runtime secrets."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from gpuaas_contract.common import Page
from gpuaas_contract.custody import (
    AccessCredential,
    AccessCredentialCreate,
    AccessCredentialDelivered,
    AccessCredentialRotate,
    CustodyRevoke,
    RuntimeSecret,
    RuntimeSecretCreate,
    RuntimeSecretDeliver,
    RuntimeSecretDelivered,
    RuntimeSecretRotate,
)
from gpuaas_platform.custody import credentials, runtime_secrets
from gpuaas_platform.kernel.call import CallDep
from gpuaas_platform.kernel.paging import Cursor, Limit
from gpuaas_platform.kernel.work import mutate

router = APIRouter(tags=["custody"])
Id = Annotated[str, Path(max_length=64)]
Project = Annotated[str | None, Query(max_length=64)]


@router.post(
    "/projects/{project_id}/access-credentials",
    operation_id="access_credential_create",
    status_code=201,
    response_model=AccessCredential,
)
async def access_credential_create(
    call: CallDep, project_id: Id, body: AccessCredentialCreate
) -> Response:
    """Take a private key into custody, for hosts that cannot trust certificates."""
    return await credentials.credential_create(call, project_id, body)


@router.get("/access-credentials", operation_id="access_credential_list")
async def access_credential_list(
    call: CallDep, project_id: Project = None, cursor: Cursor = None, limit: Limit = 100
) -> Page[AccessCredential]:
    """List access credentials in reach, newest first, without their keys."""
    return await credentials.credential_list(call, project_id, cursor, limit)


@router.get("/access-credentials/{credential_id}", operation_id="access_credential_read")
async def access_credential_read(call: CallDep, credential_id: Id) -> AccessCredential:
    """Read one access credential, without its key."""
    return await credentials.credential_read(call, credential_id)


@router.post(
    "/access-credentials/{credential_id}/rotate",
    operation_id="access_credential_rotate",
    status_code=201,
    response_model=AccessCredential,
)
async def access_credential_rotate(
    call: CallDep, credential_id: Id, body: AccessCredentialRotate
) -> Response:
    """Let a new private key take over from one in custody."""
    return await credentials.credential_rotate(call, credential_id, body)


@router.post(
    "/access-credentials/{credential_id}/revoke",
    operation_id="access_credential_revoke",
    response_model=AccessCredential,
)
async def access_credential_revoke(
    call: CallDep, credential_id: Id, body: CustodyRevoke
) -> Response:
    """End an access credential and delete its key."""
    handler = partial(credentials.credential_revoke, credential_id=credential_id, body=body)
    return await mutate(call, "custody.credential.revoke", handler)


@router.post(
    "/access-credentials/{credential_id}/deliveries",
    operation_id="access_credential_deliver",
    response_model=AccessCredentialDelivered,
)
async def access_credential_deliver(call: CallDep, credential_id: Id) -> Response:
    """Get a private key, sealed to the calling service account's public key."""
    return await credentials.credential_deliver(call, credential_id)


@router.post(
    "/projects/{project_id}/runtime-secrets",
    operation_id="runtime_secret_create",
    status_code=201,
    response_model=RuntimeSecret,
)
async def runtime_secret_create(
    call: CallDep, project_id: Id, body: RuntimeSecretCreate
) -> Response:
    """Issue a secret to a project: given once, or made at random."""
    return await runtime_secrets.secret_create(call, project_id, body)


@router.get("/runtime-secrets", operation_id="runtime_secret_list")
async def runtime_secret_list(
    call: CallDep, project_id: Project = None, cursor: Cursor = None, limit: Limit = 100
) -> Page[RuntimeSecret]:
    """List runtime secrets in reach, newest first, without their values."""
    return await runtime_secrets.secret_list(call, project_id, cursor, limit)


@router.get("/runtime-secrets/{secret_id}", operation_id="runtime_secret_read")
async def runtime_secret_read(call: CallDep, secret_id: Id) -> RuntimeSecret:
    """Read one runtime secret, without its value."""
    return await runtime_secrets.secret_read(call, secret_id)


@router.post(
    "/runtime-secrets/{secret_id}/rotate",
    operation_id="runtime_secret_rotate",
    response_model=RuntimeSecret,
)
async def runtime_secret_rotate(
    call: CallDep, secret_id: Id, body: RuntimeSecretRotate
) -> Response:
    """Issue the next version of a secret; the one before ends."""
    return await runtime_secrets.secret_rotate(call, secret_id, body)


@router.post(
    "/runtime-secrets/{secret_id}/revoke",
    operation_id="runtime_secret_revoke",
    response_model=RuntimeSecret,
)
async def runtime_secret_revoke(call: CallDep, secret_id: Id, body: CustodyRevoke) -> Response:
    """End a secret and delete its value."""
    handler = partial(runtime_secrets.secret_revoke, secret_id=secret_id, body=body)
    return await mutate(call, "custody.secret.revoke", handler)


@router.post(
    "/runtime-secrets/{secret_id}/deliveries",
    operation_id="runtime_secret_deliver",
    response_model=RuntimeSecretDelivered,
)
async def runtime_secret_deliver(
    call: CallDep, secret_id: Id, body: RuntimeSecretDeliver
) -> Response:
    """Get a secret's value once, sealed to the calling service account's public key."""
    return await runtime_secrets.secret_deliver(call, secret_id, body)
