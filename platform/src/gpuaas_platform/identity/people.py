"""The people of a project, as apps that make accounts on machines need to know them.

Apps read the list and follow the events of the project: `identity.role_binding.created`,
`identity.role_binding.deleted`, and `identity.person.changed` from here.
"""

from gpuaas_contract.common import Page
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.identity import Person
from gpuaas_contract.permissions import Permission
from gpuaas_platform.identity.places import project_place
from gpuaas_platform.identity.rules import role_permissions
from gpuaas_platform.identity.store import people as store
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.database import Record
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import PlatformError
from gpuaas_platform.kernel.work import Happened, Work

_SEES_ROLES = (Permission.BINDING_READ, Permission.OPERATION_CONTROL)
"""Either of them shows everybody's roles: administrators and auditors, and apps' controllers."""


async def person_list(call: Call, project_id: str, cursor: str | None, limit: int) -> Page[Person]:
    """People with a role in the project or its tenant, by their number on machines.

    What each of them may do is for those who may read role bindings, for apps, which make accounts
    by it, and for the person.
    """
    after = cursor_decode(cursor) or "0"
    if not after.isdigit() or len(after) > 9:
        raise PlatformError(ErrorCode.INVALID_CURSOR, "The cursor was not made by this list.")
    wanted = store.PersonFilter(project_id, call.platform.clock.now(), int(after), limit + 1)
    async with call.db.connection() as conn:
        place = await project_place(conn, project_id)
        call.caller.require(Permission.PERSON_READ, place)
        rows = await store.project_people(conn, wanted)
    everybody = any(call.caller.allows(one, place) for one in _SEES_ROLES)
    people = [_person(row, shown=everybody or row["id"] == call.caller.id) for row in rows]
    return page_of(people, limit, lambda person: str(person.posix_uid))


async def person_changed(user_id: str, active: bool, work: Work) -> None:
    """Tell every project somebody works in: its apps do not hear of a tenant's own events."""
    for row in await store.user_projects(work.conn, user_id):
        place = Place(row["org_id"], row["project_id"])
        work.emit(Happened("identity.person.changed", user_id, place, {"active": active}))


def _person(row: Record, *, shown: bool) -> Person:
    keys = [role_permissions(name, custom) for name, _, custom in row["held"]]
    return Person(
        user_id=row["id"],
        email=row["email"],
        display_name=row["display_name"],
        posix_name=row["posix_name"],
        posix_uid=row["posix_uid"],
        active=row["active"],
        roles=[name or role_id for name, role_id, _ in row["held"]] if shown else None,
        permissions=sorted(frozenset().union(*keys)) if shown else None,
    )
