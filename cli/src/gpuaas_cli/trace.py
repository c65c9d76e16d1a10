"""`gpuaas trace CORRELATION_ID`: one incident as a timeline, followed live if wanted.

Works with the platform alone; where Loki and Tempo are named (GPUAAS_LOKI_URL, GPUAAS_TEMPO_URL)
it links to the log lines and traces of the same id.
"""

import os
import sys
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import quote

from rich.console import Console
from rich.text import Text

from gpuaas_cli.options import Connection
from gpuaas_cli.output import show
from gpuaas_cli.said import Parameter
from gpuaas_cli.screen import console, word
from gpuaas_cli.session import Session, run
from gpuaas_sdk import Request

_COLOURS = {
    "request": "cyan",
    "audit": "magenta",
    "allocation": "blue",
    "instance": "blue",
    "member": "blue",
    "operation": "yellow",
    "step": "green",
    "task": "green",
    "event": "dim",
}
_WAIT = 25
_UNDER_WAY = {"requested", "accepted", "running"}


def trace(
    correlation_id: Annotated[str, Parameter(help="from an error, an operation or a log line")],
    /,
    *,
    follow: Annotated[
        bool, Parameter(name=["--follow", "-F"], negative="", help="go on until nothing runs")
    ] = False,
    connection: Connection | None = None,
) -> int:
    """Show everything that carries a correlation id, in order, and what failed.

    Requests, audit, operations and their steps, members, events and node tasks. With
    GPUAAS_LOKI_URL and GPUAAS_TEMPO_URL (Grafana's data sources) it also links to logs and traces.

    Examples
    --------
    $ gpuaas trace cor_7f3a9c
    $ gpuaas trace cor_7f3a9c --follow
    """

    async def command(session: Session) -> int:
        timeline = await _timeline(session, correlation_id)
        if session.options.output in {"json", "yaml"} and not follow:
            show(timeline, session.options.output)
            return 0
        if session.options.output == "csv":
            show(timeline["entries"], "csv", ("at", "kind", "id", "title", "status", "actor"))
            return 0
        screen = console()
        seen = _entries(screen, timeline, set())
        while follow and not _settled(timeline):
            timeline = await _timeline(session, correlation_id, timeline["revision"])
            seen = _entries(screen, timeline, seen)
        _diagnoses(screen, timeline)
        for line in links(timeline, os.environ):
            screen.print(line, soft_wrap=True, markup=False)
        return 0

    return run(connection, command)


def links(timeline: dict[str, Any], environ: Any) -> list[str]:  # noqa: ANN401 - a mapping of text
    """Where logs and traces of the same incident are, when they are kept somewhere."""
    found = []
    if loki := environ.get("GPUAAS_LOKI_URL"):
        query = f'{{service_name=~".+"}} |= `{timeline["correlation_id"]}`'
        found.append(f"logs: {loki.rstrip('/')}/loki/api/v1/query_range?query={quote(query)}")
    if tempo := environ.get("GPUAAS_TEMPO_URL"):
        found += [f"trace: {tempo.rstrip('/')}/api/traces/{one}" for one in timeline["trace_ids"]]
    return found


async def _timeline(session: Session, wanted: str, after: str | None = None) -> dict[str, Any]:
    """All pages of the timeline; waits behind a revision."""
    whole: dict[str, Any] = {}
    cursor: str | None = None
    while True:
        params: dict[str, Any] = {"limit": 500, "cursor": cursor}
        if after is not None and cursor is None:
            params |= {"wait": f"{_WAIT}s", "after": after}
        path = f"/correlations/{quote(wanted, safe='')}"
        request = Request("GET", path, params=params, wait=float(_WAIT))
        page: dict[str, Any] = (await session.send(request)).json()
        if not whole:
            whole = page
        else:
            whole["entries"] += page["entries"]
        cursor = page.get("next_cursor")
        if cursor is None:
            return whole


def _entries(
    screen: Console, timeline: dict[str, Any], seen: set[tuple[str, ...]]
) -> set[tuple[str, ...]]:
    """Print what has not been printed yet."""
    for one in timeline["entries"]:
        key = (one["kind"], one["id"], one["status"], one["title"])
        if key in seen:
            continue
        seen.add(key)
        at = datetime.fromisoformat(one["at"])
        line = Text.assemble(
            (f"{at:%H:%M:%S}.{at.microsecond // 1000:03d} ", "dim"),
            (f"{one['kind']:<11}", _COLOURS.get(one["kind"], "")),
            f"{one['title']}  ",
            word(one["status"]),
        )
        if one.get("actor"):
            line.append(f"  by {one['actor']}", "dim")
        screen.print(line)
    sys.stdout.flush()
    return seen


def _diagnoses(screen: Console, timeline: dict[str, Any]) -> None:
    """The five questions of an incident, answered."""
    for one in timeline["diagnoses"]:
        screen.print()
        rows = {
            "instance": _named(one["instance"], "resource_name"),
            "member": _named(one["member"], "component_key"),
            "operation": _operation(one["operation"]),
            "correlation id": one["correlation_id"],
            "the app says": (one["adapter_detail"] or {}).get("summary", "-"),
        }
        for question, answer in rows.items():
            screen.print(Text.assemble((f"{question:<15}", "bold"), answer))
        operation = one["operation"] or {}
        if error := operation.get("error"):
            screen.print(Text.assemble(("error          ", "bold red"), _error(error)))
        ways = ", ".join(way["action"] for way in operation.get("next_actions", []))
        if ways:
            screen.print(Text.assemble(("ways out       ", "bold"), ways))


def _settled(timeline: dict[str, Any]) -> bool:
    """Whether nothing that carries the id is still under way."""
    kinds = [one for one in timeline["entries"] if one["kind"] == "operation"]
    return not any(one["status"] in _UNDER_WAY for one in kinds)


def _named(thing: dict[str, Any] | None, field: str) -> str:
    if thing is None:
        return "-"
    return f"{thing[field]} ({thing['id']}): {thing['status']} / {thing['health']}"


def _operation(thing: dict[str, Any] | None) -> str:
    if thing is None:
        return "-"
    step = f" at {thing['step']}" if thing["step"] else ""
    attempt = f"attempt {thing['attempt']} of {thing['max_attempts']}"
    return f"{thing['kind']} ({thing['id']}): {thing['status']}{step}, {attempt}"


def _error(error: dict[str, Any]) -> str:
    return f"{error['code']}: {error['message']}"
