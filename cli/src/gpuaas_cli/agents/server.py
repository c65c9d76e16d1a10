"""The server behind `gpuaas mcp serve`: each tool call is one call of the API, as the caller.

It has no rights of its own: what the context's identity may not do, an agent cannot do through it.
Whatever destroys is asked about first: the person at the client where it can ask, else by naming
the thing twice.
"""

import json
import signal
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from gpuaas_cli.agents.tools import CONFIRM, offered, tool
from gpuaas_cli.book import Operation
from gpuaas_cli.flags import SCOPES
from gpuaas_cli.names import identified, project_id, tenant_id
from gpuaas_cli.session import Session, Stop
from gpuaas_sdk import GpuaasError, ProblemError, Request

Result = types.CallToolResult | types.InputRequiredResult
Ctx = ServerRequestContext[Any]
_MODERN: Final = "2026"
_QUESTION: Final = "confirmation"
_FORM: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"confirm": {"type": "boolean", "title": "Do it"}},
    "required": ["confirm"],
}
_INSTRUCTIONS: Final = (
    "Tools are the operations of a GPUaaS platform, with the caller's own permissions. Long work"
    " answers with an operation: read it with operation_read (wait=30s) until it has ended. Errors"
    " name a code, the next actions and a correlation id; correlation_read tells an incident whole."
)


async def serve_stdio(session: Session, *, read_only: bool) -> int:
    """Serve one client on standard input and output, until it leaves."""
    server = server_make(session, read_only=read_only)
    # Ctrl-C ends it at once: the thread that reads would be waited for until the client speaks.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
    return 0


def server_make(session: Session, *, read_only: bool) -> Server[Any]:
    """The server, for one identity."""
    known = offered(read_only=read_only)

    async def list_tools(
        _: Ctx, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        del params
        return types.ListToolsResult(tools=[tool(one) for one in known.values()])

    async def call_tool(ctx: Ctx, params: types.CallToolRequestParams) -> Result:
        operation = known.get(params.name)
        if operation is None:
            return _told({"error": f"there is no tool {params.name}"}, error=True)
        given = dict(params.arguments or {})
        try:
            path = await _path(session, operation, given)
            if operation.destroys:
                asked = await _confirmed(ctx, params, operation, path)
                if asked is not None:
                    return asked
            return await _called(session, operation, path, given)
        except ProblemError as error:
            return _told(error.problem.model_dump(mode="json", exclude_defaults=True), error=True)
        except GpuaasError as error:
            return _told({"error": str(error)}, error=True)

    return Server(
        "gpuaas", instructions=_INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool
    )


async def _called(
    session: Session, operation: Operation, path: str, given: Mapping[str, Any]
) -> types.CallToolResult:
    fields = {flag.name for flag in operation.fields}
    body = {name: value for name, value in given.items() if name in fields}
    lacking = [f.name for f in operation.fields if f.required and f.name not in body]
    if lacking:
        raise Stop(f"{operation.id} needs {', '.join(lacking)}")
    params = await _params(session, operation, given)
    wait = str(params.get("wait") or "0s")
    request = Request(
        operation.method,
        path,
        body=body if operation.body is not None else None,
        params=params,
        idempotency_key=given.get("idempotency_key"),
        correlation_id=given.get("correlation_id") if operation.mutates else None,
        wait=float(wait.rstrip("s")) if wait.rstrip("s").isdigit() else 0.0,
    )
    response = await session.send(request)
    return _told(response.json() if response.content else {"done": True})


async def _confirmed(
    ctx: Ctx, params: types.CallToolRequestParams, operation: Operation, path: str
) -> Result | None:
    """None when it may be done; else the question, or the refusal."""
    question = f"{operation.noun} {operation.verb}: {operation.method} {path}. Do it?"
    capabilities = ctx.session.client_capabilities
    if capabilities is None or capabilities.elicitation is None:
        wanted = path.strip("/").split("/")[1]
        if (params.arguments or {}).get(CONFIRM) == wanted:
            return None
        return _told({"error": f"{question} Call again with {CONFIRM}={wanted!r}."}, error=True)
    form = types.ElicitRequestFormParams(message=question, requested_schema=_FORM)
    if ctx.protocol_version < _MODERN:
        answer: Any = await ctx.session.elicit_form(question, _FORM, ctx.request_id)
    else:
        answer = (params.input_responses or {}).get(_QUESTION)
        if answer is None:
            asked: types.InputRequests = {_QUESTION: types.ElicitRequest(params=form)}
            return types.InputRequiredResult(input_requests=asked)
    content = getattr(answer, "content", None) or {}
    if getattr(answer, "action", "") == "accept" and content.get("confirm") is True:
        return None
    return _told({"error": "the person did not agree; nothing was changed"}, error=True)


async def _path(session: Session, operation: Operation, given: Mapping[str, Any]) -> str:
    path = operation.path
    for flag in operation.params:
        if flag.place != "path":
            continue
        named = given.get(flag.name)
        if named is not None:
            value = await identified(session, flag.name, str(named))
        elif flag.name in SCOPES:
            value = await (project_id if flag.name == "project_id" else tenant_id)(session)
        else:
            raise Stop(f"{operation.id} needs {flag.name}")
        path = path.replace(f"{{{flag.name}}}", quote(value, safe=""))
    return path


async def _params(
    session: Session, operation: Operation, given: Mapping[str, Any]
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for flag in operation.params:
        value = given.get(flag.name)
        if flag.place != "query" or value is None:
            continue
        known = flag.name in SCOPES
        found[flag.name] = await identified(session, flag.name, value) if known else value
    return found


def _told(answer: Any, *, error: bool = False) -> types.CallToolResult:  # noqa: ANN401 - JSON
    """An answer, as text every client can show and as data for those that read it."""
    text = json.dumps(answer, ensure_ascii=False)
    data = answer if isinstance(answer, dict) else {"items": answer}
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(content=content, structured_content=data, is_error=error)
