"""What `--help` says, of any command, from the surface alone.

Called by `main.py` before any command is loaded: a question about words must be answered at once.
"""

import os
import sys
import textwrap
from collections.abc import Iterable, Sequence
from shutil import get_terminal_size

from gpuaas_cli.surface import Command, Option, command

_EXIT_CODES = (
    "Exit codes: 0 ok, 1 client, 2 server, 3 auth, 4 not found, 5 conflict, 6 operation failed."
)
_HELP = Option(("-h", "--help"), "switch", "show this", "Options")
_VERSION = Option(("--version",), "switch", "show the version", "Options")
_GROUPS = ("Arguments", "Options")  # before all others
_LAST = "Shared options"
_FIRST_GROUPS = ("Everyday", "Looking into things", "Proving it")
_WIDEST = 100
_NAMES = 30

Row = tuple[str, str]


def help_text(asked: Command, *, bold: bool | None = None) -> str:
    """Help for a command, as wide as the terminal."""
    bright = sys.stdout.isatty() and not os.environ.get("NO_COLOR") if bold is None else bold
    width = min(get_terminal_size().columns, _WIDEST)
    parts = [_wrapped(asked.text, width)] if asked.text else []
    parts.append(_usage(asked))
    parts += [_section(title, rows, width, bold=bright) for title, rows in _sections(asked)]
    if asked.verbs:
        called = " ".join(("gpuaas", *asked.words, "VERB" if asked.words else "COMMAND", "--help"))
        parts.append(f"`{called}` tells more. {'' if asked.words else _EXIT_CODES}".strip())
    return "\n\n".join(parts) + "\n"


def _usage(asked: Command) -> str:
    words = ["gpuaas", *asked.words]
    if asked.verbs:
        return "Usage: " + " ".join([*words, "VERB" if asked.words else "COMMAND"])
    for option in asked.options:
        if option.placed:
            shown = option.names[0] + ("..." if option.many else "")
            words.append(f"[{shown}]" if option.optional else shown)
        elif option.required:
            words.append(_typed(option))
    return "Usage: " + " ".join([*words, "[OPTIONS]"])


def _sections(asked: Command) -> Iterable[tuple[str, list[Row]]]:
    if asked.verbs:
        yield from _menu(asked)
        return
    groups: dict[str, list[Row]] = {name: [] for name in _GROUPS}
    options = sorted(asked.options, key=lambda one: one.group == _LAST)
    for option in (*options, _HELP):
        shown = option.names[0] if option.placed else _typed(option)
        groups.setdefault(option.group, []).append((shown, _meaning(option)))
    yield from ((title, rows) for title, rows in groups.items() if rows)


def _menu(asked: Command) -> Iterable[tuple[str, list[Row]]]:
    """What can come next: verbs in their order, nouns by where they belong."""
    groups: dict[str, list[Row]] = {}
    if not asked.words:
        groups = {name: [] for name in _FIRST_GROUPS}
    for verb, also in sorted(asked.verbs.items()):
        one = command((*asked.words, verb))
        shown = ", ".join((verb, *also))
        groups.setdefault(one.group or "Verbs", []).append((shown, one.says))
    more = [title for title in groups if title not in _FIRST_GROUPS]
    for title in (*_FIRST_GROUPS, *sorted(more)):
        if groups.get(title):
            yield title, groups[title]
    yield "Options", [(_typed(one), one.help) for one in (_HELP, _VERSION)]


def _typed(option: Option) -> str:
    kind = {"integer": "NUMBER", "number": "NUMBER", "file": "FILE"}.get(option.kind, "TEXT")
    names = ", ".join(option.names)
    return f"{names} {kind}" if option.takes_value else names


def _meaning(option: Option) -> str:
    parts = [option.help.removesuffix(".")]
    if option.values and not all(value in option.help for value in option.values):
        parts.append(f"one of {', '.join(option.values)}")
    if option.default is not None:
        parts.append(f"default: {option.default}")
    if option.required:
        parts.append("needed")
    return "; ".join(part for part in parts if part)


def _section(title: str, rows: Sequence[Row], width: int, *, bold: bool) -> str:
    column = min(_NAMES, max(len(name) for name, _ in rows)) + 4
    lines = [f"\x1b[1m{title}\x1b[0m" if bold else title]
    for name, text in rows:
        start = f"  {name}".ljust(column)
        told = textwrap.wrap(text, max(width - column, 20)) or [""]
        if len(start) > column:  # too long to have its meaning beside it
            lines.append(start)
            start = " " * column
        lines += [(start + told[0]).rstrip(), *(" " * column + line for line in told[1:])]
    return "\n".join(lines)


def _wrapped(text: str, width: int) -> str:
    """Paragraphs as wide as the terminal; examples as they are."""
    parts = [
        part if part.startswith("$ ") else textwrap.fill(part, width, break_on_hyphens=False)
        for part in text.split("\n\n")
    ]
    return "\n\n".join(parts)
