"""Values that fit the public contract's schemas, and its operations, for tests of clients.

A value has every field its schema names, so that a field a client loses is missed. Strings are
plain words: patterns are the platform's to check, not a client's.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CONTRACT = Path(__file__).parents[2] / "openapi" / "v1.json"
JSON = "application/json"
_PREFIX = "#/components/schemas/"
_PLAIN: Mapping[str, Any] = {"integer": 1, "number": 1.5, "boolean": True, "null": None}


@dataclass(frozen=True)
class Operation:
    """One operation of the contract."""

    id: str
    tag: str
    method: str
    path: str
    parameters: tuple[Mapping[str, Any], ...]
    body: tuple[str, Mapping[str, Any]] | None
    status: int
    answer: tuple[str, Mapping[str, Any]] | None

    def given(self, place: str) -> dict[str, Any]:
        """Values of the parameters in the path, or of those the query requires."""
        return {
            one["name"]: one
            for one in self.parameters
            if one["in"] == place and (one.get("required") or place == "path")
        }


class Contract:
    """The committed document."""

    def __init__(self) -> None:
        self.document: dict[str, Any] = json.loads(CONTRACT.read_text())
        self.schemas: dict[str, Any] = self.document["components"]["schemas"]

    def operations(self) -> Iterator[Operation]:
        """Every operation, by path."""
        for path, item in self.document["paths"].items():
            for method, said in item.items():
                yield self._operation(path, method, said)

    def sample(self, schema: Mapping[str, Any], within: tuple[str, ...] = ()) -> Any:
        """A value with every field; a type within itself ends at null or an empty list."""
        if "$ref" in schema:
            name = schema["$ref"].removeprefix(_PREFIX)
            return self.sample(self.schemas[name], (*within, name))
        for choice in ("anyOf", "oneOf"):
            if choice in schema:
                return self.sample(self._chosen(schema[choice], within), within)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return schema["enum"][0]
        kind = schema.get("type", "object")
        if kind == "object":
            return self._object(schema, within)
        if kind == "array":
            items = schema.get("items", {"type": "string"})
            return [] if self._ends(items, within) else [self.sample(items, within)]
        if kind == "string":
            return "2026-01-01T00:00:00+00:00" if schema.get("format") == "date-time" else "word"
        return _PLAIN[kind]

    def _object(self, schema: Mapping[str, Any], within: tuple[str, ...]) -> dict[str, Any]:
        made = {
            name: self.sample(one, within) for name, one in schema.get("properties", {}).items()
        }
        more = schema.get("additionalProperties")
        return made | ({"key": self.sample(more, within)} if isinstance(more, dict) else {})

    def _chosen(
        self, choices: list[Mapping[str, Any]], within: tuple[str, ...]
    ) -> Mapping[str, Any]:
        """The first that is not null, unless it would never end."""
        fitting = [one for one in choices if not self._ends(one, within)]
        return next((one for one in fitting if one.get("type") != "null"), fitting[0])

    def _ends(self, schema: Mapping[str, Any], within: tuple[str, ...]) -> bool:
        return schema.get("$ref", "").removeprefix(_PREFIX) in within

    def _operation(self, path: str, method: str, said: Mapping[str, Any]) -> Operation:
        parameters = [
            self.document["components"]["parameters"][one["$ref"].rpartition("/")[2]]
            if "$ref" in one
            else one
            for one in said.get("parameters", ())
        ]
        content = said.get("requestBody", {}).get("content", {})
        status, answer = next(one for one in said["responses"].items() if one[0] != "default")
        return Operation(
            id=said["operationId"],
            tag=said["tags"][0],
            method=method.upper(),
            path=path,
            parameters=tuple(parameters),
            body=_first(content),
            status=int(status),
            answer=_first(answer.get("content", {})),
        )


def _first(content: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    return next(((kind, one.get("schema", {})) for kind, one in content.items()), None)
