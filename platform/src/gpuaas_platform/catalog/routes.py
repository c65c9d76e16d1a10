"""Routes of the catalog: apps, versions, entitlements, and what a project may deploy."""

from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response

from gpuaas_contract.catalog import (
    App,
    AppCreate,
    AppUpdate,
    AppVersion,
    AppVersionSummary,
    Entitlement,
    EntitlementCreate,
    EntitlementRead,
    EntitlementUpdate,
    InputCheck,
    InputValidation,
    ManifestValidate,
    OperationForm,
    ProjectApp,
    Validation,
    VersionCreate,
    VersionDeprecate,
    VersionWithdraw,
)
from gpuaas_contract.common import Page
from gpuaas_platform.catalog import apps, entitlements, projects
from gpuaas_platform.kernel.call import CallDep
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.etag import etag_headers
from gpuaas_platform.kernel.paging import Cursor, Limit
from gpuaas_platform.kernel.work import mutate

router = APIRouter(tags=["catalog"])
Id = Annotated[str, Path(max_length=64)]
Slug = Annotated[str, Path(max_length=63)]
Number = Annotated[str, Path(max_length=64, description="The app's version")]
Kind = Annotated[
    str | None, Query(max_length=63, description="Operation kind; the deploy when left out")
]


@router.post("/apps", operation_id="app_create", status_code=201, response_model=App)
async def app_create(call: CallDep, body: AppCreate) -> Response:
    """Put an app into the catalog."""
    return await mutate(call, "catalog.app.create", partial(apps.app_create, body=body))


@router.get("/apps", operation_id="app_list")
async def app_list(call: CallDep, cursor: Cursor = None, limit: Limit = 100) -> Page[App]:
    """List the apps in reach by slug."""
    return await apps.app_list(call, cursor, limit)


@router.get("/apps/{slug}", operation_id="app_read")
async def app_read(call: CallDep, slug: Slug, response: Response) -> App:
    """Read one app."""
    app = await apps.app_read(call, slug)
    response.headers.update(etag_headers(app.revision))
    return app


@router.patch("/apps/{slug}", operation_id="app_update", response_model=App)
async def app_update(call: CallDep, slug: Slug, body: AppUpdate) -> Response:
    """Change the words of an app."""
    handler = partial(apps.app_update, slug=slug, body=body)
    return await mutate(call, "catalog.app.update", handler)


@router.post("/manifest-validations", operation_id="manifest_validate")
async def manifest_validate(call: CallDep, body: ManifestValidate) -> Validation:
    """Check a manifest as publishing would, storing nothing."""
    return apps.manifest_validate(call, body)


@router.post(
    "/apps/{slug}/versions",
    operation_id="app_version_create",
    status_code=201,
    response_model=AppVersion,
)
async def app_version_create(call: CallDep, slug: Slug, body: VersionCreate) -> Response:
    """Add a version with its manifest, as a draft or published at once."""
    handler = partial(apps.version_create, slug=slug, body=body)
    return await mutate(call, "catalog.version.create", handler)


@router.get("/apps/{slug}/versions", operation_id="app_version_list")
async def app_version_list(
    call: CallDep, slug: Slug, cursor: Cursor = None, limit: Limit = 100
) -> Page[AppVersionSummary]:
    """List an app's versions, highest first."""
    return await apps.version_list(call, slug, cursor, limit)


@router.get("/apps/{slug}/versions/{version}", operation_id="app_version_read")
async def app_version_read(
    call: CallDep, slug: Slug, version: Number, response: Response
) -> AppVersion:
    """Read one version with its manifest."""
    found = await apps.version_read(call, slug, version)
    response.headers.update(etag_headers(found.revision))
    return found


@router.post(
    "/apps/{slug}/versions/{version}/publish",
    operation_id="app_version_publish",
    response_model=AppVersion,
)
async def app_version_publish(call: CallDep, slug: Slug, version: Number) -> Response:
    """Publish a draft, or take a deprecation back."""
    handler = partial(apps.version_publish, slug=slug, version=version)
    return await mutate(call, "catalog.version.publish", handler)


@router.post(
    "/apps/{slug}/versions/{version}/deprecate",
    operation_id="app_version_deprecate",
    response_model=AppVersion,
)
async def app_version_deprecate(
    call: CallDep, slug: Slug, version: Number, body: VersionDeprecate
) -> Response:
    """Say that a version should no longer be chosen, and what instead."""
    handler = partial(apps.version_deprecate, slug=slug, version=version, body=body)
    return await mutate(call, "catalog.version.deprecate", handler)


@router.post(
    "/apps/{slug}/versions/{version}/withdraw",
    operation_id="app_version_withdraw",
    response_model=AppVersion,
)
async def app_version_withdraw(
    call: CallDep, slug: Slug, version: Number, body: VersionWithdraw
) -> Response:
    """Refuse new deploys of a version; instances that exist keep running."""
    handler = partial(apps.version_withdraw, slug=slug, version=version, body=body)
    return await mutate(call, "catalog.version.withdraw", handler)


