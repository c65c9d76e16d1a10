"""Deploy: a new instance with its members, its deploy operation and those that follow it.

Called by the route inside a mutation: everything is written and every allocation bound, or nothing.
"""

from collections.abc import Sequence

from gpuaas_contract.apps import InstanceCreate, PlacedMember, PlacementIntent, Requested
from gpuaas_contract.common import Json
from gpuaas_contract.errors import ErrorCode, FieldError
from gpuaas_contract.ids import Prefix
from gpuaas_contract.manifest import ControlPlaneScope, Manifest, OperatingMode
from gpuaas_contract.permissions import Permission
from gpuaas_contract.states import Health, InstanceStatus
from gpuaas_platform.apps import controllers
from gpuaas_platform.apps.making import Asked, operation_new
from gpuaas_platform.apps.planning import DeployPlan, deploy_plan
from gpuaas_platform.apps.queueing import Group, group_add, input_require, member_place
from gpuaas_platform.apps.reads import requested_answer
from gpuaas_platform.apps.rows import InstanceRow, OperationRow
from gpuaas_platform.apps.scene import Scene
from gpuaas_platform.apps.store import instances
from gpuaas_platform.apps.transitions import Cause, instance_tell
from gpuaas_platform.capacity import allocations
from gpuaas_platform.catalog import service as catalog
from gpuaas_platform.catalog.projects import version_offered
from gpuaas_platform.catalog.records import VersionRecord
from gpuaas_platform.identity.places import project_place
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.problems import PlatformError
from gpuaas_platform.kernel.work import Answer, Target, Work


async def instance_create(work: Work, project_id: str, body: InstanceCreate) -> Answer[Requested]:
    """Deploy an app into a project's allocations."""
    place = await project_place(work.conn, project_id)
    work.require(Permission.INSTANCE_CREATE, place)
    wanted = body.version or await version_offered(work.conn, place, body.app_slug)
    version = await catalog.deployable_version(work.conn, place, body.app_slug, wanted)
    manifest = version.manifest
    for permission in manifest.deploy.permissions:
        work.require(permission, place)
    settings = _settings(version, body.settings)
    plan = deploy_plan(manifest, settings)
    filled = body.model_copy(update={"settings": settings})
    row = _instance_new(work, place, version, filled, plan)
    if not await instances.instance_insert(work.conn, row):
        raise PlatformError(
            ErrorCode.NAME_TAKEN,
            f"The project has an instance {body.name} already.",
            context={"name": body.name},
        )
    scene = Scene(work, row, ())
    instance_tell(work, row, "requested", Cause(work.call.correlation_id), {})
    await controllers.absence_note(scene)
    await _members_and_operations(scene, version, plan)
    work.audit(Target("app_instance", row.id, place, after=scene.instance))
    await scene.save()
    return await requested_answer(scene, manifest, list(scene.operations))


def _settings(version: VersionRecord, given: Json) -> Json:
    kind = version.manifest.deploy.kind
    settings = catalog.defaults_apply(version, kind, given)
    input_require(catalog.input_validate(version, kind, settings), "/settings")
    return settings


def _instance_new(
    work: Work, place: Place, version: VersionRecord, body: InstanceCreate, plan: DeployPlan
) -> InstanceRow:
    manifest = version.manifest
    seats = [*plan.seats, *(seat for seat, _ in plan.seeded)]
    intent = PlacementIntent(
        members=[
            PlacedMember(
                component_key=seat.component,
                allocation_id=seat.allocation_id,
                shared=plan.shares(seat),
            )
            for seat in seats
        ]
    )
    return InstanceRow(
        id=work.new_id(Prefix.INSTANCE),
        org_id=place.org_id or "",
        project_id=place.project_id or "",
        resource_name=body.name,
        display_name=body.display_name or body.name,
        app_slug=version.slug,
        app_version=version.version,
        previous_version=None,
        runtime_version="",
        operating_mode=_mode(manifest, body.operating_mode),
        control_plane_scope=_scope(manifest, body.control_plane_scope),
        runtime_backend=manifest.runtime_backend,
        topology=plan.topology,
        placement_intent=intent.model_dump(mode="json"),
        settings=body.settings,
        settings_revision=1,
        settings_applied_revision=0,
        status=InstanceStatus.REQUESTED,
        health=Health.UNKNOWN,
        conditions=[],
        adapter_detail=None,
        access=None,
        absence=None,
        revision=1,
        last_operation_id=None,
        correlation_id=work.call.correlation_id,
        created_by=work.call.caller.id,
        created_at=work.now,
        updated_at=work.now,
        deleted_at=None,
        observer=None,
        observer_token_hash=None,
        observer_until=None,
        worked=0,
    )


def _mode(manifest: Manifest, wanted: OperatingMode | None) -> OperatingMode:
    if wanted is not None and wanted not in manifest.operating_modes:
        raise _not_offered("/operating_mode", wanted, manifest.operating_modes)
    return wanted or manifest.operating_modes[0]


def _scope(manifest: Manifest, wanted: ControlPlaneScope | None) -> ControlPlaneScope:
    """An instance serves its project; wider control planes are shared runtimes."""
    scope = wanted or ControlPlaneScope.PROJECT
    if scope is not ControlPlaneScope.PROJECT or scope not in manifest.control_plane_scopes:
        offered = [one for one in manifest.control_plane_scopes if one == ControlPlaneScope.PROJECT]
        raise _not_offered("/control_plane_scope", scope, offered)
    return scope


def _not_offered(pointer: str, wanted: str, offered: Sequence[str]) -> PlatformError:
    message = f"{wanted} is not offered for an instance; offered: {', '.join(offered) or 'none'}"
    return PlatformError(
        ErrorCode.INVALID_REQUEST,
        f"{pointer}: {message}",
        errors=[FieldError(pointer=pointer, message=message)],
    )


async def _members_and_operations(scene: Scene, version: VersionRecord, plan: DeployPlan) -> None:
    work, row = scene.work, scene.instance
    seats = [*plan.seats, *(seat for seat, _ in plan.seeded)]
    wanted = sorted({seat.allocation_id for seat in seats})
    if wanted:
        await allocations.allocations_bind(work, row.place, wanted, row.id)
    deploy = operation_new(work, row, version.manifest.deploy, Asked(input=row.settings))
    scene.caused_by(deploy)
    for seat in plan.seats:
        member_id = await member_place(scene, seat, shared=plan.shares(seat))
        scene.member_change(member_id, last_operation_id=deploy.id)
    await scene.operation_add(deploy)
    await _seed(scene, version, plan, deploy)
    scene.instance_change(last_operation_id=deploy.id)


async def _seed(
    scene: Scene, version: VersionRecord, plan: DeployPlan, deploy: OperationRow
) -> None:
    """Queue the members that are added once the deploy has succeeded, grouped by kind."""
    for kind in dict.fromkeys(spec.kind for _, spec in plan.seeded):
        mine = [(seat, spec) for seat, spec in plan.seeded if spec.kind == kind]
        group_id = await group_add(scene, Group.of(mine[0][1], len(mine)))
        given = catalog.defaults_apply(version, kind, {})
        for seat, spec in mine:
            member_id = await member_place(scene, seat, shared=plan.shares(seat))
            asked = Asked(given, member_id, group_id=group_id, waits_for=deploy.id)
            operation = operation_new(scene.work, scene.instance, spec, asked)
            await scene.operation_add(operation)
            scene.member_change(member_id, last_operation_id=operation.id)
