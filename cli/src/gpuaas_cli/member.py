"""`gpuaas member …` (also `worker`): the same five words for every app, by its manifest."""

from collections.abc import Sequence
from typing import Annotated, Any

from gpuaas_cli.body import body_make
from gpuaas_cli.instance import ask
from gpuaas_cli.manifests import manifest_of, operation_for, placed
from gpuaas_cli.names import identified
from gpuaas_cli.options import Asking, Connection
from gpuaas_cli.said import Parameter
from gpuaas_cli.session import Session, Stop, run


def add(
    instance: Annotated[str, Parameter(help="id or name of the instance")],
    *allocations: Annotated[str, Parameter(help="allocations, one or many, by id or name")],
    component: Annotated[str | None, Parameter(help="where the app has several")] = None,
    asking: Asking | None = None,
    connection: Connection | None = None,
) -> int:
    """Add members on allocations the project holds; many at once make a group.

    Examples
    --------
    $ gpuaas member add first n2 n3 --wait
    """

    async def command(session: Session) -> int:
        if not allocations:
            raise Stop("on which allocations? `gpuaas allocation list` shows those there are.")
        wanted = await identified(session, "instance_id", instance)
        found = await session.read(f"/app-instances/{wanted}")
        spec = operation_for(await manifest_of(session, found), "member_add", component)
        ids = [await identified(session, "allocation_id", one) for one in allocations]
        given = placed(spec, ids, component) | body_make(asking, (), {})
        request = {"kind": spec["kind"], "input": given}
        return await ask(session, found, spec, request, asking)

    return run(connection, command)


def drain(
    *members: Annotated[str, Parameter(help="members, one or many: ids, or INSTANCE/ALLOCATION")],
    asking: Asking | None = None,
    connection: Connection | None = None,
) -> int:
    """Take members out of service; what runs on them may finish.

    Examples
    --------
    $ gpuaas member drain first/n2 --wait
    """
    return _on_members("member_drain", members, asking, connection)


def resume(
    *members: Annotated[str, Parameter(help="members, one or many: ids, or INSTANCE/ALLOCATION")],
    asking: Asking | None = None,
    connection: Connection | None = None,
) -> int:
    """Put drained members back into service.

    Examples
    --------
    $ gpuaas member resume first/n2 --wait
    """
    return _on_members("member_resume", members, asking, connection)


def remove(
    *members: Annotated[str, Parameter(help="members, one or many: ids, or INSTANCE/ALLOCATION")],
    asking: Asking | None = None,
    connection: Connection | None = None,
) -> int:
    """Remove members; their machines are cleaned and checked.

    Examples
    --------
    $ gpuaas member remove first/n2 --yes --wait
    """
    return _on_members("member_remove", members, asking, connection)


def replace(
    member: Annotated[str, Parameter(help="the member: its id, or INSTANCE/ALLOCATION")],
    allocation: Annotated[str, Parameter(help="allocation that takes its place, by id or name")],
    *,
    asking: Asking | None = None,
    connection: Connection | None = None,
) -> int:
    """Put another machine in a member's place.

    Examples
    --------
    $ gpuaas member replace first/n2 n4 --wait
    """
    return _on_members("member_replace", (member,), asking, connection, allocation)


def _on_members(
    purpose: str,
    members: Sequence[str],
    asking: Asking | None,
    connection: Connection | None,
    allocation: str | None = None,
) -> int:
    async def command(session: Session) -> int:
        if not members:
            raise Stop("which members? `gpuaas member list INSTANCE` shows those there are.")
        found = [await _member(session, one) for one in members]
        instances = {one["instance_id"] for one in found}
        if len(instances) > 1:
            raise Stop("these members are of several instances; ask for each instance by itself.")
        instance = await session.read(f"/app-instances/{instances.pop()}")
        spec = await _spec(session, instance, purpose, found)
        given = body_make(asking, (), {})
        if allocation is not None:
            place = await identified(session, "allocation_id", allocation)
            given = placed(spec, [place], found[0]["component_key"]) | given
        ids = [one["id"] for one in found]
        request = {"kind": spec["kind"], "member_ids": ids, "input": given}
        return await ask(session, instance, spec, request, asking)

    return run(connection, command)


async def _member(session: Session, named: str) -> dict[str, Any]:
    """A member by its id, or as INSTANCE/ALLOCATION."""
    instance, slash, allocation = named.partition("/")
    if not slash:
        found: dict[str, Any] = await session.read(f"/app-members/{named}")
        return found
    instance_id = await identified(session, "instance_id", instance)
    allocation_id = await identified(session, "allocation_id", allocation)
    listed = (await session.read(f"/app-instances/{instance_id}/members", limit=500))["items"]
    there = [one for one in listed if one["allocation_id"] == allocation_id]
    if len(there) == 1:
        return dict(there[0])
    ids = ", ".join(f"{one['component_key']} {one['id']}" for one in there) or "none"
    raise Stop(f"{named} names no single member; on that allocation: {ids}.")


async def _spec(
    session: Session, instance: dict[str, Any], purpose: str, members: Sequence[dict[str, Any]]
) -> Any:  # noqa: ANN401 - an operation of a manifest
    components = {one["component_key"] for one in members}
    if len(components) > 1:
        raise Stop(f"these members are of several components ({', '.join(sorted(components))}).")
    return operation_for(await manifest_of(session, instance), purpose, components.pop())
