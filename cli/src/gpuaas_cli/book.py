"""The contract as the command line knows it: operations with their flags, and the types.

Read from two files of this package that `make openapi` writes. Used by the generated commands,
`explain`, `schema` and the MCP server. It must stay light: it is loaded at every start.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

_DATA = Path(__file__).parent / "data"


class Flag(NamedTuple):
    """A parameter of a path or query, or a field of a body."""

    name: str
    kind: str
    help: str = ""
    place: str = "body"
    required: bool = False
    values: tuple[str, ...] = ()
    default: Any = None
    secret: bool = False

    @property
    def option(self) -> str:
        """As it is typed."""
        return "--" + self.name.replace("_", "-")


class Operation(NamedTuple):
    """One operation of the contract, as a command."""

    id: str
    noun: str
    verb: str
    method: str
    path: str
    room: str
    help: str
    params: tuple[Flag, ...]
    body: str | None
    fields: tuple[Flag, ...]
    answer: str | None
    item: str | None
    columns: tuple[str, ...]
    media: str
    page: bool
    if_match: bool

    @property
    def mutates(self) -> bool:
        """Whether it changes something."""
        return self.method != "GET"

    @property
    def starts_work(self) -> bool:
        """Whether its answer names work that goes on."""
        if self.answer == "Allocation":
            return self.mutates  # a machine may be made to order
        return self.mutates and self.room == "apps" and self.answer in {"Requested", "Operation"}

    @property
    def destroys(self) -> bool:
        """Whether a person is asked first."""
        return self.method == "DELETE" or self.verb in _DESTROYING


_DESTROYING = {"abandon", "release", "revoke", "retire", "withdraw", "delete"}


@cache
def operations() -> tuple[Operation, ...]:
    """Every operation, by noun and verb."""
    return tuple(one for noun in noun_names() for one in noun_operations(noun))


def nouns() -> Mapping[str, tuple[Operation, ...]]:
    """Every noun with its verbs."""
    return {noun: noun_operations(noun) for noun in noun_names()}


def noun_names() -> Collection[str]:
    """Every noun."""
    return _raw().keys()


@cache
def noun_operations(noun: str) -> tuple[Operation, ...]:
    """The verbs of a noun; none when there is no such noun."""
    return tuple(_operation(one) for one in _raw().get(noun, ()))


def operation(operation_id: str) -> Operation:
    """The operation with this id."""
    return next(one for one in operations() if one.id == operation_id)


@cache
def schemas() -> Mapping[str, dict[str, Any]]:
    """Every type of the contract, as JSON Schema."""
    found: dict[str, dict[str, Any]] = _read("schemas.json")["schemas"]
    return found


@cache
def _raw() -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """The operations as they were written, by noun: most starts need one noun alone."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for one in _read("commands.json")["operations"]:
        found.setdefault(one["noun"], []).append(one)
    return found


@cache
def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((_DATA / name).read_text(encoding="utf-8"))
    return found


def _operation(raw: Mapping[str, Any]) -> Operation:
    body = raw.get("body", {})
    return Operation(
        id=raw["id"],
        noun=raw["noun"],
        verb=raw["verb"],
        method=raw["method"],
        path=raw["path"],
        room=raw["room"],
        help=raw["help"],
        params=_flags(raw["params"]),
        body=body.get("schema"),
        fields=_flags(body.get("flags", ())),
        answer=raw.get("answer"),
        item=raw.get("item"),
        columns=tuple(raw.get("columns", ())),
        media=raw.get("media", ""),
        page=raw.get("page", False),
        if_match=raw.get("if_match", False),
    )


def _flags(raw: Sequence[Mapping[str, Any]]) -> tuple[Flag, ...]:
    return tuple(
        Flag(
            name=one["name"],
            kind=one["kind"],
            help=one["help"],
            place=one.get("in", "body"),
            required=one.get("required", False),
            values=tuple(one.get("values", ())),
            default=one.get("default"),
            secret=one.get("secret", False),
        )
        for one in raw
    )
