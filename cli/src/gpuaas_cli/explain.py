"""`gpuaas explain` and `gpuaas schema`: the contract in words, and as JSON Schema. No calls."""

import json
import sys
from collections.abc import Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from gpuaas_cli.book import nouns, schemas
from gpuaas_cli.output import json_text
from gpuaas_cli.screen import console

Node = Mapping[str, Any]


def explain(what: str | None = None) -> int:
    """Explain a noun, one of its fields, or a type of the contract; without a word, list the nouns.

    Parameters
    ----------
    what
        NOUN, NOUN.field, or a type's name; fields of fields by more dots.

    Examples
    --------
    $ gpuaas explain
    $ gpuaas explain instance
    $ gpuaas explain instance.conditions.type
    """
    if what is None:
        _nouns(console().print)
        return 0
    noun, *path = what.split(".")
    name = type_of(noun)
    if name is None:
        sys.stderr.write(f"error: there is no noun or type {noun!r}; `gpuaas explain` lists them\n")
        return 1
    node: Node = schemas()[name]
    for field in path:
        fields = resolved(node).get("properties", {})
        if field not in fields:
            known = ", ".join(fields) or "none"
            sys.stderr.write(f"error: {noun} has no field {field!r}; it has: {known}\n")
            return 1
        node = fields[field]
    screen = console()
    screen.print(Text(what if path else f"{noun}: {name}", "bold"))
    _describe(screen.print, node)
    if not path:
        _verbs(screen.print, noun)
    return 0


def schema(name: str | None = None) -> int:
    """Print a type as JSON Schema, whole, or the names of all types.

    Parameters
    ----------
    name
        A type's name or a noun; every name when left out.

    Examples
    --------
    $ gpuaas schema AllocationCreate
    $ gpuaas schema
    """
    if name is None:
        sys.stdout.write("\n".join(sorted(schemas())) + "\n")
        return 0
    found = type_of(name)
    if found is None:
        sys.stderr.write(f"error: there is no type {name!r}; `gpuaas schema` lists them\n")
        return 1
    used = {one: schemas()[one] for one in sorted(_reached(found) - {found})}
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schemas()[found]}
    if used:
        whole["$defs"] = used
    text = json_text(whole, indent=2)
    sys.stdout.write(text.replace("#/components/schemas/", "#/$defs/") + "\n")
    return 0


def type_of(word: str) -> str | None:
    """The type a noun stands for, or the type itself."""
    if word in schemas():
        return word
    found = nouns().get(word, ())
    for one in found:
        if one.verb == "show" and one.answer:
            return one.answer
    for one in found:
        if one.item or one.answer:
            return one.item or one.answer
    return None


def resolved(node: Node) -> Node:
    """The schema behind references, `or null` and lists."""
    if "$ref" in node:
        return resolved(schemas()[node["$ref"].rpartition("/")[2]])
    choices = [one for one in node.get("anyOf", ()) if one.get("type") != "null"]
    if len(choices) == 1:
        return resolved(choices[0])
    if node.get("type") == "array" and "items" in node:
        return resolved(node["items"])
    return node


def type_text(node: Node) -> str:
    """The type of a field in a word or two."""
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        values = schemas()[name].get("enum")
        return " | ".join(map(str, values)) if values else name
    if "anyOf" in node:
        return " or ".join(type_text(one) for one in node["anyOf"])
    if node.get("type") == "array":
        return f"list of {type_text(node.get('items', {}))}"
    if "const" in node:
        return json.dumps(node["const"])
    return str(node.get("format") or node.get("type") or "any")


def _describe(say: Any, node: Node) -> None:  # noqa: ANN401 - a console's print
    whole = resolved(node)
    text = node.get("description") or whole.get("description")
    if text:
        say(text)
    fields = whole.get("properties")
    if not fields:
        say(f"type: {type_text(node)}")
        bounds = ("default", "pattern", "minimum", "maximum", "minLength", "maxLength", "examples")
        for bound in bounds:
            if bound in whole or bound in node:
                say(f"{bound}: {json.dumps(node.get(bound, whole.get(bound)))}", markup=False)
        return
    needed = set(whole.get("required", ()))
    rows = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("FIELD", "TYPE", "MEANING"):
        rows.add_column(heading, overflow="fold")
    for name, field in fields.items():
        meaning = field.get("description") or resolved(field).get("description", "")
        rows.add_row(name + ("*" if name in needed else ""), type_text(field), Text(meaning))
    say(rows)


def _nouns(say: Any) -> None:  # noqa: ANN401 - a console's print
    """Every noun, and what it is."""
    rows = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("NOUN", "TYPE", "MEANING"):
        rows.add_column(heading, overflow="fold")
    for noun in sorted(nouns()):
        name = type_of(noun)
        text = resolved(schemas()[name]).get("description", "") if name else ""
        rows.add_row(noun, name or "-", Text(text.partition("\n")[0]))
    say(rows)


def _verbs(say: Any, noun: str) -> None:  # noqa: ANN401 - a console's print
    found = nouns().get(noun, ())
    if not found:
        return
    rows = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("COMMAND", "WHAT IT DOES", "CALL"):
        rows.add_column(heading, overflow="fold")
    for one in found:
        rows.add_row(f"gpuaas {noun} {one.verb}", one.help, f"{one.method} {one.path}")
    say(rows)


def _reached(name: str) -> set[str]:
    """Every type a type is made of."""
    found: set[str] = set()
    open_names = [name]
    while open_names:
        one = open_names.pop()
        if one in found:
            continue
        found.add(one)
        text = json.dumps(schemas()[one])
        open_names += [other for other in schemas() if f'schemas/{other}"' in text]
    return found
