"""Names people use, turned into ids: `--project research`, `gpuaas instance show alpha`.

What looks like an id is taken as one, without a question to the platform.
"""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from gpuaas_cli.session import NoSuchName, Session, Stop

_ID = re.compile(r"^[a-z]{2,8}_[0-9a-z]{16,}$")


@dataclass(frozen=True)
class Listed:
    """Where things with a name are listed, and which field is the name."""

    path: str
    field: str = "name"


_LISTS = {
    "org_id": Listed("/tenants"),
    "project_id": Listed("/projects"),
    "instance_id": Listed("/projects/{project_id}/app-instances", "resource_name"),
    "allocation_id": Listed("/allocations?project_id={project_id}"),
    "account_id": Listed("/projects/{project_id}/service-accounts"),
    "node_id": Listed("/nodes"),
    "credential_id": Listed("/access-credentials?project_id={project_id}"),
    "secret_id": Listed("/runtime-secrets?project_id={project_id}"),
    "user_id": Listed("/users", "email"),
}
_NOUNS = {
    "org_id": "tenant",
    "account_id": "service-account",
    "credential_id": "access-credential",
    "secret_id": "runtime-secret",
}
_GONE = {"deleted", "released", "removed"}


async def project_id(session: Session) -> str:
    """The project one works in."""
    return await identified(session, "project_id", session.scope("project"))


async def tenant_id(session: Session) -> str:
    """The tenant one works in: named, or the project's."""
    if session.options.tenant or session.context.tenant:
        return await identified(session, "org_id", session.scope("tenant"))
    if not (session.options.project or session.context.project):
        return session.scope("tenant")  # says what to do
    return str((await session.read(f"/projects/{await project_id(session)}"))["org_id"])


async def identified(session: Session, parameter: str, named: str) -> str:
    """The id of something named by id or by name."""
    listed = _LISTS.get(parameter)
    if listed is None or _ID.match(named):
        return named
    path = listed.path
    if "{project_id}" in path:
        path = path.format(project_id=await project_id(session))
    found = [one async for one in things(session, path) if one[listed.field] == named]
    alive = [one for one in found if one.get("status") not in _GONE] or found
    if len(alive) == 1:
        return str(alive[0]["id"])
    if not alive:
        raise NoSuchName(_NOUNS.get(parameter, parameter.removesuffix("_id")), named)
    ids = ", ".join(str(one["id"]) for one in alive)
    raise Stop(f"{named} is the name of several: {ids}; give the id.")


async def things(session: Session, path: str) -> AsyncIterator[dict[str, Any]]:
    """Everything a list holds."""
    cursor: str | None = None
    while True:
        page = await session.read(path, limit=500, cursor=cursor)
        for one in page["items"]:
            yield one
        cursor = page.get("next_cursor")
        if cursor is None:
            return
