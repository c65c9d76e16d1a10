"""Tables and facts for people, drawn by rich; loaded when there is something to draw.

Called by `output.py` and by commands that draw more than an answer.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

COLUMNS = 7
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


def answer_print(answer: Any, columns: Sequence[str], *, wide: bool) -> None:  # noqa: ANN401 - JSON
    """A list as a table, one thing as its facts."""
    if isinstance(answer, list):
        console().print(table(answer, columns, wide=wide))
    elif isinstance(answer, dict):
        console().print(facts(answer, wide=wide))


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


def _said(value: Any) -> bool:  # noqa: ANN401 - JSON
    return value not in (None, "", [], {})
