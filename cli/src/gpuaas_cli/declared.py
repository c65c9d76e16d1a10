"""Commands said in cyclopts' own words: what `said.py` holds, turned into its annotations.

Called by `tree.py` for the commands shaped by hand.
"""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from inspect import get_annotations
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import cyclopts

from gpuaas_cli import said


def command_declared(target: str) -> Callable[..., int]:
    """The function `module:name` of this package, as cyclopts reads it."""
    module, _, name = target.partition(":")
    work: Callable[..., int] = getattr(import_module(f"gpuaas_cli.{module}"), name)
    work.__annotations__ = {word: _hint(hint) for word, hint in work.__annotations__.items()}
    return work


def options_declared(kind: type[Any]) -> type[Any]:
    """A class of options, as cyclopts reads it."""
    for one in kind.__mro__:
        if is_dataclass(one):
            _declared(one)
    return kind


@cache
def group_declared(group: said.Group) -> cyclopts.Group:
    """A heading; one object for each, as cyclopts wants it."""
    return cyclopts.Group(group.name, sort_key=group.sort_key)


@cache
def _declared(kind: type[Any]) -> None:
    own = get_annotations(kind)
    kind.__annotations__ = {name: _hint(hint) for name, hint in own.items()}
    if "__said__" in kind.__dict__:
        _parameter(kind.__dict__["__said__"])(kind)


def _hint(hint: Any) -> Any:  # noqa: ANN401 - any annotation
    origin = get_origin(hint)
    if origin is Annotated:
        more = [
            _parameter(one) if isinstance(one, said.Parameter) else one for one in hint.__metadata__
        ]
        return Annotated[(_hint(hint.__origin__), *more)]
    if origin in {Union, UnionType}:
        for one in get_args(hint):
            _hint(one)
    elif isinstance(hint, type) and is_dataclass(hint):
        options_declared(hint)
    return hint


def _parameter(one: Any) -> Any:  # noqa: ANN401 - whatever stands in an annotation
    """What is said of a word; anything else stays as it is."""
    if not isinstance(one, said.Parameter):
        return one
    given = {part.name: getattr(one, part.name) for part in fields(one)}
    if one.group is not None:
        given["group"] = group_declared(one.group)
    return cyclopts.Parameter(**{name: value for name, value in given.items() if value is not None})
