"""Understands plain command lines by the surface alone, and runs them without loading the parser.

Called by `main.py`. What is not plain (a word nobody knows, one that is missing, a value of another
kind, `--`) is left to `tree.py`, which parses the line and says what is wrong with it. A test holds
both to the same understanding of every option of every command.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from gpuaas_cli.book import noun_operations
from gpuaas_cli.surface import Command, Option, command_at

_NOTHING = {"none", "null"}  # words that may mean the absence of a value
_INTEGER = re.compile(r"[0-9]+")
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
_OTHER_FORMS = ("-", "[", "{")  # an option, or JSON


class Understood(NamedTuple):
    """A line as its command takes it: words by their place, and the others by name."""

    command: Command
    placed: tuple[Any, ...]
    named: Mapping[str, Any]


class _NotPlain(Exception):
    """The parser must look at this line."""


def run(words: Sequence[str]) -> int:
    """Run a command line and return its exit code."""
    found = understood(words)
    if found is None:
        return int(import_module("gpuaas_cli.tree").run(words))
    if ":" not in found.command.runs:
        return _operation_run(found)
    answer = _loaded(found.command.runs)(*found.placed, **found.named)
    return answer if isinstance(answer, int) else 0


def understood(words: Sequence[str]) -> Understood | None:
    """What a line means; None when it is not plain."""
    asked, rest = command_at(words)
    if not asked.runs:
        return None
    try:
        placed, given = _given(asked, rest)
        return Understood(asked, _by_place(asked, placed), _gathered(asked, given))
    except _NotPlain:
        return None


def _operation_run(found: Understood) -> int:
    """An operation of the contract: its words all by name."""
    noun, runs = found.command.words[0], found.command.runs
    operation = next(one for one in noun_operations(noun) if one.id == runs)
    places = [one.to for one in found.command.options if one.placed]
    given = dict(zip(places, found.placed, strict=False)) | dict(found.named)
    return int(import_module("gpuaas_cli.calling").run(operation, given))


def _given(asked: Command, rest: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """The words by place, and the values of options by what they are given to."""
    # A filter goes before a shared option of the same name, as it does for the parser.
    options = reversed([one for one in asked.options if not one.placed])
    known = {name: one for one in options for name in one.names}
    placed: list[str] = []
    given: dict[str, Any] = {}
    words = iter(rest)
    for word in words:
        if not word.startswith("-"):
            placed.append(word)
            continue
        name, sign, value = word.partition("=")
        option = known.get(name)
        if option is None or (option.to in given and not option.many):
            raise _NotPlain
        if not option.takes_value:
            given[option.to] = _switched(option, name, sign)
            continue
        made = _value(option, value if sign else next(words, "-"))
        given[option.to] = (*given.get(option.to, ()), made) if option.many else made
    if any(one.required and one.to not in given for one in known.values()):
        raise _NotPlain
    return placed, given


def _switched(option: Option, name: str, sign: str) -> bool:
    if sign:
        raise _NotPlain
    return name not in option.off


def _value(option: Option, word: str) -> Any:  # noqa: ANN401 - as the option says
    """A word as the value it stands for."""
    if word.startswith(_OTHER_FORMS[0]) or word.lower() in _NOTHING:
        raise _NotPlain
    if option.many and word.startswith(_OTHER_FORMS):
        raise _NotPlain
    if option.values and word not in option.values:
        raise _NotPlain
    if option.kind == "integer":
        return int(_plain(_INTEGER, word))
    if option.kind == "number":
        return float(_plain(_NUMBER, word))
    return Path(word) if option.kind == "file" else word


def _plain(form: re.Pattern[str], word: str) -> str:
    if not form.fullmatch(word):
        raise _NotPlain
    return word


def _by_place(asked: Command, words: Sequence[str]) -> tuple[Any, ...]:
    """Each word as the value its place wants."""
    places = [one for one in asked.options if one.placed]
    needed = sum(not (one.optional or one.many) for one in places)
    if len(words) < needed or (len(words) > len(places) and not (places and places[-1].many)):
        raise _NotPlain
    return tuple(
        _value(places[min(number, len(places) - 1)], word) for number, word in enumerate(words)
    )


def _gathered(asked: Command, given: Mapping[str, Any]) -> dict[str, Any]:
    """The values as the command's parameters take them: some gathered in classes of options."""
    named = dict(given)
    for parameter, kind in asked.kinds.items():
        loaded = _loaded(kind)
        fitting = [one.name for one in fields(loaded) if f".{one.name}" in named]
        own = {name: named.pop(f".{name}") for name in fitting}
        if own:
            named[parameter] = loaded(**own)
    return named


def _loaded(target: str) -> Any:  # noqa: ANN401 - a command, or a class of options
    module, _, name = target.partition(":")
    return getattr(import_module(f"gpuaas_cli.{module}"), name)