@router.post(
    "/tenants/{org_id}/entitlements",
    operation_id="tenant_entitlement_create",
    status_code=201,
    response_model=EntitlementRead,
)
async def tenant_entitlement_create(call: CallDep, org_id: Id, body: EntitlementCreate) -> Response:
    """Let a tenant use an app."""
    handler = partial(entitlements.entitlement_create, place_id=Place(org_id), body=body)
    return await mutate(call, "catalog.entitlement.create", handler)


@router.get("/tenants/{org_id}/entitlements", operation_id="tenant_entitlement_list")
async def tenant_entitlement_list(
    call: CallDep, org_id: Id, cursor: Cursor = None, limit: Limit = 100
) -> Page[Entitlement]:
    """List what a tenant is entitled to, newest first."""
    return await entitlements.entitlement_list(call, Place(org_id), cursor, limit)


@router.post(
    "/projects/{project_id}/entitlements",
    operation_id="project_entitlement_create",
    status_code=201,
    response_model=EntitlementRead,
)
async def project_entitlement_create(
    call: CallDep, project_id: Id, body: EntitlementCreate
) -> Response:
    """Let a project use an app its tenant is entitled to."""
    place = Place(None, project_id)
    handler = partial(entitlements.entitlement_create, place_id=place, body=body)
    return await mutate(call, "catalog.entitlement.create", handler)


@router.get("/projects/{project_id}/entitlements", operation_id="project_entitlement_list")
async def project_entitlement_list(
    call: CallDep, project_id: Id, cursor: Cursor = None, limit: Limit = 100
) -> Page[Entitlement]:
    """List what a project is entitled to, newest first."""
    return await entitlements.entitlement_list(call, Place(None, project_id), cursor, limit)


@router.get("/entitlements/{entitlement_id}", operation_id="entitlement_read")
async def entitlement_read(
    call: CallDep, entitlement_id: Id, response: Response
) -> EntitlementRead:
    """Read one entitlement."""
    found = await entitlements.entitlement_read(call, entitlement_id)
    response.headers.update(etag_headers(found.revision))
    return found


@router.put(
    "/entitlements/{entitlement_id}",
    operation_id="entitlement_update",
    response_model=EntitlementRead,
)
async def entitlement_update(
    call: CallDep, entitlement_id: Id, body: EntitlementUpdate
) -> Response:
    """Replace what an entitlement covers."""
    handler = partial(entitlements.entitlement_update, entitlement_id=entitlement_id, body=body)
    return await mutate(call, "catalog.entitlement.update", handler)


@router.delete(
    "/entitlements/{entitlement_id}",
    operation_id="entitlement_delete",
    status_code=204,
    response_class=Response,
)
async def entitlement_delete(call: CallDep, entitlement_id: Id) -> Response:
    """Take an entitlement back; instances that exist keep running."""
    handler = partial(entitlements.entitlement_delete, entitlement_id=entitlement_id)
    return await mutate(call, "catalog.entitlement.delete", handler)


@router.get("/projects/{project_id}/apps", operation_id="project_app_list")
async def project_app_list(
    call: CallDep,
    project_id: Id,
    include: Annotated[
        Literal["unavailable"] | None, Query(description="Also what cannot be deployed, and why")
    ] = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Page[ProjectApp]:
    """List the apps a project may deploy, by slug."""
    query = projects.ProjectAppQuery(project_id, include == "unavailable", cursor, limit)
    return await projects.project_app_list(call, query)


@router.get("/projects/{project_id}/apps/{slug}", operation_id="project_app_read")
async def project_app_read(call: CallDep, project_id: Id, slug: Slug) -> ProjectApp:
    """Read one app as a project sees it, with the reasons for what it cannot deploy."""
    return await projects.project_app_read(call, project_id, slug)


@router.get(
    "/projects/{project_id}/apps/{slug}/versions/{version}/form",
    operation_id="project_app_form_read",
)
async def project_app_form_read(
    call: CallDep, project_id: Id, slug: Slug, version: Number, kind: Kind = None
) -> OperationForm:
    """Read the form of a deploy or another operation, bounded by the project's entitlements."""
    return await projects.form_read(call, project_id, (slug, version), kind)


@router.post(
    "/projects/{project_id}/apps/{slug}/versions/{version}/validate-input",
    operation_id="project_app_input_validate",
)
async def project_app_input_validate(
    call: CallDep, project_id: Id, slug: Slug, version: Number, body: InputCheck
) -> InputValidation:
    """Check an input as a deploy or operation would, asking for nothing."""
    return await projects.input_check(call, project_id, (slug, version), body)
