"""`gpuaas deploy APP`: from the catalog to a running instance."""

import sys
from dataclasses import dataclass
from typing import Annotated, Any

from gpuaas_cli import later
from gpuaas_cli.asking import form_fill
from gpuaas_cli.body import body_make
from gpuaas_cli.manifests import field_at
from gpuaas_cli.names import identified, project_id
from gpuaas_cli.options import Asking, Connection
from gpuaas_cli.output import note, show
from gpuaas_cli.said import Parameter
from gpuaas_cli.session import Session, Stop, run


def deploy(
    app: Annotated[str, Parameter(help="the app's name in the catalog")],
    *,
    name: Annotated[str | None, Parameter(help="of the instance; the app's when left out")] = None,
    version: Annotated[str | None, Parameter(help="the newest allowed here when left out")] = None,
    asking: Asking | None = None,
    connection: Connection | None = None,
) -> int:
    """Deploy an app of the catalog into machines the project holds.

    What the app needs is asked for on a terminal; elsewhere give it with --set or --file.
    Allocations may be named by their names. --dry-run checks the input and changes nothing.

    Examples
    --------
    $ gpuaas deploy notes --name first --set board=n1 --wait
    """
    given = _Given(app, name or app, version, asking or Asking())

    async def command(session: Session) -> int:
        return await _deploy(session, given, body_make(given.asking, (), {}))

    return run(connection, command)


@dataclass(frozen=True)
class _Given:
    """What was typed."""

    app: str
    name: str
    version: str | None
    asking: Asking


async def _deploy(session: Session, given: _Given, settings: dict[str, Any]) -> int:
    project = await project_id(session)
    version = given.version or await _newest(session, project, given.app)
    base = f"/projects/{project}/apps/{given.app}/versions/{version}"
    form = await session.read(f"{base}/form")
    asks = sys.stdin.isatty() and not given.asking.no_input
    filled = await form_fill(session, project, form, settings, asks=asks)
    filled = await _allocations(session, form["input_schema"], filled)
    if given.asking.dry_run:
        return await _checked(session, base, filled)
    body = {"app_slug": given.app, "version": version, "name": given.name, "settings": filled}
    answer = await session.ask("POST", f"/projects/{project}/app-instances", body, given.asking)
    if not given.asking.wait:
        show(answer["instance"], session.options.output)
        return 0
    note(f"{answer['instance']['id']} {given.name}: {given.app} {version}")
    asked = later.progress.operations_of(answer)
    ended = await later.progress.waited_for(session, asked, given.asking.timeout)
    code = later.progress.ended_code(ended)
    instance = await session.read(f"/app-instances/{answer['instance']['id']}")
    if session.options.output != "table" or session.options.field is not None:
        show(instance, session.options.output)
        return code
    stands = f"{instance['status']} / {instance['health']}"
    note(f"{stands}; correlation id: {instance['correlation_id']}")
    return code


async def _newest(session: Session, project: str, app: str) -> str:
    found = await session.read(f"/projects/{project}/apps/{app}")
    if found["latest_available"] is None:
        reasons = "; ".join(one["message"] for one in found["reasons"]) or "no version allowed"
        raise Stop(f"{app} cannot be deployed in this project: {reasons}")
    return str(found["latest_available"])


async def _checked(session: Session, base: str, filled: dict[str, Any]) -> int:
    """Whether the input would do; nothing is changed."""
    answer = await session.ask("POST", f"{base}/validate-input", {"input": filled}, None)
    show(answer, session.options.output)
    return 0 if answer["valid"] else 1


async def _allocations(
    session: Session, schema: dict[str, Any], filled: dict[str, Any]
) -> dict[str, Any]:
    """Allocations by id, where the form picks allocations and a name was given."""
    made = dict(filled)
    for name, value in filled.items():
        if field_at(schema, f"/{name}").get("x-widget") != "allocation_picker":
            continue
        if isinstance(value, list):
            made[name] = [await identified(session, "allocation_id", str(one)) for one in value]
        elif isinstance(value, str):
            made[name] = await identified(session, "allocation_id", value)
    return made
