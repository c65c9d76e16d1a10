"""`gpuaas api`: any call of the contract, for scripts and for what has no command of its own."""

import sys
from typing import Annotated, Literal

from cyclopts import Parameter
from pydantic import RootModel, ValidationError

from gpuaas_cli.session import Connection, run
from gpuaas_contract.common import Json
from gpuaas_sdk import Client, GpuaasError, Request

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


class Body(RootModel[Json | list[Json]]):
    """A JSON body as it was given."""


def api(
    method: Method,
    path: str,
    *,
    body: Annotated[str | None, Parameter(help="JSON to send; - reads standard input")] = None,
    connection: Connection | None = None,
    idempotency_key: Annotated[str | None, Parameter(help="repeat a mutation safely")] = None,
) -> int:
    """Call the API with your identity and print the answer as JSON.

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

    async def call(client: Client) -> int:
        request = Request(
            method,
            path,
            body=_body(body),
            idempotency_key=idempotency_key,
            correlation_id=connection.correlation_id if connection else None,
        )
        response = await client.send(request)
        sys.stdout.write(response.text + ("\n" if response.text else ""))
        return 0

    return run(connection, call)


def _body(given: str | None) -> Body | None:
    if given is None:
        return None
    text = sys.stdin.read() if given == "-" else given
    try:
        return Body.model_validate_json(text)
    except ValidationError as error:
        raise GpuaasError("--body is not a JSON object or list") from error
