"""Every command with its options, as `make openapi` wrote them down.

Read by `main.py` for help and completion, and by `quick.py` to run plain lines, before any command
is loaded; so it must load nothing itself. Neither the parser nor a command knows of this.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

_FILE = Path(__file__).parent / "data" / "surface.json"


class Option(NamedTuple):
    """An option of a command, or a word it takes by its place.

    `to` is the parameter it is given to, or behind a dot the field of one of the command's `kinds`;
    `off` are those of its names that switch it off.
    """

    names: Sequence[str]
    kind: str
    help: str
    group: str
    values: Sequence[str] = ()
    default: str | None = None
    required: bool = False
    placed: bool = False
    optional: bool = False
    many: bool = False
    to: str = ""
    off: Sequence[str] = ()

    @property
    def takes_value(self) -> bool:
        """Whether a word follows it."""
        return self.kind != "switch"


class Command(NamedTuple):
    """A command, or a noun with its verbs.

    `runs` is its function, as module:name, or the id of an operation of the contract; `kinds` are
    the classes that options are gathered in, by the parameter that takes them.
    """

    words: tuple[str, ...]
    says: str
    text: str
    group: str
    verbs: Mapping[str, Sequence[str]]
    options: Sequence[Option]
    runs: str
    kinds: Mapping[str, str]

    def verb(self, word: str) -> str | None:
        """The verb this word calls, by any of its names."""
        if word in self.verbs:
            return word
        return next((verb for verb, also in self.verbs.items() if word in also), None)


def command_at(words: Sequence[str]) -> tuple[Command, Sequence[str]]:
    """The command a line names, and the words behind its name."""
    found = command(())
    said = list(takewhile(lambda word: not word.startswith("-"), words))
    used = 0
    for word in said:
        verb = found.verb(word)
        if verb is None:
            break
        found = command((*found.words, verb))
        used += 1
    return found, words[used:]


@cache
def command(words: tuple[str, ...]) -> Command:
    """The command with these words."""
    raw = _read()["commands"][" ".join(words)]
    return Command(
        words=words,
        says=raw["says"],
        text=raw["text"],
        group=raw.get("group", ""),
        verbs=raw.get("verbs", {}),
        options=tuple(map(_option, raw.get("options", ()))),
        runs=raw.get("runs", ""),
        kinds=raw.get("kinds", {}),
    )


def _option(raw: str | Mapping[str, Any]) -> Option:
    """An option; one that many commands share is written once and named elsewhere."""
    return Option(**(_read()["shared"][raw] if isinstance(raw, str) else raw))


@cache
def _read() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))
    return found
