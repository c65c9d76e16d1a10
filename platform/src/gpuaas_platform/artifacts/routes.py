"""Routes of artifact sources, their keys, and artifacts from the intent to the end."""

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Request, Response

from gpuaas_contract.artifacts import (
    CONTENT_DIGEST_HEADER,
    CONTENT_MEDIA_TYPE,
    PARTS_MAX,
    Artifact,
    ArtifactCreate,
    ArtifactDeprecate,
    ArtifactKey,
    ArtifactKeyCreate,
    ArtifactKeyRevoke,
    ArtifactPart,
    ArtifactPromote,
    ArtifactRetire,
    ArtifactRevoke,
    ArtifactSign,
    ArtifactSource,
    ArtifactSourceCreate,
    ArtifactSourceUpdate,
    ArtifactUpload,
)
from gpuaas_contract.common import Page
from gpuaas_platform.artifacts import lifecycle, publishing, resolving, sources, uploading
from gpuaas_platform.kernel.call import CallDep, StreamedCallDep
from gpuaas_platform.kernel.keyring import keyring_of
from gpuaas_platform.kernel.paging import Cursor, Limit
from gpuaas_platform.kernel.waiting import WaitFor, wait_seconds
from gpuaas_platform.kernel.work import mutate

router = APIRouter(tags=["artifacts"])
Id = Annotated[str, Path(max_length=64)]
_THERE: dict[int | str, dict[str, Any]] = {
    200: {"model": Artifact, "description": "It was there already"}
}
_BINARY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {CONTENT_MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.post(
    "/artifact-sources",
    operation_id="artifact_source_create",
    status_code=201,
    response_model=ArtifactSource,
)
async def artifact_source_create(call: CallDep, body: ArtifactSourceCreate) -> Response:
    """Share a source with every tenant."""
    keyring = await keyring_of(call.platform)
    handler = partial(sources.source_create, org_id=None, body=body, keyring=keyring)
    return await mutate(call, "artifacts.source.create", handler)


@router.post(
    "/tenants/{org_id}/artifact-sources",
    operation_id="tenant_artifact_source_create",
    status_code=201,
    response_model=ArtifactSource,
)
async def tenant_artifact_source_create(
    call: CallDep, org_id: Id, body: ArtifactSourceCreate
) -> Response:
    """Add a source of a tenant's own; it is used once an overlay allows its address."""
    keyring = await keyring_of(call.platform)
    handler = partial(sources.source_create, org_id=org_id, body=body, keyring=keyring)
    return await mutate(call, "artifacts.source.create", handler)


@router.get("/artifact-sources", operation_id="artifact_source_list")
async def artifact_source_list(
    call: CallDep, cursor: Cursor = None, limit: Limit = 100
) -> Page[ArtifactSource]:
    """List sources in reach, newest first: shared ones, and those of the caller's tenants."""
    return await sources.source_list(call, cursor, limit)


@router.get("/artifact-sources/{source_id}", operation_id="artifact_source_read")
async def artifact_source_read(call: CallDep, source_id: Id) -> ArtifactSource:
    """Read one source."""
    return await sources.source_read(call, source_id)


@router.patch(
    "/artifact-sources/{source_id}",
    operation_id="artifact_source_update",
    response_model=ArtifactSource,
)
async def artifact_source_update(
    call: CallDep, source_id: Id, body: ArtifactSourceUpdate
) -> Response:
    """Change what a source asks for, or switch it off and on."""
    keyring = await keyring_of(call.platform)
    handler = partial(sources.source_update, source_id=source_id, body=body, keyring=keyring)
    return await mutate(call, "artifacts.source.update", handler)


@router.post(
    "/artifact-sources/{source_id}/keys",
    operation_id="artifact_key_create",
    status_code=201,
    response_model=ArtifactKey,
)
async def artifact_key_create(call: CallDep, source_id: Id, body: ArtifactKeyCreate) -> Response:
    """Trust one more signing key in a source."""
    handler = partial(sources.key_create, source_id=source_id, body=body)
    return await mutate(call, "artifacts.key.create", handler)


@router.get("/artifact-sources/{source_id}/keys", operation_id="artifact_key_list")
async def artifact_key_list(
    call: CallDep, source_id: Id, cursor: Cursor = None, limit: Limit = 100
) -> Page[ArtifactKey]:
    """List the keys of a source, newest first, also those trusted no longer."""
    return await sources.key_list(call, source_id, cursor, limit)


@router.post(
    "/artifact-keys/{artifact_key_id}/revoke",
    operation_id="artifact_key_revoke",
    response_model=ArtifactKey,
)
async def artifact_key_revoke(
    call: CallDep, artifact_key_id: Id, body: ArtifactKeyRevoke
) -> Response:
    """Trust a signing key no longer, and by default nothing it vouched for either."""
    handler = partial(sources.key_revoke, key_id=artifact_key_id, body=body)
    return await mutate(call, "artifacts.key.revoke", handler)


@router.post(
    "/artifact-sources/{source_id}/artifacts",
    operation_id="artifact_create",
    status_code=201,
    response_model=Artifact,
    responses=_THERE,
)
async def artifact_create(call: CallDep, source_id: Id, body: ArtifactCreate) -> Response:
    """Announce an artifact: then upload its parts, or wait until the registry's is pulled."""
    room = await uploading.room_of(call.platform)
    handler = partial(publishing.artifact_create, source_id=source_id, body=body, room=room)
    return await mutate(call, "artifacts.artifact.create", handler)


@router.get("/artifacts", operation_id="artifact_list")
async def artifact_list(
    call: CallDep, query: Annotated[resolving.ArtifactQuery, Query()]
) -> Page[Artifact]:
    """List artifacts in reach, newest first."""
    return await resolving.artifact_list(call, query)


@router.get("/artifacts/{artifact_id}", operation_id="artifact_read")
async def artifact_read(
    call: CallDep, artifact_id: Id, wait: Annotated[WaitFor, Query()] = "0s"
) -> Artifact:
    """Read one artifact; with `wait`, once it is published or has failed."""
    return await resolving.artifact_read(call, artifact_id, wait_seconds(wait))


@router.get("/artifacts/{artifact_id}/upload", operation_id="artifact_upload_read")
async def artifact_upload_read(call: CallDep, artifact_id: Id) -> ArtifactUpload:
    """Read how far an upload is and which parts to send next."""
    return await publishing.upload_read(call, artifact_id)


@router.put(
    "/artifacts/{artifact_id}/parts/{number}",
    operation_id="artifact_part_put",
    response_model=ArtifactPart,
    openapi_extra=_BINARY,
)
async def artifact_part_put(
    call: StreamedCallDep,
    request: Request,
    artifact_id: Id,
    number: Annotated[int, Path(ge=1, le=PARTS_MAX)],
    content_digest: Annotated[str | None, Header(alias=CONTENT_DIGEST_HEADER)] = None,
) -> Response:
    """Send one part, with its digest; a part sent again changes nothing."""
    length = request.headers.get("content-length")
    part = publishing.arriving_of(number, length, content_digest)
    return await uploading.part_put(call, artifact_id, part, request.stream())


@router.post(
    "/artifacts/{artifact_id}/complete",
    operation_id="artifact_complete",
    status_code=202,
    response_model=Artifact,
    responses=_THERE,
)
async def artifact_complete(call: CallDep, artifact_id: Id) -> Response:
    """Say that all parts have been sent; the whole is then verified and published."""
    handler = partial(publishing.artifact_complete, artifact_id=artifact_id)
    return await mutate(call, "artifacts.artifact.complete", handler)


@router.post(
    "/artifacts/{artifact_id}/cancel",
    operation_id="artifact_cancel",
    response_model=Artifact,
)
async def artifact_cancel(call: CallDep, artifact_id: Id, body: ArtifactRetire) -> Response:
    """Give up an artifact that is not published yet; what has arrived is deleted."""
    handler = partial(publishing.artifact_cancel, artifact_id=artifact_id, reason=body.reason)
    return await mutate(call, "artifacts.artifact.cancel", handler)


@router.post("/artifacts/{artifact_id}/sign", operation_id="artifact_sign", response_model=Artifact)
async def artifact_sign(call: CallDep, artifact_id: Id, body: ArtifactSign) -> Response:
    """Add a signature, judged by the keys the source trusts."""
    handler = partial(lifecycle.artifact_sign, artifact_id=artifact_id, body=body)
    return await mutate(call, "artifacts.artifact.sign", handler)


@router.post(
    "/artifacts/{artifact_id}/promote", operation_id="artifact_promote", response_model=Artifact
)
async def artifact_promote(call: CallDep, artifact_id: Id, body: ArtifactPromote) -> Response:
    """Let a channel point at an artifact."""
    handler = partial(lifecycle.artifact_promote, artifact_id=artifact_id, body=body)
    return await mutate(call, "artifacts.artifact.promote", handler)


@router.post(
    "/artifacts/{artifact_id}/deprecate",
    operation_id="artifact_deprecate",
    response_model=Artifact,
)
async def artifact_deprecate(call: CallDep, artifact_id: Id, body: ArtifactDeprecate) -> Response:
    """Keep an artifact, but warn whoever still asks for it."""
    handler = partial(lifecycle.artifact_deprecate, artifact_id=artifact_id, body=body)
    return await mutate(call, "artifacts.artifact.deprecate", handler)


@router.post(
    "/artifacts/{artifact_id}/restore", operation_id="artifact_restore", response_model=Artifact
)
async def artifact_restore(call: CallDep, artifact_id: Id) -> Response:
    """Take a deprecation back."""
    handler = partial(lifecycle.artifact_restore, artifact_id=artifact_id)
    return await mutate(call, "artifacts.artifact.restore", handler)


@router.post(
    "/artifacts/{artifact_id}/retire", operation_id="artifact_retire", response_model=Artifact
)
async def artifact_retire(call: CallDep, artifact_id: Id, body: ArtifactRetire) -> Response:
    """End an artifact: its content is deleted, its record stays."""
    handler = partial(lifecycle.artifact_retire, artifact_id=artifact_id, body=body)
    return await mutate(call, "artifacts.artifact.retire", handler)


@router.post(
    "/artifacts/{artifact_id}/revoke", operation_id="artifact_revoke", response_model=Artifact
)
async def artifact_revoke(call: CallDep, artifact_id: Id, body: ArtifactRevoke) -> Response:
    """Distrust and end an artifact that must not be used anywhere."""
    handler = partial(lifecycle.artifact_revoke, artifact_id=artifact_id, body=body)
    return await mutate(call, "artifacts.artifact.revoke", handler)
