"""`gpuaas operation …` (also `op`): the verbs made by hand: watch, retry, cancel."""

from typing import Annotated

from gpuaas_cli import later
from gpuaas_cli.options import Changing, Connection, Waiting
from gpuaas_cli.output import show
from gpuaas_cli.said import Parameter
from gpuaas_cli.session import Session, dry_run_show, run
from gpuaas_sdk import Request

Which = Annotated[str, Parameter(help="id of the operation")]


def watch(
    operation: Which,
    *,
    timeout: Annotated[float, Parameter(help="seconds to wait at most")] = 3600.0,
    connection: Connection | None = None,
) -> int:
    """Follow the steps of an operation until its end; exit 6 if it did not succeed.

    Examples
    --------
    $ gpuaas op watch op_01h…
    """

    async def command(session: Session) -> int:
        found = await session.read(f"/operations/{operation}")
        return await later.progress.wait_for(session, [found], timeout)

    return run(connection, command)


def retry(
    operation: Which,
    *,
    waiting: Waiting | None = None,
    changing: Changing | None = None,
    connection: Connection | None = None,
) -> int:
    """Try a failed operation again: the same operation, a new attempt.

    Examples
    --------
    $ gpuaas op retry op_01h… --wait
    """
    return _way_out(operation, "retry", (changing, waiting), connection)


def cancel(
    operation: Which,
    *,
    waiting: Waiting | None = None,
    changing: Changing | None = None,
    connection: Connection | None = None,
) -> int:
    """Stop an operation at the next safe point; what can be undone is undone.

    Examples
    --------
    $ gpuaas op cancel op_01h…
    """
    return _way_out(operation, "cancel", (changing, waiting), connection)


def _way_out(
    operation: str,
    way: str,
    how: tuple[Changing | None, Waiting | None],
    connection: Connection | None,
) -> int:
    changing, waiting = how[0] or Changing(), how[1] or Waiting()
    path = f"/operations/{operation}/{way}"
    if changing.dry_run:
        return dry_run_show(Request("POST", path), (connection or Connection()).output)

    async def command(session: Session) -> int:
        answer = await session.ask("POST", path, None, changing)
        if waiting.wait:
            code = await later.progress.wait_for(session, [answer], waiting.timeout)
            return 0 if way == "cancel" else code
        show(answer, session.options.output)
        return 0

    return run(connection, command)
