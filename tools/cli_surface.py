"""Writes every command with its options into the command line's package; called by `make openapi`.

From `surface.json` the command line answers help and completion without loading any command, and
runs plain lines without loading the parser. A test compares it with what would be written.
"""

from __future__ import annotations

import inspect
import re
import sys
from dataclasses import is_dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, get_args, get_origin

from gpuaas_cli.tree import make_app
from tools.cli_contract import DATA, lines

if TYPE_CHECKING:
    from cyclopts import App
    from cyclopts.argument import Argument

Node = dict[str, Any]

FILE: Final = DATA / "surface.json"
_GROUPS: Final = {"Parameters": "Options"}
_KINDS: Final = {bool: "switch", int: "integer", float: "number"}
_PACKAGE: Final = "gpuaas_cli"
_GENERATED: Final = "generated"
# Written once, because most commands have them.
_SHARED: Final = "Shared options"
_SECTION: Final = re.compile(r"\n(\w+)\n-{3,}\n")


def main() -> int:
    """Write the file."""
    FILE.write_text(rendered())
    return 0


def rendered() -> str:
    """The file as it should be."""
    root = make_app((), whole=True)
    shared: Node = {}
    commands = {" ".join(words): _command(app, words, shared) for words, app in _walk(root, ())}
    return lines({"shared": shared, "commands": commands})


def _walk(app: App, words: tuple[str, ...]) -> list[tuple[tuple[str, ...], App]]:
    """Every command with the words that call it, by its first name."""
    found = [(words, app)]
    for name in _verbs(app):
        found += _walk(app[name], (*words, name))
    return found


def _verbs(app: App) -> dict[str, list[str]]:
    """What comes next, with the other names it has."""
    found: dict[str, list[str]] = {}
    first: dict[object, str] = {}
    for name in app:
        if not name.startswith("-"):
            known = first.setdefault(app[name].default_command or app[name].name, name)
            found.setdefault(known, []).extend([name] if known != name else [])
    return found


def _command(app: App, words: tuple[str, ...], shared: Node) -> Node:
    says = app.help or ""
    made: Node = {"says": says.partition("\n")[0]}
    if len(words) == 1:
        made["group"] = _group(app.group)
    work = app.default_command
    if work is None:
        made["verbs"] = _verbs(app)
        made["text"] = "" if says == ", ".join(sorted(made["verbs"])) else inspect.cleandoc(says)
        return made
    made["text"] = _text(inspect.getdoc(work) or says)
    arguments = app.assemble_argument_collection(parse_docstring=True)
    made["options"] = [_option(one, shared) for one in arguments if one.show]
    home = work.__module__.removeprefix(f"{_PACKAGE}.")
    made["runs"] = work.__name__ if home == _GENERATED else f"{home}:{work.__name__}"
    made["kinds"] = {
        one.field_info.name: _kind_named(one.hint) for one in arguments if not one.show
    }
    return made


def _text(doc: str) -> str:
    """A docstring as help: its examples are, its list of parameters is not, said again."""
    parts = _SECTION.split(f"{doc}\n")
    text = parts[0].strip()
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    examples = sections.get("Examples", "").strip()
    return f"{text}\n\n{examples}" if examples else text


def _option(argument: Argument, shared: Node) -> Node | str:
    kind = argument.field_info.kind
    parameter = argument.parameter
    placed = kind in {kind.POSITIONAL_ONLY, kind.POSITIONAL_OR_KEYWORD, kind.VAR_POSITIONAL}
    name = argument.names[0].lstrip("-").upper().replace("_", "-")
    names = [name] if placed else sorted(argument.names, key=len)
    made: Node = {"names": names, "kind": _kind(argument.hint), "help": parameter.help or ""}
    if placed:
        made["placed"] = True
    if choices := argument.get_choices():
        made["values"] = list(choices)
    if argument.required and not placed:
        made["required"] = True
    if kind is kind.VAR_POSITIONAL or _many(argument.hint):
        made["many"] = True
    if placed and not argument.required:
        made["optional"] = True
    default = argument.field_info.default
    if default not in (None, inspect.Parameter.empty, False, "", ()):
        made["default"] = str(default)
    if argument.negatives:
        made["names"] = list(dict.fromkeys((*names, *argument.negatives)))
        made["off"] = list(argument.negatives)
    made["to"] = "." * bool(argument.keys) + argument.field_info.name
    made["group"] = "Arguments" if placed else _group(parameter.group)
    if made["group"] != _SHARED:
        return made
    key = names[-1]
    return key if shared.setdefault(key, made) == made else made


def _group(groups: Any) -> str:  # noqa: ANN401 - one or many, as cyclopts has it
    first = groups[0] if isinstance(groups, tuple) else groups
    name = str(getattr(first, "name", first))
    return _GROUPS.get(name, name)


def _kind(hint: Any) -> str:  # noqa: ANN401 - a type
    kinds = [one for one in (hint, *get_args(hint)) if isinstance(one, type)]
    for kind in kinds:
        if issubclass(kind, PurePath):
            return "file"
        if kind in _KINDS:
            return _KINDS[kind]
    return "text"


def _many(hint: Any) -> bool:  # noqa: ANN401 - a type
    return any(get_origin(one) in {list, tuple} for one in (hint, *get_args(hint)))


def _kind_named(hint: Any) -> str:  # noqa: ANN401 - a type
    """The class a parameter gathers options in, as module:name."""
    kinds = [one for one in (hint, *get_args(hint)) if isinstance(one, type)]
    found = next(one for one in kinds if is_dataclass(one))
    return f"{found.__module__.removeprefix(f'{_PACKAGE}.')}:{found.__name__}"


if __name__ == "__main__":
    sys.exit(main())
