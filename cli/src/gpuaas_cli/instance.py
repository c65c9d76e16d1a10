"""`gpuaas instance …`: the verbs made by hand: show, watch, run, delete."""

import sys
from functools import partial
from typing import Annotated, Any

from gpuaas_cli import later
from gpuaas_cli.body import body_make
from gpuaas_cli.manifests import manifest_of
from gpuaas_cli.names import identified
from gpuaas_cli.options import Asking, Connection
from gpuaas_cli.output import show as shown
from gpuaas_cli.said import Parameter
from gpuaas_cli.session import Session, Stop, confirmed, run


def show(
    instance: Annotated[str, Parameter(help="id or name of the instance")],
    *,
    connection: Connection | None = None,
) -> int:
    """Show an instance: status, members, what the app says, what can be done now.

    Examples
    --------
    $ gpuaas instance show first
    """

    async def command(session: Session) -> int:
        found = await _load(session, await identified(session, "instance_id", instance))
        if session.options.output in {"table", "wide"} and session.options.field is None:
            wide = session.options.output == "wide"
            sys.stdout.write(later.views.instance_text(found, wide=wide))
        else:
            _print(found["instance"] | {"members": found["members"]}, session)
        return 0

    return run(connection, command)


def watch(
    instance: Annotated[str, Parameter(help="id or name of the instance")],
    *,
    connection: Connection | None = None,
) -> int:
    """Follow an instance as it changes, until Ctrl-C or its end.

    Examples
    --------
    $ gpuaas instance watch first
    """

    async def command(session: Session) -> int:
        wanted = await identified(session, "instance_id", instance)
        wide = session.options.output == "wide"
        with later.screen.Screen() as screen:
            async for found in later.watching.changes(session, partial(_load, session, wanted)):
                if screen.is_terminal:
                    screen.show(later.views.instance_text(found, wide=wide))
                else:
                    one = found["instance"]
                    sys.stdout.write(f"{one['updated_at']} {one['status']} {one['health']}\n")
                    sys.stdout.flush()
                if found["instance"]["status"] == "deleted":
                    return 0
        return 0

    return run(connection, command)


def run_operation(
    instance: Annotated[str, Parameter(help="id or name of the instance")],
    kind: Annotated[str, Parameter(help="as the app's manifest calls it")],
    *,
    asking: Asking | None = None,
    connection: Connection | None = None,
) -> int:
    """Ask for any operation of the app's manifest; --set and --file give its input.

    --dry-run shows what it would do. `gpuaas instance show` lists what can be asked for now.

    Examples
    --------
    $ gpuaas instance run first restart --wait
    """

    async def command(session: Session) -> int:
        wanted = await identified(session, "instance_id", instance)
        found = await session.read(f"/app-instances/{wanted}")
        manifest = await manifest_of(session, found)
        spec = next((one for one in manifest["operations"] if one["kind"] == kind), None)
        if spec is None:
            known = ", ".join(one["kind"] for one in manifest["operations"])
            raise Stop(f"the app has no operation {kind!r}; it has: {known}.")
        request = {"kind": kind, "input": body_make(asking, (), {})}
        return await ask(session, found, spec, request, asking)

    return run(connection, command)


def delete(
    instance: Annotated[str, Parameter(help="id or name of the instance")],
    *,
    asking: Asking | None = None,
    connection: Connection | None = None,
) -> int:
    """Decommission an instance: everything the app installed is removed, and that is proven.

    Examples
    --------
    $ gpuaas instance delete first --yes --wait
    """

    async def command(session: Session) -> int:
        wanted = await identified(session, "instance_id", instance)
        found = await session.read(f"/app-instances/{wanted}")
        given = asking or Asking()
        if given.dry_run:
            return await _preview(session, wanted, {"kind": await _deleting(session, found)})
        confirmed(f"Decommission {found['resource_name']} ({wanted})?", given)
        answer = await session.ask("DELETE", f"/app-instances/{wanted}", None, given)
        return await told(session, answer, given)

    return run(connection, command)


async def ask(
    session: Session,
    instance: dict[str, Any],
    spec: Any,  # noqa: ANN401 - an operation of a manifest
    request: dict[str, Any],
    asking: Asking | None,
) -> int:
    """Ask for an operation: shown first when dry, confirmed when the app wants that."""
    given = asking or Asking()
    if given.dry_run:
        return await _preview(session, instance["id"], request)
    if spec["destructive"]:
        said = (spec["confirmation"] or {}).get("text", "")
        confirmed(f"{spec['title']} of {instance['resource_name']}? {said}", given)
    path = f"/app-instances/{instance['id']}/operations"
    return await told(session, await session.ask("POST", path, request, given), given)


async def told(session: Session, answer: dict[str, Any], asking: Asking) -> int:
    """What a request for work became, or how it ended."""
    if asking.wait:
        asked = later.progress.operations_of(answer)
        return await later.progress.wait_for(session, asked, asking.timeout)
    if answer.get("topology_changed_from"):
        before, after = answer["topology_changed_from"], answer["instance"]["topology"]
        sys.stderr.write(f"the topology changes from {before} to {after}\n")
    columns = ("id", "kind", "status", "member_id", "correlation_id")
    rows = answer.get("operations", [answer])
    _print(rows, session, columns)
    return 0


async def _preview(session: Session, instance_id: str, request: dict[str, Any]) -> int:
    path = f"/app-instances/{instance_id}/operations/preview"
    _print(await session.ask("POST", path, request, None), session)
    return 0


async def _deleting(session: Session, instance: dict[str, Any]) -> str:
    operations = (await manifest_of(session, instance))["operations"]
    return str(next(one["kind"] for one in operations if one["purpose"] == "delete"))


async def _load(session: Session, instance_id: str) -> dict[str, Any]:
    base = f"/app-instances/{instance_id}"
    instance = await session.read(base)
    members = (await session.read(f"{base}/members", limit=500))["items"]
    running = (await session.read(f"{base}/operations", status="running", limit=20))["items"]
    return {"instance": instance, "members": members, "running": running}


def _print(answer: Any, session: Session, columns: tuple[str, ...] = ()) -> None:  # noqa: ANN401 - JSON
    shown(answer, session.options.output, columns)
