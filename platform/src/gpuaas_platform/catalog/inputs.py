"""Inputs of operations: the schema as narrowed by entitlements, defaults, and the check itself.

One schema does all: what the form shows is what is checked. Entitlements are applied in order,
tenant first, and each can only narrow: what is fixed stays fixed, bounds only move inwards.
Called by the catalog's services. Pure but for the cache of compiled schemas.
"""

from collections.abc import Sequence
from typing import Any, Final

import jsonschema_rs
import msgspec

from gpuaas_contract.catalog import InputLimit, OperationForm, SettingsOverlay
from gpuaas_contract.common import Json
from gpuaas_contract.errors import FieldError
from gpuaas_contract.input_schema import Schema, schema_at, schema_defaults, schema_expanded
from gpuaas_contract.manifest import OperationSpec, Purpose
from gpuaas_contract.pointers import MISSING, pointer_parts, pointer_read, pointer_written
from gpuaas_platform.catalog.cache import Cache
from gpuaas_platform.catalog.records import VersionRecord
from gpuaas_platform.catalog.schemas import input_errors, validator_make
from gpuaas_platform.kernel.problems import not_found

_KEPT: Final = 256
_SCHEMAS: Final = Cache[tuple[str, str, bytes], Schema](_KEPT)
_VALIDATORS: Final = Cache[tuple[str, str, bytes], jsonschema_rs.Draft202012Validator](_KEPT)


def operation_of(version: VersionRecord, kind: str) -> OperationSpec:
    """The operation of this kind, or `NOT_FOUND`."""
    operation = version.manifest.operation(kind)
    if operation is None:
        raise not_found(f"operation of {version.slug} {version.version}", kind)
    return operation


def input_schema(version: VersionRecord, kind: str) -> Schema:
    """The schema an input of this kind must fulfil here, written out in full."""
    operation = operation_of(version, kind)
    settings = _settings(version, operation)
    key = (version.digest, kind, _settings_key(settings))
    return _SCHEMAS.get(key, lambda: schema_narrowed(operation.input, settings))


def input_validate(version: VersionRecord, kind: str, given: Json) -> list[FieldError]:
    """What is wrong with the input of an operation of this kind; pointers into the input."""
    schema = input_schema(version, kind)
    settings = _settings(version, operation_of(version, kind))
    key = (version.digest, kind, _settings_key(settings))
    validator = _VALIDATORS.get(key, lambda: validator_make(schema))
    fixed = {pointer for one in settings for pointer in one.fixed}
    return [_told(error, fixed) for error in input_errors(validator, given)]


def defaults_apply(version: VersionRecord, kind: str, given: Json) -> Json:
    """The input with fixed values set and defaults filled in; call before `input_validate`.

    A given value is never replaced: one that is not allowed is told by the check.
    """
    schema = input_schema(version, kind)
    filled: Json = given
    for overlay in reversed(_settings(version, operation_of(version, kind))):
        for pointer in (*overlay.fixed, *overlay.defaults):
            field = schema_at(schema, pointer)
            if field is None or pointer_read(filled, pointer) is not MISSING:
                continue
            value = field.get("const", field.get("default"))
            filled = pointer_written(filled, pointer, value)
    return schema_defaults(schema, filled)


def operation_form(version: VersionRecord, kind: str) -> OperationForm:
    """Everything a shell needs to draw an operation's form and ask before it is sent."""
    operation = operation_of(version, kind)
    schema = input_schema(version, kind)
    named = {pointer for one in _settings(version, operation) for pointer in one.fixed}
    return OperationForm(
        kind=kind,
        title=operation.title,
        description=operation.description,
        input_schema=schema,
        initial=defaults_apply(version, kind, {}),
        fixed=sorted(pointer for pointer in named if schema_at(schema, pointer) is not None),
        confirmation=operation.confirmation,
        destructive=operation.destructive,
    )


def schema_narrowed(schema: Schema, settings: Sequence[SettingsOverlay]) -> Schema:
    """An input schema with the bounds of entitlements in it. Unknown fields are left out."""
    narrowed = schema_expanded(schema)
    for overlay in settings:
        for pointer, value in overlay.defaults.items():
            narrowed = _field_changed(narrowed, pointer, {"default": value})
        for pointer, limit in overlay.limits.items():
            narrowed = _field_changed(narrowed, pointer, limit)
        for pointer, value in overlay.fixed.items():
            field = schema_at(narrowed, pointer)
            if field is not None and "const" not in field:
                change = {"const": value, "default": value, "readOnly": True}
                narrowed = _field_changed(narrowed, pointer, change)
    return narrowed


def _settings(version: VersionRecord, operation: OperationSpec) -> tuple[SettingsOverlay, ...]:
    """Entitlement settings speak of the deploy form alone."""
    return version.settings if operation.purpose is Purpose.DEPLOY else ()


def _settings_key(settings: Sequence[SettingsOverlay]) -> bytes:
    stored = [one.model_dump(mode="json") for one in settings]
    return msgspec.json.encode(stored, order="deterministic")


def _told(error: FieldError, fixed: set[str]) -> FieldError:
    if error.pointer not in fixed:
        return error
    message = f"is fixed by the entitlement to this app: {error.message}"
    return FieldError(pointer=error.pointer, message=message)


def _field_changed(schema: Schema, pointer: str, change: InputLimit | dict[str, Any]) -> Schema:
    """A copy of an expanded schema with one field narrowed; the same where there is no field."""
    field = schema_at(schema, pointer)
    if field is None:
        return schema
    limited = _limited(field, change) if isinstance(change, InputLimit) else {**field, **change}
    return _replaced(schema, pointer_parts(pointer), limited)


def _replaced(schema: Schema, parts: list[str], field: Schema) -> Schema:
    if not parts:
        return field
    name, rest = parts[0], parts[1:]
    if name in schema.get("properties", {}):
        child = _replaced(schema["properties"][name], rest, field)
        return {**schema, "properties": {**schema["properties"], name: child}}
    return {**schema, "items": _replaced(schema["items"], rest, field)}


def _limited(field: Schema, limit: InputLimit) -> Schema:
    """Bounds only move inwards; a list's allowed values are those of its items."""
    narrowed = dict(field)
    for keyword, bound, inner in (
        ("minimum", limit.minimum, max),
        ("maximum", limit.maximum, min),
        ("maxLength", limit.max_length, min),
        ("maxItems", limit.max_items, min),
    ):
        if bound is not None:
            narrowed[keyword] = inner(narrowed.get(keyword, bound), bound)
    if limit.allowed is None:
        return narrowed
    if field.get("type") == "array" and isinstance(field.get("items"), dict):
        narrowed["items"] = _allowed(field["items"], limit.allowed)
        return narrowed
    return _allowed(narrowed, limit.allowed)


def _allowed(field: Schema, allowed: Sequence[Any]) -> Schema:
    known = field.get("enum")
    values = [value for value in allowed if known is None or value in known]
    return {**field, "enum": values}
