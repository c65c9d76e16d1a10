"""Manifests at the platform's door: checked whole on publish, parsed once per digest after.

Called by the catalog's services. The rules of a manifest stand in the contract; what is added here
is that its input schemas are JSON Schema and that their defaults keep their own rules.
"""

import hashlib
from collections.abc import Iterator
from typing import Any, Final

import jsonschema_rs
import msgspec

from gpuaas_contract.errors import ErrorCode, FieldError
from gpuaas_contract.input_schema import Schema, schema_expanded, schema_nodes
from gpuaas_contract.manifest import Manifest
from gpuaas_contract.manifest_check import manifest_check
from gpuaas_platform.catalog.cache import Cache
from gpuaas_platform.catalog.schemas import schema_invalid, validator_make
from gpuaas_platform.kernel.problems import PlatformError


def manifest_problems(document: dict[str, Any]) -> tuple[Manifest | None, list[FieldError]]:
    """The manifest in a document, or everything that is wrong with it."""
    manifest, problems = manifest_check(document)
    if manifest is None:
        return None, problems
    for pointer, holder in manifest.inputs():
        for problem in _schema_problems(holder.input):
            where = f"{pointer}/input{problem.pointer}"
            problems.append(FieldError(pointer=where, message=problem.message))
    return (None, problems) if problems else (manifest, [])


def manifest_require(document: dict[str, Any]) -> Manifest:
    """The manifest in a document, or `INVALID_MANIFEST` with pointers into the request."""
    manifest, problems = manifest_problems(document)
    if manifest is not None:
        return manifest
    placed = [
        FieldError(pointer=f"/manifest{one.pointer.rstrip('/')}", message=one.message)
        for one in problems
    ]
    detail = "; ".join(f"{one.pointer}: {one.message}" for one in placed[:3])
    more = f"; and {len(placed) - 3} more" if len(placed) > 3 else ""
    raise PlatformError(ErrorCode.INVALID_MANIFEST, detail + more, errors=placed)


def manifest_digest(document: dict[str, Any]) -> str:
    """What names the content of a manifest, whatever order and spacing it was written in."""
    encoded = msgspec.json.encode(document, order="deterministic")
    return f"sha256:{hashlib.sha256(encoded).hexdigest()}"


def manifest_parsed(digest: str, document: dict[str, Any]) -> Manifest:
    """The manifest of a stored document; one digest is parsed once."""
    return _PARSED.get(digest, lambda: Manifest.model_validate(document))


_PARSED: Final = Cache[str, Manifest](128)


def _schema_problems(schema: Schema) -> Iterator[FieldError]:
    wrong = schema_invalid(schema)
    if wrong is not None:
        yield wrong
        return
    for pointer, node in schema_nodes(schema):
        if "default" in node:
            yield from _default_problems(schema, pointer, node)


def _default_problems(schema: Schema, pointer: str, node: Schema) -> Iterator[FieldError]:
    """A default must be a value the field would accept."""
    alone = schema_expanded({**node, "$defs": schema.get("$defs", {})})
    try:
        validator_make(alone).validate(node["default"])
    except jsonschema_rs.ValidationError as error:
        yield FieldError(pointer=f"{pointer}/default", message=error.message[:300])
