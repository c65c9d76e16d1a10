"""Operations of the contract as tools: names, input schemas, hints. Pure; read by `server.py`."""

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from mcp import types

from gpuaas_cli.book import Flag, Operation, operations, schemas
from gpuaas_cli.flags import SCOPES

CONFIRM: Final = "confirm"
_SHARED: Final = {
    "idempotency_key": "Repeat a change safely: the same key and arguments change nothing more.",
    "correlation_id": "Id to find everything about this call by later.",
}
# Leases are a controller's business, `agent_…` a machine's; sign-in, streams and raw content are
# not calls a tool can make.
_LEFT_OUT_ROOMS: Final = {"controllers"}
_LEFT_OUT: Final = {"session_create", "token_create", "event_stream", "artifact_part_put"}
_HIDDEN: Final = {"cursor"}
_PREFIX: Final = "#/components/schemas/"
_REFERENCE: Final = re.compile(_PREFIX + r"(\w+)")
_TYPES: Final = {"integer": "integer", "number": "number", "switch": "boolean", "text": "string"}


def offered(*, read_only: bool) -> dict[str, Operation]:
    """The operations that are tools, by name."""
    return {
        one.id: one
        for one in operations()
        if one.room not in _LEFT_OUT_ROOMS
        and one.id not in _LEFT_OUT
        and not one.id.startswith("agent_")
        and not one.media
        and not (read_only and one.mutates)
    }


def tool(operation: Operation) -> types.Tool:
    """One operation as a tool."""
    said = operation.help
    if operation.destroys:
        said += " Destroys something: it is asked about before it is done."
    return types.Tool(
        name=operation.id,
        title=f"{operation.noun} {operation.verb}",
        description=f"{said} ({operation.method} {operation.path})",
        input_schema=input_schema(operation),
        annotations=types.ToolAnnotations(
            read_only_hint=not operation.mutates,
            destructive_hint=operation.destroys,
            idempotent_hint=not operation.mutates,
            open_world_hint=False,
        ),
    )


def input_schema(operation: Operation) -> dict[str, Any]:
    """What a tool takes: path, query and body in one object."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    for flag in operation.params:
        if flag.name in _HIDDEN or flag.place == "header":
            continue
        properties[flag.name] = _parameter(flag)
        if flag.required and flag.name not in SCOPES:
            required.append(flag.name)
    body = _body(operation)
    for flag in operation.fields:
        properties[flag.name] = body[flag.name]
        if flag.required:
            required.append(flag.name)
    if operation.mutates:
        properties |= {name: _text(said) for name, said in _SHARED.items()}
    if operation.destroys:
        properties[CONFIRM] = _text("The id of what is destroyed, again, if nobody can be asked.")
    schema: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }
    if required:
        schema["required"] = required
    return _with_definitions(schema)


def _parameter(flag: Flag) -> dict[str, Any]:
    said = flag.help or flag.name.replace("_", " ")
    if flag.name in SCOPES:
        said = f"Id or name of the {SCOPES[flag.name]}; the context's when left out."
    if flag.kind == "texts":
        return {"type": "array", "items": {"type": "string"}, "description": said}
    made: dict[str, Any] = {"type": _TYPES.get(flag.kind, "string"), "description": said}
    if flag.values:
        made["enum"] = list(flag.values)
    return made


def _text(said: str) -> dict[str, str]:
    return {"type": "string", "description": said}


def _body(operation: Operation) -> Mapping[str, Any]:
    if operation.body is None:
        return {}
    found: Mapping[str, Any] = schemas()[operation.body].get("properties", {})
    return found


def _with_definitions(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with every type it names beside it."""
    needed: set[str] = set()
    open_names = set(_REFERENCE.findall(json.dumps(schema)))
    while open_names:
        needed |= open_names
        open_names = {name for one in open_names for name in _named_by(one)} - needed
    if needed:
        schema["$defs"] = {name: schemas()[name] for name in sorted(needed)}
    made: dict[str, Any] = json.loads(json.dumps(schema).replace(_PREFIX, "#/$defs/"))
    return made


@cache
def _named_by(name: str) -> frozenset[str]:
    return frozenset(_REFERENCE.findall(json.dumps(schemas()[name])))
