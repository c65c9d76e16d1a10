"""Controllers seen: noted at every claim and heartbeat, missed after a while.

An operation nobody will ever claim must look like exactly that. Called by `claims.py`,
`observers.py`, `deploying.py` and the sweep.
"""

from datetime import timedelta

from gpuaas_contract.apps import ConditionType, Controller
from gpuaas_contract.controllers import ControllerSelf
from gpuaas_contract.permissions import Permission
from gpuaas_platform.apps import rules
from gpuaas_platform.apps.rows import OperationRow
from gpuaas_platform.apps.scene import Scene
from gpuaas_platform.apps.store import controllers
from gpuaas_platform.apps.store.controllers import Seen
from gpuaas_platform.identity.places import project_place
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import Reach
from gpuaas_platform.kernel.database import Connection

EVERYWHERE = "*"
SWEEP_TOPIC = "apps.sweep"


def places_of(reach: Reach, project_id: str | None, instance_id: str | None) -> list[str]:
    """Which places a claim serves: the narrowest it named, else all it reaches."""
    if instance_id is not None:
        return [instance_id]
    if project_id is not None:
        return [project_id]
    if reach.everywhere:
        return [EVERYWHERE]
    return sorted({*reach.org_ids, *reach.project_ids})


async def seen(
    call: Call, conn: Connection, who: ControllerSelf, app_slug: str, places: list[str]
) -> None:
    """Note a controller at work; one that comes back wakes the sweep that says so."""
    now = call.platform.clock.now()
    missed = now - absent_after(call)
    home = call.caller.home
    for place in places:
        one = Seen(
            call.caller.id, who.replica, app_slug, who.version, place, home.org_id, home.project_id
        )
        before = await controllers.controller_seen(conn, one, now)
        if before is not None and before < missed:
            call.platform.signals.wake(SWEEP_TOPIC)


async def seen_again(call: Call, conn: Connection, row: OperationRow) -> None:
    """A heartbeat: the replica that holds the lease is at work for the operation's instance."""
    who = ControllerSelf(replica=row.lease_replica or "unknown")
    known = await controllers.replica_touch(
        conn, call.caller.id, who.replica, row.app_slug, call.platform.clock.now()
    )
    if not known:
        await seen(call, conn, who, row.app_slug, [row.instance_id])


async def absence_note(scene: Scene) -> None:
    """Say at birth when nobody is there to do the work."""
    row, work = scene.instance, scene.work
    since = work.now - absent_after(work.call)
    places = [EVERYWHERE, row.org_id, row.project_id]
    if not await controllers.controller_present(work.conn, row.app_slug, places, since):
        absence_set(scene, waits=False)


def absence_set(scene: Scene, *, waits: bool) -> None:
    """Put the condition on the instance."""
    row = scene.instance
    message = f"No controller of {row.app_slug} that serves this project has been seen for a while."
    if waits:
        message = f"Work waits, and no controller of {row.app_slug} takes it."
    condition = {
        "type": ConditionType.CONTROLLER_ABSENT,
        "reason": "work_waits" if waits else "not_seen",
        "message": message,
        "next_action": "Start the app's controller, or check its service account.",
    }
    scene.instance_change(conditions=rules.condition_set(row.conditions, condition, scene.work.now))


def absence_unset(scene: Scene) -> None:
    """Take the condition off."""
    rest = rules.condition_clear(scene.instance.conditions, ConditionType.CONTROLLER_ABSENT)
    scene.instance_change(conditions=rest)


async def controller_list(call: Call, project_id: str) -> list[Controller]:
    """Controllers seen that serve a project, by app."""
    async with call.db.connection() as conn:
        place = await project_place(conn, project_id)
        call.caller.require(Permission.INSTANCE_READ, place)
        places = [EVERYWHERE, place.org_id or "", project_id]
        records = await controllers.controllers_list(conn, places)
    since = call.platform.clock.now() - absent_after(call)
    return [Controller(**dict(one), present=one["last_seen"] > since) for one in records]


def absent_after(call: Call) -> timedelta:
    """How long a controller may be silent before it counts as absent."""
    return timedelta(seconds=call.platform.settings.controller_absent_seconds)
