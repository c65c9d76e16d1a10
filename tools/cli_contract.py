"""Writes what the command line knows of the contract; called by `make openapi`, behind it.

`commands.json`: every operation as a command (noun, verb, flags), small enough to be read at each
start. `schemas.json`: the types, for `gpuaas explain` and `gpuaas schema`. A test compares both
with what would be written.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "openapi" / "v1.json"
DATA = ROOT / "cli" / "src" / "gpuaas_cli" / "data"
PREFIX: Final = "/api/v1"

Node = dict[str, Any]

# Verbs of two words; every other verb is the last word of an operation's id.
_LONG_VERBS: Final = ("end_all", "list_all", "project_summary", "tenant_summary")
# What people call a thing, where the contract's word is longer.
_SHORT: Final = {"app_instance": "instance", "app_member": "member"}
_SHOWN: Final = {"read": "show"}
# For a browser alone: an identity provider sends people there, and a cookie says who asks.
_NOT_FOR_TERMINALS: Final = {
    *("oidc_callback", "oidc_provider_callback", "oidc_start"),
    *("pending_sign_in_complete", "pending_sign_in_read"),
}
_FIRST: Final = (
    *("id", "name", "resource_name", "slug", "version", "email", "title", "kind", "type", "key"),
    *("app_slug", "component_key", "status", "health", "category", "role_name", "action"),
)
# What comes before these in lists of types that are known by other fields.
_TELLING: Final = {
    "AppInstance": ("id", "resource_name", "app_slug", "status", "health", "app_version"),
    "AuditRecord": ("at", "action", "outcome", "actor_id", "target_id", "correlation_id", "id"),
    "CloudEvent": ("time", "type", "subject", "correlationid", "id"),
    "Controller": ("app_slug", "version", "present", "replica", "place", "last_seen"),
    "Operation": (
        *("id", "kind", "status", "attempt", "requested_at", "ended_at", "correlation_id"),
    ),
    "UsageRecord": (
        *("subject_name", "unit", "quantity", "amount", "currency", "started_at", "ended_at"),
        "id",
    ),
    "UsageTotal": ("day", "project_id", "unit", "quantity", "amount", "currency", "open"),
}
_TABLE_LAST: Final = frozenset({"revision", "correlation_id", "org_id", "project_id"})
_TABLE_LAST_ENDS: Final = ("digest", "hash", "_keys", "_by", "_token")


def main() -> int:
    """Write both files."""
    for name, text in rendered(json.loads(SOURCE.read_text())).items():
        (DATA / name).write_text(text)
    return 0


def rendered(document: Node) -> dict[str, str]:
    """The files as they should be."""
    book = Book(document)
    commands = {"version": document["info"]["version"], "operations": book.operations()}
    return {"commands.json": lines(commands), "schemas.json": lines(document["components"])}


class Book:
    """The contract, read."""

    def __init__(self, document: Node) -> None:
        self._document = document
        self._schemas: Node = document["components"]["schemas"]

    def operations(self) -> list[Node]:
        """Every operation a terminal can use, by noun and verb."""
        found = [
            self._operation(method, path, operation)
            for path, methods in self._document["paths"].items()
            for method, operation in methods.items()
            if operation["operationId"] not in _NOT_FOR_TERMINALS
        ]
        return sorted(found, key=lambda one: (one["noun"], one["verb"]))

    def _operation(self, method: str, path: str, operation: Node) -> Node:
        noun, verb = _words(operation["operationId"])
        made: Node = {
            "id": operation["operationId"],
            "noun": noun,
            "verb": verb,
            "method": method.upper(),
            "path": path.removeprefix(PREFIX),
            "room": operation["tags"][0],
            "help": operation.get("description", "").partition("\n")[0],
        }
        parameters = [one for one in operation.get("parameters", []) if "$ref" not in one]
        made["params"] = [self._flag(p["name"], p["schema"], p) for p in parameters]
        if _refers(operation, "IfMatch"):
            made["if_match"] = True
        body = operation.get("requestBody", {}).get("content", {})
        if "application/json" in body:
            made["body"] = self._body(body["application/json"]["schema"])
        return made | self._answer(operation)

    def _body(self, schema: Node) -> Node:
        whole = self._resolved(schema)
        required = set(whole.get("required", []))
        flags = [
            self._flag(name, node, {"required": name in required})
            for name, node in whole.get("properties", {}).items()
        ]
        return {"schema": _name(schema), "flags": flags}

    def _answer(self, operation: Node) -> Node:
        responses: Node = operation["responses"]
        # Where another answer of success stands beside it, what is made is the answer.
        status = "201" if "201" in responses else next(iter(responses))
        answer = responses[status]
        content = answer.get("content", {})
        if "application/json" not in content:
            media = next(iter(content), "")
            return {"media": media} if status != "204" else {}
        schema = content["application/json"]["schema"]
        items = self._resolved(schema).get("properties", {}).get("items") or (
            schema if schema.get("type") == "array" else None
        )
        if items is None:
            return {"answer": _name(schema), "columns": self._columns(schema)}
        item = items["items"]
        made = {"answer": _name(schema), "item": _name(item), "columns": self._columns(item)}
        return made | {"page": True}

    def _columns(self, schema: Node) -> list[str]:
        """Fields that fit in a table: the telling ones first, then as the type has them."""
        whole = self._resolved(schema)
        properties: Node = whole.get("properties", {})
        # Fields that are always there stand in the order in which the type says them.
        ordered = dict.fromkeys([*whole.get("required", ()), *properties])
        plain = [name for name in ordered if self._kind(properties[name]) != "json"]
        telling = dict.fromkeys([*_TELLING.get(_name(schema), ()), *_FIRST])
        known = [name for name in telling if name in plain]
        return [*known, *sorted((one for one in plain if one not in known), key=_lateness)]

    def _flag(self, name: str, node: Node, more: Node) -> Node:
        """A parameter or a field of a body, as an option."""
        whole = self._resolved(node)
        kind = self._kind(node)
        flag: Node = {"name": name, "kind": kind}
        if "in" in more:
            flag["in"] = more["in"]
        if more.get("required"):
            flag["required"] = True
        text = more.get("description") or node.get("description") or whole.get("description", "")
        flag["help"] = " ".join(str(text).split())
        one = self._resolved(whole["items"]) if kind == "texts" else whole
        values = one.get("enum") or ([one["const"]] if "const" in one else None)
        if kind in {"text", "texts"} and values:
            flag["values"] = values
        if node.get("default") not in (None, "", [], {}):
            flag["default"] = node["default"]
        if node.get("writeOnly") or whole.get("writeOnly"):
            flag["secret"] = True
        return flag

    def _kind(self, node: Node) -> str:
        whole = self._resolved(node)
        kind = whole.get("type")
        if kind is None and ("enum" in whole or "const" in whole):
            return "text"
        if kind == "array":
            return "texts" if self._kind(whole.get("items", {})) == "text" else "json"
        kinds = {"string": "text", "integer": "integer", "number": "number", "boolean": "switch"}
        return kinds.get(str(kind), "json")

    def _resolved(self, node: Node) -> Node:
        """The schema itself, without references and without `or null`."""
        if "$ref" in node:
            return self._resolved(self._schemas[node["$ref"].rpartition("/")[2]])
        if "anyOf" not in node:
            return node
        choices = [one for one in node["anyOf"] if one.get("type") != "null"]
        if len(choices) == 1:
            return self._resolved(choices[0])
        # A price is a number or a text of digits: one types text.
        plain = {one.get("type") for one in choices} <= {"string", "number", "integer"}
        return {"type": "string"} if plain else {}


def _lateness(name: str) -> int:
    """How late a field comes in a table: times behind what something is, and keys behind both."""
    if name in _TABLE_LAST or name.endswith(_TABLE_LAST_ENDS):
        return 2
    return int(name.endswith("_at"))


def _words(operation_id: str) -> tuple[str, str]:
    for verb in _LONG_VERBS:
        if operation_id.endswith(f"_{verb}"):
            noun = operation_id.removesuffix(f"_{verb}")
            break
    else:
        noun, _, verb = operation_id.rpartition("_")
    shown = _SHOWN.get(verb, verb)
    return _SHORT.get(noun, noun).replace("_", "-"), shown.replace("_", "-")


def _refers(operation: Node, parameter: str) -> bool:
    references = [one.get("$ref", "") for one in operation.get("parameters", [])]
    return f"#/components/parameters/{parameter}" in references


def _name(schema: Node) -> str:
    if schema.get("type") == "array":
        return f"{_name(schema['items'])}[]"
    return str(schema.get("$ref", "")).rpartition("/")[2]


def lines(data: Node) -> str:
    """JSON with one entry a line, so that a change reads well; keys keep their order."""
    parts = []
    for key, value in data.items():
        if isinstance(value, list):
            rows = ",\n".join(_dense(one) for one in value)
            parts.append(f"{_dense(key)}: [\n{rows}\n]")
        elif isinstance(value, dict):
            rows = ",\n".join(f"{_dense(name)}: {_dense(one)}" for name, one in value.items())
            parts.append(f"{_dense(key)}: {{\n{rows}\n}}")
        else:
            parts.append(f"{_dense(key)}: {_dense(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _dense(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    sys.exit(main())
