"""The in-memory platform's check of inputs: defaults filled in, then the manifest's schema.

What the real platform refuses by the schema is refused here, at the same fields. Entitlements,
which narrow a schema there, do not exist here. Called by `asking.py`; needs `gpuaas-sdk[testing]`.
"""

from collections.abc import Iterator

import jsonschema_rs

from gpuaas_contract.common import Json
from gpuaas_contract.errors import ErrorCode, FieldError
from gpuaas_contract.input_schema import schema_defaults, schema_expanded
from gpuaas_contract.manifest import OperationSpec
from gpuaas_contract.pointers import pointer_make
from gpuaas_sdk.testing.world import Refused


def input_checked(spec: OperationSpec, given: Json, prefix: str) -> Json:
    """The input as the app gets it; refused with every place where it does not match."""
    schema = schema_expanded(spec.input)
    filled = schema_defaults(schema, given)
    validator = jsonschema_rs.Draft202012Validator(schema, validate_formats=True, offline=True)
    errors = [
        FieldError(pointer=f"{prefix}{pointer_make(path) or '/'}", message=message)
        for found in validator.iter_errors(filled)
        for path, message in _places(found)
    ]
    if errors:
        said = f"{errors[0].pointer}: {errors[0].message}"
        raise Refused(ErrorCode.INVALID_INPUT, said, errors)
    return filled


def _places(error: jsonschema_rs.ValidationError) -> Iterator[tuple[list[str | int], str]]:
    """A missing or an unknown field is told at that field, not at the object around it."""
    kind, path = error.kind, list(error.instance_path)
    if isinstance(kind, jsonschema_rs.ValidationErrorKind.Required):
        yield [*path, kind.property], "is required"
    elif isinstance(
        kind,
        jsonschema_rs.ValidationErrorKind.AdditionalProperties
        | jsonschema_rs.ValidationErrorKind.UnevaluatedProperties,
    ):
        for name in kind.unexpected:
            yield [*path, name], "there is no such field"
    else:
        yield path, error.message
