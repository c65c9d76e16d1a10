"""What a command prints: a table for people, JSON, YAML or CSV for machines."""

import csv
import io
import json
import sys
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import yaml
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from gpuaas_cli.options import Format

COLUMNS = 7
# The one field a command was asked to print; set once, where the command begins.
FIELD: ContextVar[str | None] = ContextVar("field", default=None)
_COLOURS = {
    "green": "running ready healthy active succeeded published ok allowed open present",
    "yellow": "degraded draining drained deprecated warning stuck requested accepted reconciling"
    " deploying stopping starting upgrading removing deleting releasing provisioning cordoned",
    "red": "failed unreachable cleanup_blocked denied missing error abandoned revoked",
    "dim": "deleted removed released stopped cancelled expired withdrawn skipped",
}
_STYLES = {word: colour for colour, words in _COLOURS.items() for word in words.split()}


def console(stderr: bool = False) -> Console:
    """A console that keeps long lines whole when nobody looks at them."""
    made = Console(stderr=stderr, highlight=False, soft_wrap=not sys.stdout.isatty())
    if not made.is_terminal:
        made.width = 4096
    return made


def show(answer: Any, form: Format, columns: Sequence[str] = ()) -> None:  # noqa: ANN401 - JSON
    """An answer of the platform, in the form asked for."""
    if (field := FIELD.get()) is not None:
        for row in _rows(answer):
            sys.stdout.write(_field(_within(row, field)) + "\n")
    elif form == "json":
        sys.stdout.write(json.dumps(answer, indent=2, ensure_ascii=False) + "\n")
    elif form == "yaml":
        sys.stdout.write(yaml.safe_dump(answer, sort_keys=False, allow_unicode=True))
    elif form == "csv":
        _show_csv(_rows(answer), columns)
    elif isinstance(answer, list):
        console().print(table(answer, columns, wide=form == "wide"))
    elif isinstance(answer, dict):
        console().print(facts(answer, wide=form == "wide"))


def table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], *, wide: bool) -> Table:
    """Rows under headings."""
    chosen = list(columns) or list(rows[0] if rows else ())
    if not wide:
        # A column in which nobody says anything tells nothing.
        telling = [name for name in chosen if any(_said(row.get(name)) for row in rows)]
        chosen = (telling or chosen)[:COLUMNS]
    made = Table(box=None, pad_edge=False, header_style="bold")
    for name in chosen:
        made.add_column(name.upper().replace("_", " "), overflow="fold")
    for row in rows:
        made.add_row(*(cell(row.get(name)) for name in chosen))
    return made


def facts(thing: Mapping[str, Any], *, wide: bool) -> RenderableType:
    """One thing, a field a line; long fields only when wide."""
    made = Table(box=None, pad_edge=False, show_header=False)
    made.add_column(style="bold")
    made.add_column(overflow="fold")
    for name, value in thing.items():
        if wide or _said(value):
            made.add_row(name.replace("_", " "), cell(value, whole=wide))
    return made


def cell(value: Any, *, whole: bool = True) -> Text:  # noqa: ANN401 - JSON
    """One value, coloured where its word has a meaning."""
    if value is None or value == "":
        return Text("-", style="dim")
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    if isinstance(value, dict | list):
        if value and all(isinstance(one, str) for one in value) and isinstance(value, list):
            return Text(", ".join(value))
        text = json.dumps(value, ensure_ascii=False)
        return Text(text if whole or len(text) <= 200 else f"{text[:197]}…")
    text = str(value)
    return Text(text, style=_STYLES.get(text, ""))


def show_table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Rows under given headings."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column.upper(), overflow="fold")
    for row in rows:
        made.add_row(*(one if isinstance(one, Text) else cell(one) for one in row))
    console().print(made)


def note(text: str) -> None:
    """A remark beside the answer."""
    sys.stderr.write(text + "\n")


def _within(row: Mapping[str, Any], path: str) -> Any:  # noqa: ANN401 - JSON
    """A field, by its name or by names with dots between."""
    found: Any = row
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _rows(answer: Any) -> list[Mapping[str, Any]]:  # noqa: ANN401 - JSON
    if isinstance(answer, list):
        return answer
    return [answer] if isinstance(answer, dict) else []


def _show_csv(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    names = list(columns) or list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow([_field(row.get(name)) for name in names])
    sys.stdout.write(text.getvalue())


def _field(value: Any) -> str:  # noqa: ANN401 - JSON
    if value is None:
        return ""
    if isinstance(value, dict | list | bool):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _said(value: Any) -> bool:  # noqa: ANN401 - JSON
    return value not in (None, "", [], {})
