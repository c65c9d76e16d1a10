"""`gpuaas status`: is the platform there, and can it do its work?"""

from gpuaas_cli import later
from gpuaas_cli.options import Connection
from gpuaas_cli.output import show
from gpuaas_cli.session import Session, run
from gpuaas_sdk import Request

_READY = Request("GET", "/health/ready", accept=(503,))


def status(*, connection: Connection | None = None) -> int:
    """Show whether the platform is ready, and what is missing if not.

    Exit code 0 when it is ready, 2 when it is not or does not answer.

    Examples
    --------
    $ gpuaas status
    $ gpuaas status -o json --url https://gpuaas.example.org
    """

    async def command(session: Session) -> int:
        readiness = (await session.send(_READY)).json()
        if session.options.output == "table" and not session.options.field:
            version = (await session.read("/version"))["version"]
            mark = {True: "ok", False: "missing"}
            rows = [[one["name"], mark[one["ok"]], one["detail"]] for one in readiness["checks"]]
            rows.insert(0, ["platform", readiness["status"], f"version {version}"])
            later.tables.table_print(["part", "state", "detail"], rows)
        else:
            show(readiness, session.options.output)
        return 0 if readiness["status"] == "ready" else 2

    return run(connection, command)
