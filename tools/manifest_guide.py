"""Writes the reference in docs/guides/manifest.md from the models; called by `make docs`.

A test calls `rendered` and fails when the page is behind the code.
"""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from gpuaas_contract import manifest, manifest_life, manifest_ui

PAGE = Path(__file__).resolve().parent.parent / "docs" / "guides" / "manifest.md"
BEGIN = "<!-- from gpuaas_contract.manifest: make docs -->"
END = "<!-- end -->"


def main() -> int:
    """Bring the page up to date."""
    PAGE.write_text(rendered(PAGE.read_text()))
    return 0


def rendered(page: str) -> str:
    """The page with every type of a manifest as it is in the code."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "\n\n" + "\n".join(_reference()) + "\n" + END + after


def _reference() -> list[str]:
    schema = manifest.Manifest.model_json_schema()
    widgets = {"description": manifest_ui.Widget.__doc__, "enum": list(manifest_ui.Widget)}
    shapes = {"Manifest": schema, **schema["$defs"], "Widget": widgets}
    order = ["Manifest", *(name for name in _declared() if name in shapes and name != "Manifest")]
    lines: list[str] = []
    for name in order:
        lines += _shape(name, shapes[name])
    return lines


def _declared() -> list[str]:
    """Names of the types in the order of the source, the modules' own before borrowed ones."""
    found = [
        (value.__module__ != module.__name__, name)
        for module in (manifest, manifest_life, manifest_ui)
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, BaseModel | StrEnum)
    ]
    return list(dict.fromkeys(name for _, name in sorted(found, key=lambda pair: pair[0])))


def _shape(name: str, shape: dict[str, Any]) -> list[str]:
    words = shape.get("description", "").replace("\n\n", " ").replace("\n", " ")
    head = [f"### {name}", "", words, ""]
    if "enum" in shape:
        if name == "Permission":
            return [
                *head,
                "The permission keys of the platform; `GET /permissions` lists them.",
                "",
            ]
        return [*head, ", ".join(f"`{value}`" for value in shape["enum"]), ""]
    required = set(shape.get("required", ()))
    rows = [
        f"| `{field}` | {_type(about)} | {_default(field, about, required)} |"
        f" {about.get('description', '')} |"
        for field, about in shape.get("properties", {}).items()
    ]
    return [*head, "| field | type | default | meaning |", "|---|---|---|---|", *rows, ""]


def _default(field: str, about: dict[str, Any], required: set[str]) -> str:
    if field in required:
        return "required"
    value = about.get("default")
    if value in ([], {}, "", None) or isinstance(value, dict):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _type(about: dict[str, Any]) -> str:
    """A type in words a person reads: `list of Component`, `integer 1 to 20`."""
    if "$ref" in about:
        name = about["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})" if name != "JsonValue" else "any JSON"
    options = about.get("anyOf") or about.get("oneOf")
    if options:
        kinds = [_type(one) for one in options if one.get("type") != "null"]
        return " or ".join(kinds)
    if "const" in about:
        return f"`{about['const']}`"
    if "enum" in about:
        return ", ".join(f"`{one}`" for one in about["enum"])
    if about.get("type") == "array":
        return f"list of {_type(about['items'])}"
    return f"{about.get('type', 'any JSON')}{_bounds(about)}"


def _bounds(about: dict[str, Any]) -> str:
    least, most = about.get("minimum"), about.get("maximum")
    if least is not None and most is not None:
        return f" {least} to {most}"
    if least is not None:
        return f" from {least}"
    length = about.get("maxLength")
    return f" up to {length}" if length is not None else ""


if __name__ == "__main__":
    sys.exit(main())
