"""What a command prints: a table for people, JSON, YAML or CSV for machines.

Called by every command that has an answer; what draws is loaded only for what must be drawn.
"""

import csv
import io
import json
import sys
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from gpuaas_cli import later
from gpuaas_cli.options import Format
from gpuaas_sdk.errors import GpuaasError

# The one field a command was asked to print; set once, where the command begins.
FIELD: ContextVar[str | None] = ContextVar("field", default=None)


class NoSuchField(GpuaasError):
    """An answer has no field of the name that was asked for."""


def show(answer: Any, form: Format, columns: Sequence[str] = ()) -> None:  # noqa: ANN401 - JSON
    """An answer of the platform, in the form asked for."""
    if (field := FIELD.get()) is not None:
        _show_field(_rows(answer), field)
    elif form == "json":
        sys.stdout.write(json_text(answer, indent=2) + "\n")
    elif form == "yaml":
        sys.stdout.write(later.yaml_text.yaml_written(answer, plain=_plain()))
    elif form == "csv":
        _show_csv(_rows(answer), columns)
    else:
        later.tables.answer_print(answer, columns, wide=form == "wide")


def note(text: str) -> None:
    """A remark beside the answer."""
    sys.stderr.write(text + "\n")


def json_text(value: Any, indent: int | None = None) -> str:  # noqa: ANN401 - JSON
    """A value as JSON; with escapes where the output could not carry every character."""
    return json.dumps(value, indent=indent, ensure_ascii=_plain())


def _plain() -> bool:
    """Whether the output takes less than UTF-8."""
    said = (sys.stdout.encoding or "utf-8").lower().replace("_", "-")
    return said not in {"utf-8", "utf8"}


def _show_field(rows: Sequence[Mapping[str, Any]], field: str) -> None:
    first = field.partition(".")[0]
    if rows and not any(first in row for row in rows):
        raise NoSuchField(f"there is no field {first!r}; there are: {', '.join(rows[0])}")
    for row in rows:
        sys.stdout.write(_field(_within(row, field)) + "\n")


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
