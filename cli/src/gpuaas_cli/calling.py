"""Runs a generated command: its flags become one call, its answer what the person sees."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote

from gpuaas_cli import later
from gpuaas_cli.body import body_make, missing
from gpuaas_cli.book import Flag, Operation
from gpuaas_cli.flags import HANDLED, SCOPES, field_option
from gpuaas_cli.names import identified, project_id, tenant_id, things
from gpuaas_cli.options import EVERYWHERE, Changing, Listing, Waiting
from gpuaas_cli.output import note, show
from gpuaas_cli.session import OPERATION_FAILED, Session, Stop, confirmed, dry_run_show
from gpuaas_cli.session import run as run_session
from gpuaas_sdk import Request

Given = Mapping[str, Any]
_MOST = 500
_STREAMS = {"text/event-stream", "application/x-ndjson"}


def run(operation: Operation, given: Given) -> int:
    """The exit code of the command."""

    async def command(session: Session) -> int:
        if operation.media in _STREAMS:
            request = await _request(session, operation, given)
            return await later.streaming.stream_print(session, operation, request)
        if operation.page and (given.get("listing") or Listing()).watch:
            load = partial(_list, session, operation, given)
            return await later.watching.watch_list(session, operation, load)
        if operation.page:
            show(await _list(session, operation, given), session.options.output, operation.columns)
            return 0
        if not operation.mutates:
            return await _read(session, operation, given)
        return await _change(session, operation, given)

    return run_session(given.get("connection"), command)


async def _read(session: Session, operation: Operation, given: Given) -> int:
    response = await session.send(await _request(session, operation, given))
    if operation.media or "json" not in response.headers.get("content-type", ""):
        sys.stdout.buffer.write(response.content)
        sys.stdout.flush()
        return 0
    show(response.json(), session.options.output, operation.columns)
    return 0


async def _list(session: Session, operation: Operation, given: Given) -> list[Any]:
    """Every entry, up to the limit; of every project in reach where all are wanted."""
    listing: Listing = given.get("listing") or Listing()
    limit = listing.limit
    found: list[Any] = []
    more = False
    for there in await _places(session, operation):
        left = limit - len(found) if limit else 0
        more = more or (limit > 0 and left == 0)
        if more:
            break
        entries, more = await _pages(there, operation, given, left)
        found += entries
    if more and not listing.watch:
        note(f"the first {len(found)}; --limit 0 shows all")
    return found


async def _places(session: Session, operation: Operation) -> list[Session]:
    """Where to ask: here, or in each project when the path wants one and all are meant."""
    named = session.options.project or session.context.project
    if "{project_id}" not in operation.path or named != EVERYWHERE:
        return [session]
    projects = [one["id"] async for one in things(session, "/projects")]
    return [replace(session, options=replace(session.options, project=one)) for one in projects]


async def _pages(
    session: Session, operation: Operation, given: Given, limit: int
) -> tuple[list[Any], bool]:
    """The entries of one list, page by page, and whether there are more than the limit."""
    request = await _request(session, operation, given)
    pages = any(flag.name == "cursor" for flag in operation.params)
    found: list[Any] = []
    cursor: str | None = None
    while True:
        left = limit - len(found) if limit else _MOST
        params = {**request.params, "cursor": cursor, "limit": min(left, _MOST)}
        asked = Request("GET", request.path, params=params) if pages else request
        page = (await session.send(asked)).json()
        if isinstance(page, list):
            return page, False
        found += page["items"]
        cursor = page.get("next_cursor")
        if cursor is None or (limit and len(found) >= limit):
            return found, cursor is not None


async def _change(session: Session, operation: Operation, given: Given) -> int:
    changing: Changing = given.get("changing") or Changing()
    request = await _request(session, operation, given)
    if changing.dry_run:
        return dry_run_show(request, session.options.output)
    if operation.destroys:
        confirmed(f"{_said(operation, given)}: go on?", changing)
    response = await session.send(request)
    answer = response.json() if response.content else None
    waiting: Waiting = given.get("waiting") or Waiting()
    if waiting.wait and answer is not None and operation.answer == "Allocation":
        settled = await later.progress.allocation_settled(session, answer, waiting.timeout)
        show(settled, session.options.output, operation.columns)
        return 0 if settled["status"] in {"active", "released"} else OPERATION_FAILED
    if waiting.wait:
        asked = later.progress.operations_of(answer)
        return await later.progress.wait_for(session, asked, waiting.timeout)
    if answer is not None:
        show(answer, session.options.output, operation.columns)
    return 0


def _said(operation: Operation, given: Given) -> str:
    """A command as it was typed: what is asked about before something is destroyed."""
    things = [given.get(flag.name) for flag in operation.params if flag.place == "path"]
    return " ".join([operation.noun, operation.verb, *(str(one) for one in things if one)])


async def _request(session: Session, operation: Operation, given: Given) -> Request:
    body = None
    if operation.body is not None:
        values = {flag.name: given.get(f"field_{flag.name}") for flag in operation.fields}
        body = body_make(given.get("body"), operation.fields, values)
        if gaps := missing(operation.fields, body):
            named = ", ".join(field_option(operation, flag) for flag in gaps)
            raise Stop(f"{operation.noun} {operation.verb} needs {named} (or --file, --set).")
    changing: Changing = given.get("changing") or Changing()
    return Request(
        operation.method,
        await _path(session, operation, given),
        body=body,
        params=await _params(session, operation, given),
        if_match=_etag(given.get("if_match")),
        idempotency_key=changing.idempotency_key,
    )


async def _path(session: Session, operation: Operation, given: Given) -> str:
    path = operation.path
    for flag in operation.params:
        if flag.place != "path":
            continue
        named = given.get(flag.name)
        if named is not None:
            value = await identified(session, flag.name, str(named))
        else:
            value = await _scope(session, flag)
        path = path.replace(f"{{{flag.name}}}", quote(value, safe=""))
    return path


async def _params(session: Session, operation: Operation, given: Given) -> dict[str, Any]:
    params: dict[str, Any] = {}
    asked = {flag.name for flag in operation.params if flag.place == "query"}
    for flag in operation.params:
        if flag.place != "query" or flag.name in HANDLED:
            continue
        if flag.name not in SCOPES:
            params[flag.name] = given.get(flag.name)
        elif not (flag.name == "org_id" and "project_id" in asked and _has(session, "project")):
            params[flag.name] = await _narrowed(session, flag)
    return params


async def _narrowed(session: Session, flag: Flag) -> str | None:
    """The tenant or project a list is narrowed to: the one worked in, unless all are wanted."""
    word = SCOPES[flag.name]
    if not _has(session, word) or session.scope(word) == EVERYWHERE:
        return None
    return await _scope(session, flag)


def _has(session: Session, word: str) -> bool:
    return bool(getattr(session.options, word) or getattr(session.context, word))


async def _scope(session: Session, flag: Flag) -> str:
    return await (project_id if flag.name == "project_id" else tenant_id)(session)


def _etag(given: str | None) -> str | None:
    """A revision as an ETag, however it was typed."""
    return None if given is None else f'"{given.strip(chr(34))}"'
