"""Rules of instances that exist: change their settings, take them down.

Called by the routes inside a mutation.
"""

from gpuaas_contract.apps import AppInstance, ConditionType, InstanceUpdate, Requested
from gpuaas_contract.common import Json
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.manifest import Manifest, Purpose
from gpuaas_contract.manifest_read import seats_of
from gpuaas_contract.permissions import Permission
from gpuaas_contract.states import InstanceStatus, OperationStatus
from gpuaas_platform.apps import rules
from gpuaas_platform.apps.making import Asked, operation_new
from gpuaas_platform.apps.queueing import input_require, queue_supersede
from gpuaas_platform.apps.reads import requested_answer
from gpuaas_platform.apps.rows import OperationRow
from gpuaas_platform.apps.scene import Scene, gone_refuse, scene_open
from gpuaas_platform.apps.store import operations
from gpuaas_platform.apps.versions import manifest_of
from gpuaas_platform.apps.views import instance_view
from gpuaas_platform.catalog import service as catalog
from gpuaas_platform.kernel.etag import etag_headers, match_require
from gpuaas_platform.kernel.problems import PlatformError
from gpuaas_platform.kernel.work import Answer, Target, Work


async def instance_update(
    work: Work, instance_id: str, body: InstanceUpdate
) -> Answer[AppInstance]:
    """Change the label or the settings; the app applies settings when it next reconciles."""
    scene = await scene_open(work, instance_id)
    before = scene.instance
    work.require(Permission.INSTANCE_UPDATE, before.place)
    gone_refuse(scene)
    match_require(work.call, before.revision)
    if body.display_name is not None:
        scene.instance_change(display_name=body.display_name)
    if body.settings is not None:
        await _settings_change(scene, body.settings)
    work.audit(Target("app_instance", before.id, before.place, before, scene.instance))
    await scene.save()
    row = scene.instance
    manifest = await manifest_of(work.call.platform, work.conn, row.app_slug, row.app_version)
    last = None
    if row.last_operation_id is not None:
        last = await operations.operation_read(work.conn, row.last_operation_id)
    return Answer(instance_view(row, manifest, last), 200, etag_headers(row.revision))


async def instance_delete(work: Work, instance_id: str, reason: str = "") -> Answer[Requested]:
    """Ask for the instance to be taken down. From here on nothing else can be asked of it.

    What waits is cancelled, what runs is asked to stop; the decommission runs when it has. Asked
    for again after it failed, the same decommission goes on.
    """
    scene = await scene_open(work, instance_id)
    row = scene.instance
    work.require(Permission.INSTANCE_DELETE, row.place)
    match_require(work.call, row.revision)
    manifest = await manifest_of(work.call.platform, work.conn, row.app_slug, row.app_version)
    failed = await _delete_failed(scene)
    if failed is None:
        gone_refuse(scene)
    spec = manifest.purpose(Purpose.DELETE)
    if spec is None:
        raise RuntimeError(f"{row.app_slug} {row.app_version}: a manifest has a delete operation")
    for permission in spec.permissions:
        work.require(permission, row.place)
    if failed is None:
        await queue_supersede(scene)
        operation = operation_new(work, row, spec, Asked(input={}, reason=reason))
        await scene.operation_add(operation)
        scene.caused_by(operation)
        scene.instance_move(InstanceStatus.DELETING)
        scene.instance_change(last_operation_id=operation.id)
    else:
        operation = failed
        scene.caused_by(operation)
        scene.operation_again(operation.id)
    work.audit(Target("app_instance", row.id, row.place, row, scene.instance, reason=reason))
    await scene.save()
    return await requested_answer(scene, manifest, [operation.id])


async def _delete_failed(scene: Scene) -> OperationRow | None:
    """The decommission an instance on its way out waits for, when it failed."""
    row = scene.instance
    if row.status is not InstanceStatus.DELETING or row.last_operation_id is None:
        return None
    last = await scene.operation(row.last_operation_id)
    failed = last.purpose is Purpose.DELETE and last.status is OperationStatus.FAILED
    return last if failed else None


async def _settings_change(scene: Scene, given: Json) -> None:
    """Take new settings. Where members sit is not a setting: that changes by operations."""
    work, row = scene.work, scene.instance
    version = await catalog.version_record(work.conn, row.app_slug, row.app_version)
    kind = version.manifest.deploy.kind
    settings = catalog.defaults_apply(version, kind, given)
    input_require(catalog.input_validate(version, kind, settings), "/settings")
    if _seats(version.manifest, settings) != _seats(version.manifest, row.settings):
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            "Settings cannot move members: add, replace or remove them.",
            context={"app_instance_id": row.id},
        )
    if settings == row.settings:
        return
    pending = {
        "type": ConditionType.SETTINGS_PENDING,
        "reason": "settings_changed",
        "message": "The app has not applied the newest settings yet.",
        "next_action": "reconcile",
    }
    scene.instance_change(
        settings=settings,
        settings_revision=row.settings_revision + 1,
        conditions=rules.condition_set(row.conditions, pending, work.now),
    )


def _seats(manifest: Manifest, settings: Json) -> set[tuple[str, str]]:
    seats = seats_of(manifest.deploy.placement, settings)
    return {(seat.component, seat.allocation_id) for seat in seats}
