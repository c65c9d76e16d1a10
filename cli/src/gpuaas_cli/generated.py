"""Every operation of the contract as a command, its flags from the schema.

Called by `main.py`, which asks for one noun at a time. The work itself is in `calling.py`, loaded
only when a command really runs, because the SDK takes longer to load than all of this.
"""

import inspect
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Annotated, Any, Literal

from cyclopts import App, Group, Parameter

from gpuaas_cli.book import Flag, Operation
from gpuaas_cli.declared import options_declared
from gpuaas_cli.flags import HANDLED, SCOPES, field_option, option_kinds

_FIELDS = Group("Fields", sort_key=10)
_FILTERS = Group("Filters", sort_key=20)
_KINDS: dict[str, Any] = {"integer": int, "number": float, "switch": bool}


def noun_app(noun: str, verbs: Iterable[Operation], *, names: tuple[str, ...] = ()) -> App:
    """A noun with its verbs."""
    app = App(name=(noun, *names))
    for one in verbs:
        app.command(command(one), name=one.verb, alias="read" if one.verb == "show" else ())
    return app


def command(operation: Operation) -> Callable[..., int]:
    """The operation as a function whose signature cyclopts reads."""

    def run(*positional: str, **named: Any) -> int:  # noqa: ANN401 - as the signature says
        given = dict(zip(_positional(operation), positional, strict=False)) | named
        code: int = import_module("gpuaas_cli.calling").run(operation, given)
        return code

    parameters = [*_path(operation), *_filters(operation), *_fields(operation)]
    run.__signature__ = inspect.Signature([*parameters, *_shared(operation)])  # type: ignore[attr-defined]  # read by inspect
    run.__name__ = operation.id
    run.__doc__ = operation.help + _example(operation)
    return run


def _positional(operation: Operation) -> list[str]:
    return [f.name for f in operation.params if f.place == "path" and f.name not in SCOPES]


def _path(operation: Operation) -> list[inspect.Parameter]:
    names = _positional(operation)
    described = [f for f in operation.params if f.name in names and f.place == "path"]
    own = [f for f in operation.params if _own_scope(operation, f)]
    found = [
        inspect.Parameter(
            flag.name,
            inspect.Parameter.POSITIONAL_ONLY,
            annotation=Annotated[str, Parameter(help=flag.help or _which(flag.name))],
        )
        for flag in described
    ]
    # `project show` without a name shows the project one works in.
    return found + [
        inspect.Parameter(
            flag.name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=None,
            annotation=Annotated[
                str | None, Parameter(help=f"{_which(flag.name)}; the context's when left out")
            ],
        )
        for flag in own
    ]


def _own_scope(operation: Operation, flag: Flag) -> bool:
    """Whether a scope in the path is the very thing the command is about."""
    return flag.place == "path" and SCOPES.get(flag.name) == operation.noun


def _filters(operation: Operation) -> list[inspect.Parameter]:
    wanted = [
        flag
        for flag in operation.params
        if flag.place == "query" and flag.name not in HANDLED and flag.name not in SCOPES
    ]
    return [_option(flag, _FILTERS, flag.option) for flag in wanted]


def _fields(operation: Operation) -> list[inspect.Parameter]:
    return [
        _option(flag, _FIELDS, field_option(operation, flag), prefix="field_")
        for flag in operation.fields
    ]


def _option(flag: Flag, group: Group, option: str, prefix: str = "") -> inspect.Parameter:
    negative: Any = None if flag.kind == "switch" else ""
    annotation: Any = _KINDS.get(flag.kind, str)
    if flag.values:
        annotation = Literal[flag.values]
    if flag.kind == "texts":
        annotation = tuple[annotation, ...]
    said = Parameter(name=option, group=group, help=_help(flag), negative=negative)
    return inspect.Parameter(
        prefix + flag.name.replace("-", "_"),
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[annotation | None, said],
    )


def _help(flag: Flag) -> str:
    parts = [flag.help] if flag.help else []
    if flag.kind == "json":
        parts.append("as JSON")
    if flag.default is not None and flag.kind != "json":
        parts.append(f"default: {flag.default}")
    if flag.required:
        parts.append("needed")
    return "; ".join(parts) or flag.name.replace("_", " ")


def _shared(operation: Operation) -> list[inspect.Parameter]:
    shared = [
        inspect.Parameter(
            kind.__name__.lower(),
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=options_declared(kind) | None,
        )
        for kind in option_kinds(operation)
    ]
    if operation.if_match:
        said = Parameter(name="--if-match", help="revision it must still have; else exit 5")
        shared.append(
            inspect.Parameter(
                "if_match",
                inspect.Parameter.KEYWORD_ONLY,
                default=None,
                annotation=Annotated[str | None, said],
            )
        )
    return shared


def _which(name: str) -> str:
    thing = name.removesuffix("_id").replace("_", " ")
    return f"id or name of the {thing}" if name.endswith("_id") else thing


def _example(operation: Operation) -> str:
    words = ["gpuaas", operation.noun, operation.verb]
    words += [name.removesuffix("_id").upper() for name in _positional(operation)]
    words += [
        f"{field_option(operation, flag)} {flag.name.upper()}"
        for flag in operation.fields
        if flag.required
    ]
    return f"\n\nCalls {operation.method} {operation.path}.\n\n$ {' '.join(words)}"
