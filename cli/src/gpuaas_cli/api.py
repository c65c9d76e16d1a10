"""`gpuaas api`: any call of the contract, for scripts and for what has no command of its own."""

import json
import sys
from typing import Annotated, Any, Literal

from gpuaas_cli.options import Connection
from gpuaas_cli.output import show
from gpuaas_cli.prompts import text_read
from gpuaas_cli.said import Parameter
from gpuaas_cli.session import Session, Stop, run
from gpuaas_sdk import Request

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


def api(
    method: Method,
    path: str,
    *,
    body: Annotated[
        str | None, Parameter(allow_leading_hyphen=True, help="JSON to send; - reads it")
    ] = None,
    idempotency_key: Annotated[str | None, Parameter(help="repeat a mutation safely")] = None,
    connection: Connection | None = None,
) -> int:
    """Call the API with your identity and print the answer as JSON, or as `-o` says.

    Parameters
    ----------
    method
        GET, POST, PUT, PATCH or DELETE.
    path
        Path below /api/v1, with its query.

    Examples
    --------
    $ gpuaas api GET /projects
    $ gpuaas api POST /regions --body '{"name": "north", "display_name": "North"}'
    """

    async def call(session: Session) -> int:
        given = None if body is None else _body(body)
        request = Request(method, path, body=given, idempotency_key=idempotency_key)
        response = await session.send(request)
        if "json" in response.headers.get("content-type", ""):
            form = session.options.output
            show(response.json(), "json" if form == "table" else form)
        else:
            sys.stdout.write(response.text)
        return 0

    return run(connection, call)


def _body(given: str) -> Any:  # noqa: ANN401 - JSON
    text = text_read() if given == "-" else given
    try:
        found = json.loads(text)
    except ValueError as error:
        raise Stop("--body is not JSON") from error
    if not isinstance(found, dict | list):
        raise Stop("--body is not a JSON object or list")
    return found
