"""Whether a manifest holds together: what its own parts promise each other.

`manifest_check` is the one door: the platform asks it on publish, the SDK and CLI ask it before.
It reports every problem at once, each with a JSON pointer into the document. Pure.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from pydantic import ValidationError

from gpuaas_contract.errors import FieldError
from gpuaas_contract.input_schema import schema_problems
from gpuaas_contract.manifest import (
    MANIFEST_MAX_BYTES,
    Component,
    ControlPlaneScope,
    Manifest,
    OperationSpec,
    Purpose,
    TargetKind,
)
from gpuaas_contract.manifest_ui import (
    Action,
    ActionPlace,
    MarkdownPanel,
    PanelSource,
    QueuePanel,
    TopologyPanel,
)
from gpuaas_contract.placement_check import placement_problems
from gpuaas_contract.pointers import pointer_make
from gpuaas_contract.states import Health

_ON_INSTANCE: Final = frozenset(
    {
        Purpose.DEPLOY,
        Purpose.STOP,
        Purpose.START,
        Purpose.RESTART,
        Purpose.UPGRADE,
        Purpose.ROLLBACK,
        Purpose.DELETE,
    }
)
_ON_MEMBERS: Final = frozenset(
    {
        Purpose.MEMBER_ADD,
        Purpose.MEMBER_DRAIN,
        Purpose.MEMBER_RESUME,
        Purpose.MEMBER_REMOVE,
        Purpose.MEMBER_REPLACE,
    }
)
_PLACING: Final = frozenset({Purpose.MEMBER_ADD, Purpose.MEMBER_REPLACE})
_ONE_AT_MOST: Final = _ON_INSTANCE | {Purpose.RECONCILE}


def manifest_check(document: Any) -> tuple[Manifest | None, list[FieldError]]:  # noqa: ANN401
    """The manifest in a document, or every reason why it is none."""
    try:
        text = json.dumps(document, allow_nan=False)
    except (ValueError, RecursionError):
        message = "not plain JSON: a number that is none, or nested without end"
        return None, [FieldError(pointer="/", message=message)]
    if len(text.encode()) > MANIFEST_MAX_BYTES:
        message = f"larger than {MANIFEST_MAX_BYTES} bytes of JSON"
        return None, [FieldError(pointer="/", message=message)]
    try:
        manifest = Manifest.model_validate_json(text, strict=True)
    except ValidationError as error:
        return None, [_shape_problem(document, one) for one in error.errors()]
    problems = [problem for rule in _RULES for problem in rule(manifest)]
    return (None, problems) if problems else (manifest, [])


def _shape_problem(document: Any, error: Any) -> FieldError:  # noqa: ANN401 - pydantic's detail
    """A pydantic error with its location as a pointer; tags of unions are not in the document."""
    parts: list[str | int] = []
    node = document
    location = error["loc"]
    for index, part in enumerate(location):
        if isinstance(node, dict) and part not in node and index < len(location) - 1:
            continue
        parts.append(part)
        node = _child(node, part)
    message = error["msg"].removeprefix("Value error, ")
    return FieldError(pointer=pointer_make(parts) or "/", message=message)


def _child(node: Any, part: str | int) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(node, dict):
        return node.get(part)
    if isinstance(node, list) and isinstance(part, int) and part < len(node):
        return node[part]
    return None


def _unique(manifest: Manifest) -> Iterator[FieldError]:
    """Keys that others refer to exist once."""
    lists: dict[str, list[str]] = {
        "components/key": [one.key for one in manifest.components],
        "topologies/key": [one.key for one in manifest.topologies],
        "operations/kind": [one.kind for one in manifest.operations],
        "panels/key": [one.key for one in manifest.panels],
        "health/word": [one.word for one in manifest.health],
    }
    for index, operation in enumerate(manifest.operations):
        lists[f"operations/{index}/steps/name"] = [step.name for step in operation.steps]
    for path, keys in lists.items():
        where, _, field = path.rpartition("/")
        for index, key in enumerate(keys):
            if key in keys[:index]:
                yield _problem(f"/{where}/{index}/{field}", f"{key!r} stands here twice")


def _references(manifest: Manifest) -> Iterator[FieldError]:
    """Components, topologies and operations that are named exist."""
    components = {one.key for one in manifest.components}
    topologies = {one.key for one in manifest.topologies}
    kinds = {one.kind for one in manifest.operations}
    for known, what, named in (
        (components, "component", _named_components(manifest)),
        (topologies, "topology", _named_topologies(manifest)),
        (kinds, "operation", _named_operations(manifest)),
    ):
        for pointer, key in named:
            if key not in known:
                yield _problem(pointer, f"there is no {what} {key!r} in this manifest")


def _named_components(manifest: Manifest) -> Iterator[tuple[str, str]]:
    for index, component in enumerate(manifest.components):
        yield from _each(f"/components/{index}/may_share_with", component.may_share_with)
    for index, operation in enumerate(manifest.operations):
        at = f"/operations/{index}"
        yield from _each(f"{at}/valid_in/components", operation.valid_in.components)
    for index, unit in enumerate(manifest.billing_units):
        if unit.component is not None:
            yield f"/billing_units/{index}/component", unit.component
    for index, artifact in enumerate(manifest.artifacts):
        yield from _each(f"/artifacts/{index}/components", artifact.components)
    for index, panel in enumerate(manifest.panels):
        if isinstance(panel, TopologyPanel):
            for number, edge in enumerate(panel.edges):
                yield f"/panels/{index}/edges/{number}/source", edge.source
                yield f"/panels/{index}/edges/{number}/target", edge.target


def _named_topologies(manifest: Manifest) -> Iterator[tuple[str, str]]:
    for index, operation in enumerate(manifest.operations):
        at = f"/operations/{index}/valid_in/topologies"
        yield from _each(at, operation.valid_in.topologies)


def _named_operations(manifest: Manifest) -> Iterator[tuple[str, str]]:
    for index, action in enumerate(manifest.actions):
        yield f"/actions/{index}/operation", action.operation


def _cardinality(manifest: Manifest) -> Iterator[FieldError]:
    for index, component in enumerate(manifest.components):
        yield from _component_bounds(index, component)


def _component_bounds(index: int, component: Component) -> Iterator[FieldError]:
    most = component.max_members
    if most is not None and most < component.min_members:
        yield _problem(f"/components/{index}/max_members", "less than min_members")


def _topology_ranges(manifest: Manifest) -> Iterator[FieldError]:
    """Every number of allocations from the least on belongs to exactly one topology."""
    ranges = sorted(enumerate(manifest.topologies), key=lambda pair: pair[1].min_allocations)
    expected: int | None = ranges[0][1].min_allocations
    for index, topology in ranges:
        pointer = f"/topologies/{index}/min_allocations"
        if expected is None or topology.min_allocations < expected:
            yield _problem(pointer, "overlaps with another topology's range of allocations")
        elif topology.min_allocations > expected:
            yield _problem(pointer, f"{expected} allocations belong to no topology")
        most = topology.max_allocations
        if most is not None and most < topology.min_allocations:
            yield _problem(f"/topologies/{index}/max_allocations", "less than min_allocations")
        expected = None if most is None else most + 1


def _purposes(manifest: Manifest) -> Iterator[FieldError]:
    """What the platform itself asks for exists, once."""
    found = [operation.purpose for operation in manifest.operations]
    for purpose in (Purpose.DEPLOY, Purpose.DELETE):
        if purpose not in found:
            yield _problem("/operations", f"one operation must have the purpose {purpose}")
    for index, purpose in enumerate(found):
        if purpose in _ONE_AT_MOST and purpose in found[:index]:
            pointer = f"/operations/{index}/purpose"
            yield _problem(pointer, f"only one operation may have the purpose {purpose}")


def _operations(manifest: Manifest) -> Iterator[FieldError]:
    for index, operation in enumerate(manifest.operations):
        for pointer, message in _operation(operation):
            yield _problem(f"/operations/{index}{pointer}", message)


def _operation(operation: OperationSpec) -> Iterator[tuple[str, str]]:
    """An operation agrees with its purpose and with itself."""
    purpose, target = operation.purpose, operation.target
    if purpose in _ON_INSTANCE and target is not TargetKind.INSTANCE:
        yield "/target", f"the purpose {purpose} acts on the instance"
    if purpose in _ON_MEMBERS and target is TargetKind.INSTANCE:
        yield "/target", f"the purpose {purpose} acts on a member or a group"
    if purpose in _PLACING and not operation.placement:
        yield "/placement", f"the purpose {purpose} needs a field that names allocations"
    if operation.placement and purpose not in _PLACING | {Purpose.DEPLOY}:
        yield "/placement", f"the purpose {purpose} makes no members"
    yield from _group(operation)
    if operation.valid_in.member_states and target is TargetKind.INSTANCE:
        yield "/valid_in/member_states", "an operation on the instance has no member"
    if purpose is Purpose.DELETE and not operation.destructive:
        yield "/destructive", "a delete is destructive"
    if operation.destructive and operation.confirmation is None:
        yield "/confirmation", "a destructive operation is confirmed first"
    for index, step in enumerate(operation.steps):
        if (step.deadline_seconds or 0) > operation.deadline_seconds:
            yield f"/steps/{index}/deadline_seconds", "longer than the whole operation's"


def _group(operation: OperationSpec) -> Iterator[tuple[str, str]]:
    group = operation.group
    if (group is not None) != (operation.target is TargetKind.GROUP):
        yield "/group", "stands exactly where the target is a group"
    if group is not None and group.max_parallel > group.max_members:
        yield "/group/max_parallel", "more than max_members"


def _actions(manifest: Manifest) -> Iterator[FieldError]:
    """A button stands where its operation has something to act on."""
    for index, action in enumerate(manifest.actions):
        operation = manifest.operation(action.operation)
        if operation is not None and not _fits(action, operation):
            message = f"{action.operation} acts on {operation.target}: it cannot stand here"
            yield _problem(f"/actions/{index}/place", message)


def _fits(action: Action, operation: OperationSpec) -> bool:
    if operation.purpose is Purpose.DEPLOY:
        return False
    if action.place is ActionPlace.INSTANCE:
        return operation.target is TargetKind.INSTANCE or operation.purpose is Purpose.MEMBER_ADD
    if action.place is ActionPlace.MEMBER:
        return operation.target is not TargetKind.INSTANCE
    return operation.target is TargetKind.GROUP or operation.purpose is Purpose.MEMBER_ADD


def _promises(manifest: Manifest) -> Iterator[FieldError]:
    """Declared behaviour and the operations behind it come together."""
    for purpose, rule in (
        (Purpose.UPGRADE, manifest.lifecycle.upgrade),
        (Purpose.ROLLBACK, manifest.lifecycle.rollback),
    ):
        if (rule is not None) != (manifest.purpose(purpose) is not None):
            message = f"stands exactly where an operation has the purpose {purpose}"
            yield _problem(f"/lifecycle/{purpose}", message)
    shared = {ControlPlaneScope.TENANT, ControlPlaneScope.PLATFORM}
    if (manifest.shared_runtime is not None) != bool(shared & set(manifest.control_plane_scopes)):
        message = "stands exactly where a control plane scope is tenant or platform"
        yield _problem("/shared_runtime", message)
    if Health.HEALTHY not in {word.health for word in manifest.health}:
        yield _problem("/health", "no word means healthy: the app could never be said to be well")


def _panels(manifest: Manifest) -> Iterator[FieldError]:
    for index, panel in enumerate(manifest.panels):
        if manifest.queue is None and (
            isinstance(panel, QueuePanel) or panel.source in {PanelSource.QUEUES, PanelSource.JOBS}
        ):
            yield _problem(f"/panels/{index}", "needs `queue`: the app runs no jobs")
        if manifest.shared_runtime is None and panel.source is PanelSource.SHARED_RUNTIME:
            yield _problem(f"/panels/{index}/source", "needs `shared_runtime`")
        if isinstance(panel, MarkdownPanel) and bool(panel.text) == (panel.pointer is not None):
            yield _problem(f"/panels/{index}", "has either `text` or `pointer`")


def _inputs(manifest: Manifest) -> Iterator[FieldError]:
    """Input schemas make forms, and placement finds its fields in them."""
    for pointer, holder in manifest.inputs():
        shape = schema_problems(holder.input)
        for problem in shape:
            yield _problem(f"{pointer}/input{problem.pointer}", problem.message)
        if not shape:
            yield from placement_problems(manifest, pointer, holder)


_RULES: Final[tuple[Callable[[Manifest], Iterable[FieldError]], ...]] = (
    *(_unique, _references, _cardinality, _topology_ranges, _purposes, _operations),
    *(_actions, _promises, _panels, _inputs),
)


def _each(pointer: str, keys: Iterable[str]) -> Iterator[tuple[str, str]]:
    for index, key in enumerate(keys):
        yield f"{pointer}/{index}", key


def _problem(pointer: str, message: str) -> FieldError:
    return FieldError(pointer=pointer, message=message)
