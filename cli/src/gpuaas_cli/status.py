"""`gpuaas status`: is the platform there, and can it do its work?"""

from typing import Annotated

from cyclopts import Parameter

from gpuaas_cli.output import Format, show_json, show_table
from gpuaas_cli.session import Connection, run
from gpuaas_contract.operate import Readiness, Version
from gpuaas_sdk import Client, Request

_READY = Request("GET", "/health/ready", accept=(503,))


def status(
    *,
    connection: Connection | None = None,
    output: Annotated[Format, Parameter(name=["--output", "-o"], help="table or json")] = "table",
) -> int:
    """Show whether the platform is ready, and what is missing if not.

    Exit code 0 when it is ready, 2 when it is not or does not answer.

    Examples
    --------
    $ gpuaas status
    $ gpuaas status -o json --url https://gpuaas.example.org
    """

    async def show(client: Client) -> int:
        readiness = await client.call(_READY, Readiness)
        if output == "json":
            show_json(readiness)
        else:
            version = await client.get("/version", Version)
            mark = {True: "ok", False: "missing"}
            rows = [[check.name, mark[check.ok], check.detail] for check in readiness.checks]
            rows.insert(0, ["platform", readiness.status, f"version {version.version}"])
            show_table(["part", "state", "detail"], rows)
        return 0 if readiness.status == "ready" else 2

    return run(connection, show)
