"""The body of a request, from a file, `--set`, and the options of its fields; later ones win."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpuaas_cli import later
from gpuaas_cli.book import Flag
from gpuaas_cli.options import Body
from gpuaas_cli.prompts import text_read
from gpuaas_cli.session import Stop


def body_make(
    given: Body | None, fields: Sequence[Flag], values: Mapping[str, Any]
) -> dict[str, Any]:
    """The whole body; `values` are the fields' options, None where not given."""
    options = given or Body()
    made = file_read(options.file) if options.file is not None else {}
    for one in options.set:
        value_set(made, one)
    for flag in fields:
        value = values.get(flag.name)
        if value is not None:
            made[flag.name] = _json(flag, value) if flag.kind == "json" else value
    return made


def missing(fields: Sequence[Flag], body: Mapping[str, Any]) -> list[Flag]:
    """The needed fields that nobody gave."""
    return [flag for flag in fields if flag.required and flag.name not in body]


def file_read(path: Path) -> dict[str, Any]:
    """A JSON or YAML object; JSON is YAML too."""
    try:
        text = text_read() if str(path) == "-" else path.read_text(encoding="utf-8")
    except OSError as error:
        raise Stop(f"--file {path} cannot be read ({error.strerror})") from error
    try:
        found = later.yaml_text.yaml_read(text)
    except later.yaml_text.NotYaml as error:
        raise Stop(f"--file {path} is neither JSON nor YAML: {error}") from error
    if not isinstance(found, dict):
        raise Stop(f"--file {path} does not hold an object")
    return found


def value_set(body: dict[str, Any], assignment: str) -> None:
    """`a.b=value` into a body; the value is JSON where it reads as such, else text."""
    path, equals, text = assignment.partition("=")
    if not equals or not path:
        raise Stop(f"--set {assignment}: it must read a.b=value")
    *parents, last = path.split(".")
    place = body
    for name in parents:
        inner = place.setdefault(name, {})
        if not isinstance(inner, dict):
            raise Stop(f"--set {assignment}: {name} is not an object")
        place = inner
    place[last] = plain(text)


def plain(text: str) -> Any:  # noqa: ANN401 - JSON
    """A value as typed: JSON where it reads as such, else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _json(flag: Flag, text: str) -> Any:  # noqa: ANN401 - JSON
    try:
        return json.loads(text)
    except ValueError as error:
        raise Stop(f"{flag.option} is not JSON: {error}") from error
