"""`gpuaas trace CORRELATION_ID`: one incident as a timeline, followed live if wanted.

Works with the platform alone: log lines and spans of the platform and of apps' controllers are part
of it. Where Loki and Tempo are named (GPUAAS_LOKI_URL, GPUAAS_TEMPO_URL) it links to what they have
of the same id.
"""

import asyncio
import os
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import quote

from rich.console import Console
from rich.text import Text

from gpuaas_cli.names import Known
from gpuaas_cli.options import Connection
from gpuaas_cli.output import json_text, note, show
from gpuaas_cli.said import Parameter
from gpuaas_cli.screen import console, word
from gpuaas_cli.session import Session, Stop, run
from gpuaas_cli.tables import clean
from gpuaas_cli.waterfall import length_told, waterfall
from gpuaas_sdk import Request, TemporaryError, UnreachableError

_COLOURS = {
    "request": "cyan",
    "audit": "magenta",
    "allocation": "blue",
    "artifact": "blue",
    "artifact_delivery": "blue",
    "instance": "blue",
    "member": "blue",
    "operation": "yellow",
    "step": "green",
    "task": "green",
    "event": "dim",
    "log": "white",
    "span": "dim cyan",
}
_LEVELS = {"debug": "dim", "warning": "yellow", "error": "red", "dropped": "yellow"}
_COLUMNS = ("at", "kind", "id", "title", "status", "actor")
_WAIT = 25
_LATE = 3  # controllers tell about once a second: what belongs to the end comes after it
_LATE_ROUNDS = 3
_PAUSE = 2.0
_UNDER_WAY = {"requested", "accepted", "running"}


def trace(
    correlation_id: Annotated[str, Parameter(help="from an error, an operation or a log line")],
    /,
    *,
    follow: Annotated[
        bool, Parameter(name=["--follow", "-F"], negative="", help="go on until nothing runs")
    ] = False,
    spans: Annotated[
        bool, Parameter(negative="", help="show what took how long inside what")
    ] = False,
    only: Annotated[
        str | None, Parameter(help="kinds to show, with commas between: logs,spans,steps")
    ] = None,
    connection: Connection | None = None,
) -> int:
    """Show everything that carries a correlation id, in order, and what failed.

    Requests, audit, operations and their steps, members, events, node tasks, log lines and spans.
    With GPUAAS_LOKI_URL and GPUAAS_TEMPO_URL (Grafana's data sources) it also links to there.

    Examples
    --------
    $ gpuaas trace cor_7f3a9c
    $ gpuaas trace cor_7f3a9c --follow
    $ gpuaas trace cor_7f3a9c --spans
    $ gpuaas trace cor_7f3a9c --only logs,steps
    """

    async def command(session: Session) -> int:
        wanted, form = kinds_of(only), session.options.output
        timeline = await _timeline(session, correlation_id)
        if form in {"json", "yaml", "csv"} and not follow:
            timeline["entries"] = _wanted(timeline, wanted)
            del timeline["last_cursor"]
            show(timeline if form != "csv" else timeline["entries"], form, _columns(form))
            return 0
        printer = _Printer(wanted, as_json=form == "json", wide=form == "wide")
        if not spans:
            await printer.entries(session, timeline)
        rounds = _LATE_ROUNDS if follow else 0
        while rounds:
            settled, before = _settled(timeline), timeline["revision"]
            wait = _LATE if settled else _WAIT
            try:
                timeline = await _timeline(session, correlation_id, timeline, wait)
            except (UnreachableError, TemporaryError) as error:
                note(f"still following: {error}")  # a platform that is restarted comes back
                await asyncio.sleep(_PAUSE)
                continue
            if not spans:
                await printer.entries(session, timeline)
            over = settled and timeline["revision"] == before
            rounds = 0 if over else rounds - settled
        if spans:
            printer.spans(timeline)
        printer.end(timeline)
        return 0

    return run(connection, command)


def links(timeline: dict[str, Any], environ: Any) -> list[str]:  # noqa: ANN401 - a mapping of text
    """Where logs and traces of the same incident are, when they are kept somewhere else too."""
    found = []
    if loki := environ.get("GPUAAS_LOKI_URL"):
        query = f'{{service_name=~".+"}} |= `{timeline["correlation_id"]}`'
        found.append(f"logs: {loki.rstrip('/')}/loki/api/v1/query_range?query={quote(query)}")
    if tempo := environ.get("GPUAAS_TEMPO_URL"):
        found += [f"trace: {tempo.rstrip('/')}/api/traces/{one}" for one in timeline["trace_ids"]]
    return found


def kinds_of(only: str | None) -> frozenset[str]:
    """The kinds that were asked for, in the singular or the plural; all where none was."""
    if only is None:
        return frozenset(_COLOURS)
    words = [one.strip().lower().replace("-", "_") for one in only.split(",") if one.strip()]
    plural = {_plural(kind): kind for kind in _COLOURS}
    found = {plural.get(one, one) for one in words}
    if not found or not found <= set(_COLOURS):
        raise Stop(f"--only takes kinds with commas between: {', '.join(_COLOURS)}")
    return frozenset(found)


