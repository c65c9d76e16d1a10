"""Whether the placement rules of a manifest fit their input schema and each other.

Part of `manifest_check.py`. What names an allocation must be declared, so that the platform checks
it: nobody infers a host. Pure.
"""

from collections.abc import Iterator
from itertools import combinations

from gpuaas_contract.errors import FieldError
from gpuaas_contract.input_schema import (
    Schema,
    schema_at,
    schema_expanded,
    schema_fields,
    schema_nodes,
)
from gpuaas_contract.manifest import InputForm, Manifest, OperationSpec, PlacementRule
from gpuaas_contract.manifest_read import sharing_refused
from gpuaas_contract.manifest_ui import Widget


def placement_problems(
    manifest: Manifest, pointer: str, holder: OperationSpec | InputForm
) -> Iterator[FieldError]:
    """Everything wrong with the placement of one operation or form."""
    schema = schema_expanded(holder.input)
    for index, rule in enumerate(holder.placement):
        at = f"{pointer}/placement/{index}"
        yield from _rule_problems(manifest, schema, at, rule)
    yield from _sharing_problems(manifest, pointer, holder.placement)
    read = {rule.pointer for rule in holder.placement}
    fields = {id(node): field for field, node in schema_fields(schema)}
    for at, node in schema_nodes(schema):
        if node.get("x-widget") != Widget.ALLOCATION_PICKER:
            continue
        field = fields.get(id(node))
        if field is None:
            message = "an allocation picker stands under `properties`, where a rule can read it"
            yield FieldError(pointer=f"{pointer}/input{at}", message=message)
        elif field not in read:
            message = f"{field} picks allocations, so a placement rule must read it"
            yield FieldError(pointer=f"{pointer}/placement", message=message)


def _rule_problems(
    manifest: Manifest, schema: Schema, at: str, rule: PlacementRule
) -> Iterator[FieldError]:
    if manifest.component(rule.component) is None:
        message = f"there is no component {rule.component!r} in this manifest"
        yield FieldError(pointer=f"{at}/component", message=message)
    if not _names_allocations(schema_at(schema, rule.pointer)):
        message = f"{rule.pointer} is no field that is a string or a list of strings"
        yield FieldError(pointer=f"{at}/pointer", message=message)
    for number, condition in enumerate(rule.when):
        if schema_at(schema, condition.pointer) is None:
            message = f"the input has no field {condition.pointer}"
            yield FieldError(pointer=f"{at}/when/{number}/pointer", message=message)


def _names_allocations(field: Schema | None) -> bool:
    if field is None:
        return False
    if field.get("type") == "string":
        return True
    items = field.get("items")
    return (
        field.get("type") == "array" and isinstance(items, dict) and (items.get("type") == "string")
    )


def _sharing_problems(
    manifest: Manifest, pointer: str, rules: tuple[PlacementRule, ...]
) -> Iterator[FieldError]:
    """Two rules that can read one field together put two members on one allocation."""
    for (_, first), (index, second) in combinations(enumerate(rules), 2):
        if first.pointer != second.pointer or _exclude(first, second):
            continue
        if sharing_refused(manifest, (first.component, second.component)) is not None:
            message = (
                f"{first.component} and {second.component} would share an allocation;"
                " may_share_with does not permit it"
            )
            yield FieldError(pointer=f"{pointer}/placement/{index}", message=message)


def _exclude(first: PlacementRule, second: PlacementRule) -> bool:
    """Whether no input can fulfil the conditions of both."""
    return any(
        one.pointer == other.pointer and one.equals != other.equals
        for one in first.when
        for other in second.when
    )
