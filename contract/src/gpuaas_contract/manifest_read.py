"""What follows from a manifest and an input: who sits where, in which shape, allowed when.

Asked by the platform before it records anything and by the CLI and console to tell it beforehand.
Generic: it knows pointers and keys, never an app. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpuaas_contract.manifest import Manifest, OperationSpec, PlacementRule, Topology, When
from gpuaas_contract.pointers import pointer_make, pointer_parts, pointer_read
from gpuaas_contract.states import InstanceStatus, MemberStatus


@dataclass(frozen=True)
class Seat:
    """One member to be: its component, its allocation, and where the input said so."""

    component: str
    allocation_id: str
    pointer: str


def seats_of(rules: Sequence[PlacementRule], given: dict[str, Any]) -> list[Seat]:
    """Every seat the placement rules of an operation or form find in an input, in rule order."""
    return [seat for rule in rules if when_holds(rule.when, given) for seat in _seats(rule, given)]


def when_holds(conditions: Sequence[When], given: dict[str, Any]) -> bool:
    """Whether the input fulfils every condition."""
    return all(_equal(pointer_read(given, one.pointer), one.equals) for one in conditions)


def topology_of(manifest: Manifest, allocations: int) -> Topology | None:
    """The shape of an instance whose live members use this many allocations."""
    for topology in manifest.topologies:
        most = topology.max_allocations
        if topology.min_allocations <= allocations and (most is None or allocations <= most):
            return topology
    return None


def sharing_refused(manifest: Manifest, components: Sequence[str]) -> tuple[str, str] | None:
    """Two components that may not sit on one allocation together, or None when all may.

    Each pair needs one that may share with the other. Two members of one component never share.
    """
    for index, left in enumerate(components):
        for right in components[index + 1 :]:
            if not (_may_share(manifest, left, right) or _may_share(manifest, right, left)):
                return left, right
    return None


def invalid_in(
    operation: OperationSpec, status: InstanceStatus, topology: str | None
) -> tuple[str, str] | None:
    """Why an operation is not valid for an instance now (`what`, `sentence`), or None if it is."""
    valid = operation.valid_in
    if valid.instance_states and status not in valid.instance_states:
        return "status", f"{operation.title} is not possible while the instance is {status}."
    if valid.topologies and topology not in valid.topologies:
        return "topology", f"{operation.title} is not possible in the topology {topology}."
    return None


def invalid_for_member(
    operation: OperationSpec, component: str, status: MemberStatus
) -> tuple[str, str] | None:
    """Why an operation is not valid for a member now, or None if it is."""
    valid = operation.valid_in
    if valid.components and component not in valid.components:
        return "component", f"{operation.title} is not for members of the component {component}."
    if valid.member_states and status not in valid.member_states:
        return "member_status", f"{operation.title} is not possible while the member is {status}."
    return None


def _seats(rule: PlacementRule, given: dict[str, Any]) -> list[Seat]:
    value = pointer_read(given, rule.pointer)
    if isinstance(value, str):
        return [Seat(rule.component, value, rule.pointer)]
    if not isinstance(value, list):
        return []
    parts = pointer_parts(rule.pointer)
    return [
        Seat(rule.component, one, pointer_make([*parts, index]))
        for index, one in enumerate(value)
        if isinstance(one, str)
    ]


def _equal(found: Any, expected: Any) -> bool:  # noqa: ANN401 - JSON values
    """Equality of JSON: true is not 1. `MISSING` equals nothing."""
    if isinstance(found, bool) != isinstance(expected, bool):
        return False
    return bool(found == expected)


def _may_share(manifest: Manifest, one: str, other: str) -> bool:
    component = manifest.component(one)
    return component is not None and other in component.may_share_with