def _plural(kind: str) -> str:
    return f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"


def _columns(form: str) -> Sequence[str]:
    return _COLUMNS if form == "csv" else ()


def _wanted(timeline: dict[str, Any], kinds: frozenset[str]) -> list[dict[str, Any]]:
    return [one for one in timeline["entries"] if one["kind"] in kinds]


async def _timeline(
    session: Session, wanted: str, before: dict[str, Any] | None = None, wait: int = _WAIT
) -> dict[str, Any]:
    """All pages of the timeline. With what was read before: once its last page reads differently.

    What is new stands at the end, and whatever changes earlier leaves something there too.
    """
    path = f"/correlations/{quote(wanted, safe='')}"
    if before is not None:
        params = {
            "limit": 500, "cursor": before["last_cursor"],
            "wait": f"{wait}s", "after": before["revision"],
        }  # fmt: skip
        await session.send(Request("GET", path, params=params, wait=float(wait)))
    whole: dict[str, Any] = {}
    cursor: str | None = None
    while True:
        request = Request("GET", path, params={"limit": 500, "cursor": cursor})
        page: dict[str, Any] = (await session.send(request)).json()
        page["entries"] = [*whole.get("entries", []), *page["entries"]]
        page["trace_ids"] = list(dict.fromkeys([*whole.get("trace_ids", []), *page["trace_ids"]]))
        page["diagnoses"] = whole.get("diagnoses", page["diagnoses"])
        whole = page | {"last_cursor": cursor}
        cursor = page.get("next_cursor")
        if cursor is None:
            return whole


class _Printer:
    """Prints what has not been printed yet, for people or as one JSON object a line."""

    def __init__(self, kinds: frozenset[str], *, as_json: bool, wide: bool) -> None:
        self._kinds = kinds
        self._json = as_json
        self._wide = wide
        self._screen = console()
        self._seen: set[tuple[str, ...]] = set()
        self._known = Known()

    async def entries(self, session: Session, timeline: dict[str, Any]) -> None:
        """What is new, or reads differently from before; people see by whom it was by name."""
        entries = _wanted(timeline, self._kinds)
        if not self._json:
            await self._known.ask(session, (one.get("actor") or "" for one in entries))
        for one in entries:
            key = (one["kind"], one["id"], one["status"], one["title"])
            if key in self._seen:
                continue
            self._seen.add(key)
            if self._json:
                sys.stdout.write(json_text(one) + "\n")
            else:
                by = self._known.told(one.get("actor") or "")
                self._screen.print(_entry(one, by, wide=self._wide))
        sys.stdout.flush()

    def spans(self, timeline: dict[str, Any]) -> None:
        """What took how long, inside what."""
        entries = _wanted(timeline, self._kinds)
        if self._json:
            for one in entries:
                if one.get("span"):
                    sys.stdout.write(json_text(one) + "\n")
            return
        for line in waterfall(entries):
            self._screen.print(
                Text.assemble(
                    (line.bar, "red" if line.status in {"error", "failed"} else "cyan"),
                    f" {length_told(line.seconds):>11}  {'  ' * line.depth}",
                    (f"{line.kind} ", _COLOURS.get(line.kind, "")),
                    f"{line.name}  ",
                    word(line.status),
                )
            )

    def end(self, timeline: dict[str, Any]) -> None:
        """What failed, and where there is more."""
        if self._json:
            return
        _diagnoses(self._screen, timeline)
        for line in links(timeline, os.environ):
            self._screen.print(line, soft_wrap=True, markup=False)


def _entry(one: dict[str, Any], by: str, *, wide: bool) -> Text:
    at = datetime.fromisoformat(one["at"])
    first, *more = one["title"].splitlines() or [""]
    told = one["kind"] == "log"
    level = _LEVELS.get(one["status"], "") if told else ""
    status = Text(one["status"], level) if told else word(one["status"])
    line = Text.assemble(
        (f"{at:%H:%M:%S}.{at.microsecond // 1000:03d} ", "dim"),
        (f"{one['kind']:<11}", _COLOURS.get(one["kind"], "")),
        (f"{clean(first)}  ", level),
        status,
    )
    if by:
        line.append(f"  by {clean(by)}", "dim")
    fields = one["detail"].get("fields") or {} if wide else {}
    for name, value in fields.items():
        line.append(f"  {clean(name)}={clean(value)}", "dim")
    for rest in (*more, *one["detail"].get("output", ())):
        line.append(f"\n{' ' * 24}{clean(rest.expandtabs(4))}", "dim")
    return line


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
    done = thing["status"] == "succeeded"  # then the step it was at last tells nothing
    step = f" at {thing['step']}" if thing["step"] and not done else ""
    attempt = f"attempt {thing['attempt']} of {thing['max_attempts']}"
    return f"{thing['kind']} ({thing['id']}): {thing['status']}{step}, {attempt}"


def _error(error: dict[str, Any]) -> str:
    return f"{error['code']}: {error['message']}"
