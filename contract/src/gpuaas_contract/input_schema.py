"""Input schemas of manifests: which JSON Schemas make a form, and how to walk one.

An input schema describes a closed object, refers only inside itself and never to itself, and asks
for no secret. So it can be drawn, its fields can be named by pointer, and checking an input is
bounded. Whether it is JSON Schema at all is checked by the platform. Pure.
"""

from collections.abc import Iterator
from typing import Any, Final

from gpuaas_contract.errors import FieldError
from gpuaas_contract.manifest_ui import Widget
from gpuaas_contract.pointers import pointer_make, pointer_parts, pointer_read

MAX_NODES: Final = 5_000
_REFUSED: Final = {
    "$id": "a schema has no address of its own here",
    "$schema": "leave it out: draft 2020-12 is meant",
    "$anchor": "refer by '#/$defs/…' instead",
    "$dynamicRef": "refer by '#/$defs/…' instead",
    "$dynamicAnchor": "refer by '#/$defs/…' instead",
    "$recursiveRef": "refer by '#/$defs/…' instead",
    "writeOnly": "a secret is never an input: ask for it with a credential or secret picker",
}
_MAPS: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs"})
_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_SINGLE: Final = frozenset(
    {
        *("items", "contains", "additionalProperties", "propertyNames", "not"),
        *("if", "then", "else", "unevaluatedItems", "unevaluatedProperties"),
    }
)

Schema = dict[str, Any]


class SchemaTooLarge(Exception):
    """Written out in full the schema has more than `MAX_NODES` parts, or contains itself."""


def schema_problems(schema: Schema) -> list[FieldError]:
    """Everything that keeps a schema from being an input form; pointers into the schema."""
    problems = []
    if schema.get("type") != "object":
        problems.append(_problem("/type", 'an input is an object: write "type": "object"'))
    if not (
        schema.get("additionalProperties") is False or schema.get("unevaluatedProperties") is False
    ):
        problems.append(
            _problem(
                "/additionalProperties",
                "must be false: a field the app does not know is a mistake to be told",
            )
        )
    for pointer, node in schema_nodes(schema):
        problems += _node_problems(schema, pointer, node)
    if not problems:
        try:
            schema_expanded(schema)
        except SchemaTooLarge as error:
            problems.append(_problem("/$defs", str(error)))
    return problems


def schema_nodes(schema: Any, pointer: str = "") -> Iterator[tuple[str, Schema]]:  # noqa: ANN401
    """Every subschema that is an object, with its pointer, outer ones first."""
    if not isinstance(schema, dict):
        return
    yield pointer, schema
    for keyword, value in schema.items():
        here = pointer + pointer_make([keyword])
        if keyword in _SINGLE:
            yield from schema_nodes(value, here)
        elif keyword in _MAPS and isinstance(value, dict):
            for name, child in value.items():
                yield from schema_nodes(child, here + pointer_make([name]))
        elif keyword in _LISTS and isinstance(value, list):
            for index, child in enumerate(value):
                yield from schema_nodes(child, f"{here}/{index}")


def schema_fields(schema: Schema, pointer: str = "") -> Iterator[tuple[str, Schema]]:
    """The fields of an expanded schema with their input pointers; a list's items are its own."""
    for name, child in _properties(schema).items():
        if isinstance(child, dict):
            here = pointer + pointer_make([name])
            yield here, child
            yield from schema_fields(child, here)
    items = schema.get("items")
    if isinstance(items, dict):
        yield pointer, items


def schema_at(schema: Schema, pointer: str) -> Schema | None:
    """The subschema of the field an input pointer names, or None where the form has no such field.

    Walks `properties` and local references; a number walks into `items`.
    """
    node: Any = schema
    for part in pointer_parts(pointer):
        node = _resolved(schema, node)
        if not isinstance(node, dict):
            return None
        if part in _properties(node):
            node = _properties(node)[part]
        elif part.isdigit() and isinstance(node.get("items"), dict):
            node = node["items"]
        else:
            return None
    node = _resolved(schema, node)
    return node if isinstance(node, dict) else None


def schema_expanded(schema: Schema) -> Schema:
    """The schema with every local reference written out and no `$defs` left."""
    budget = [MAX_NODES]
    expanded = _expanded(schema, schema, (), budget)
    return {key: value for key, value in expanded.items() if key != "$defs"}


def schema_defaults(schema: Schema, given: Schema) -> Schema:
    """The input with the default of every field that is missing, also inside present objects."""
    return _with_defaults(schema, schema, given)


def _node_problems(root: Schema, pointer: str, node: Schema) -> Iterator[FieldError]:
    for keyword, why in _REFUSED.items():
        if keyword in node:
            yield _problem(f"{pointer}/{keyword}", why)
    if node.get("format") == "password":
        yield _problem(f"{pointer}/format", _REFUSED["writeOnly"])
    widget = node.get("x-widget")
    if widget is not None and widget not in list(Widget):
        yield _problem(f"{pointer}/x-widget", f"there is no widget {widget!r}")
    reference = node.get("$ref")
    if reference is None:
        return
    if not isinstance(reference, str) or not reference.startswith("#/$defs/"):
        yield _problem(f"{pointer}/$ref", "refers to '#/$defs/…' of the same schema only")
    elif not isinstance(pointer_read(root, reference[1:]), dict):
        yield _problem(f"{pointer}/$ref", f"there is nothing at {reference}")


def _expanded(root: Schema, node: Any, inside: tuple[str, ...], budget: list[int]) -> Any:  # noqa: ANN401
    """A copy of a subschema with references replaced by what they refer to."""
    if isinstance(node, list):
        return [_expanded(root, one, inside, budget) for one in node]
    if not isinstance(node, dict):
        return node
    budget[0] -= 1
    if budget[0] < 0:
        raise SchemaTooLarge(f"written out in full it has more than {MAX_NODES} parts")
    reference = node.get("$ref")
    if isinstance(reference, str):
        if reference in inside:
            raise SchemaTooLarge(f"{reference} contains itself: such a form has no end")
        target = _dict(pointer_read(root, reference[1:]))
        rest = {key: value for key, value in node.items() if key != "$ref"}
        return _expanded(root, {**target, **rest}, (*inside, reference), budget)
    return {
        key: value if key == "$defs" else _expanded(root, value, inside, budget)
        for key, value in node.items()
    }


def _with_defaults(root: Schema, node: Schema, given: Schema) -> Schema:
    filled = dict(given)
    for name, child in _properties(node).items():
        field = _resolved(root, child)
        if not isinstance(field, dict):
            continue
        if name not in filled and "default" in field:
            filled[name] = field["default"]
        if isinstance(filled.get(name), dict):
            filled[name] = _with_defaults(root, field, filled[name])
    return filled


def _resolved(root: Schema, node: Any) -> Any:  # noqa: ANN401 - any part of a schema
    """What a node refers to, with its own keywords on top; itself when it refers to nothing."""
    seen: set[str] = set()
    while isinstance(node, dict) and isinstance(node.get("$ref"), str):
        reference = node["$ref"]
        if reference in seen:
            return None
        seen.add(reference)
        rest = {key: value for key, value in node.items() if key != "$ref"}
        target = pointer_read(root, reference[1:])
        node = {**target, **rest} if isinstance(target, dict) else None
    return node


def _properties(node: Schema) -> Schema:
    return _dict(node.get("properties"))


def _dict(value: Any) -> Schema:  # noqa: ANN401 - any part of a schema
    return value if isinstance(value, dict) else {}


def _problem(pointer: str, message: str) -> FieldError:
    return FieldError(pointer=pointer, message=message)
