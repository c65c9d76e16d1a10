"""Names people use, turned into ids: `--project research`, `gpuaas instance show alpha`; and back.

What looks like an id is taken as one, without a question to the platform.
"""

import re
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Any

from gpuaas_cli.session import NoSuchName, Session, Stop
from gpuaas_sdk import NotFoundError, TemporaryError, UnreachableError

_ID = re.compile(r"\b[a-z]{2,8}_[0-9a-z]{16,}\b")


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
_AT_ONCE = 100


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
    if listed is None or _ID.fullmatch(named):
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


class Known:
    """What people call the things whose ids stand in what is shown to them; asked for once each."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    async def ask(self, session: Session, texts: Iterable[str]) -> None:
        """Learn the names of what these texts mention, as far as the caller may know them."""
        mentioned = (one for text in texts for one in _ID.findall(text))
        new = [one for one in dict.fromkeys(mentioned) if one not in self._names]
        for first in range(0, len(new), _AT_ONCE):
            ids = new[first : first + _AT_ONCE]
            try:
                items = (await session.read("/names", id=ids))["items"]
            except NotFoundError:  # a platform of a release before
                items = []
            except (UnreachableError, TemporaryError):
                return  # what is shown next asks again
            self._names |= dict.fromkeys(ids, "") | {one["id"]: one["name"] for one in items}

    def told(self, text: str) -> str:
        """The text with names in the place of ids, where they are known."""
        return _ID.sub(lambda found: self._names.get(found[0]) or found[0], text)
