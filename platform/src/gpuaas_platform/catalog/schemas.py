"""JSON Schema in the catalog: compile, check an input, say what is wrong where.

Offline, with a regular expression engine that cannot be made slow, and with formats checked: an
app's schema is somebody else's text. Pure but for the compiled schemas it makes.
"""

from collections.abc import Iterator
from itertools import islice

import jsonschema_rs

from gpuaas_contract.common import Json
from gpuaas_contract.errors import FieldError
from gpuaas_contract.input_schema import Schema
from gpuaas_contract.pointers import pointer_make

_MOST_ERRORS = 50
_LONGEST = 300


def validator_make(schema: Schema) -> jsonschema_rs.Draft202012Validator:
    """A compiled schema; raises `jsonschema_rs.ValidationError` for what is none."""
    return jsonschema_rs.Draft202012Validator(
        schema,
        validate_formats=True,
        ignore_unknown_formats=False,
        pattern_options=jsonschema_rs.RegexOptions(size_limit=1_000_000),
        offline=True,
    )


def schema_invalid(schema: Schema) -> FieldError | None:
    """Why this is no JSON Schema (draft 2020-12), with a pointer into it."""
    try:
        validator_make(schema)
    except jsonschema_rs.ValidationError as error:
        where = pointer_make(error.instance_path)
        return FieldError(pointer=where, message=error.message[:_LONGEST])
    except (jsonschema_rs.ReferencingError, ValueError) as error:
        return FieldError(pointer="", message=str(error)[:_LONGEST])
    return None


def input_errors(validator: jsonschema_rs.Draft202012Validator, given: Json) -> list[FieldError]:
    """What is wrong with an input, each at the field it is about."""
    found = islice(validator.iter_errors(given), _MOST_ERRORS)
    return [error for one in found for error in _field_errors(one)]


def _field_errors(error: jsonschema_rs.ValidationError) -> Iterator[FieldError]:
    """A missing or an unknown field is told at that field, not at the object around it."""
    kind, path = error.kind, list(error.instance_path)
    if isinstance(kind, jsonschema_rs.ValidationErrorKind.Required):
        yield _error([*path, kind.property], "is required")
    elif isinstance(
        kind,
        jsonschema_rs.ValidationErrorKind.AdditionalProperties
        | jsonschema_rs.ValidationErrorKind.UnevaluatedProperties,
    ):
        for name in kind.unexpected:
            yield _error([*path, name], "there is no such field")
    elif isinstance(kind, jsonschema_rs.ValidationErrorKind.FalseSchema):
        yield _error(path, "is not used together with the other choices")
    else:
        yield _error(path, error.message[:_LONGEST])


def _error(path: list[str | int], message: str) -> FieldError:
    return FieldError(pointer=pointer_make(path) or "/", message=message)
