"""The in-memory platform's side of people: deploy, ask for operations, cancel, retry, delete.

Inputs are checked against the app's schema. Policy, entitlements and prices do not exist here: the
real platform has tests of its own. Called by `surface.py` and by tests.
"""

from gpuaas_contract.apps import (
    AppInstance,
    InstanceCreate,
    Operation,
    OperationCreate,
    OperationTarget,
    PlacedMember,
    PlacementIntent,
    Requested,
)
from gpuaas_contract.effects import EFFECTS
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.manifest import Manifest, OperationSpec, Purpose
from gpuaas_contract.manifest_read import (
    Seat,
    invalid_for_member,
    invalid_in,
    seats_of,
    topology_of,
)
from gpuaas_contract.states import (
    InstanceStatus,
    MemberStatus,
    OperationStatus,
)
from gpuaas_sdk.testing.inputs import input_checked
from gpuaas_sdk.testing.making import (
    Caller,
    instance_new,
    member_new,
    operation_new,
    requested,
)
from gpuaas_sdk.testing.world import ACTIVE, GONE, OPEN, Refused, World, targets


def instance_create(
    world: World, caller: Caller, project_id: str, body: InstanceCreate
) -> Requested:
    """Deploy: the instance, its members and the operation that brings them up."""
    version = body.version or max(v for slug, v in world.manifests if slug == body.app_slug)
    manifest = world.manifests[body.app_slug, version]
    settings = input_checked(manifest.deploy, body.settings, "/settings")
    body = body.model_copy(update={"version": version, "settings": settings})
    seats = seats_of(manifest.deploy.placement, settings)
    taken = {m.allocation_id for m in world.members.values() if m.removed_at is None}
    for seat in seats:
        if seat.allocation_id in taken:
            raise Refused(ErrorCode.IN_USE, f"The allocation {seat.allocation_id} is in use.")
    instance = instance_new(world, caller, project_id, body)
    world.instances[instance.id] = instance
    operation = operation_new(world, caller, instance, manifest.deploy)
    operation = operation.model_copy(update={"input": settings})
    world.operations[operation.id] = operation
    acts_on = manifest.deploy.valid_in.components
    own = [seat for seat in seats if not acts_on or seat.component in acts_on]
    near = {seat.allocation_id for seat in own}
    for seat in seats:
        if seat in own or seat.allocation_id in near:
            member_new(world, instance, seat, operation)
    later = [s for s in seats if s not in own and s.allocation_id not in near]
    seeded = _seed(world, caller, operation, later)
    _placement(world, instance.id, manifest)
    world.change_instance(instance.id, last_operation_id=operation.id)
    return requested(world, instance.id, [operation.id, *seeded])


def operation_create(
    world: World, caller: Caller, instance_id: str, body: OperationCreate
) -> Requested:
    """Ask for something; many targets become operations of one group."""
    instance = world.instance(instance_id)
    manifest = world.manifest(instance)
    spec = manifest.operation(body.kind)
    if spec is None:
        raise Refused(ErrorCode.INVALID_REQUEST, f"/kind: the app has no operation {body.kind}")
    if spec.purpose is Purpose.DELETE:
        return instance_delete(world, caller, instance_id)
    _available(spec, instance)
    if spec.purpose is not Purpose.DEPLOY:
        body = body.model_copy(update={"input": input_checked(spec, body.input, "/input")})
    seats = seats_of(spec.placement, body.input) if spec.purpose is not Purpose.DEPLOY else []
    pairs = _pairs(world, spec, body, seats)
    for member_id, seat in pairs:
        _fits(world, spec, instance_id, member_id)
        if seat is None:
            _same_refuse(world, instance_id, spec, member_id)
    group = world.new_id("opg") if len(pairs) > 1 else None
    ids = []
    for member_id, seat in pairs:
        operation = operation_new(world, caller, instance, spec)
        new = None if seat is None else member_new(world, instance, seat, operation)
        replaces = spec.purpose is Purpose.MEMBER_REPLACE
        acts_on = member_id if replaces or new is None else new
        world.operations[operation.id] = operation.model_copy(
            update={
                "input": body.input,
                "member_id": acts_on,
                "new_member_id": new if replaces else None,
                "target": OperationTarget(
                    kind="instance" if acts_on is None else "member", id=acts_on or instance_id
                ),
                "group_id": group,
                "target_version": body.version or _back(spec, instance),
            }
        )
        widest = 1 if spec.group is None else spec.group.max_parallel
        world.hide(operation.id, parallelism=min(widest, body.parallelism or widest))
        ids.append(operation.id)
    if seats:
        _placement(world, instance_id, manifest)
    world.change_instance(instance_id, last_operation_id=ids[-1])
    return requested(world, instance_id, ids)


def instance_reconcile(world: World, caller: Caller, instance_id: str) -> Requested:
    """Ask the app to look and converge."""
    spec = world.manifest(world.instance(instance_id)).purpose(Purpose.RECONCILE)
    if spec is None:
        raise Refused(ErrorCode.STATE_CONFLICT, "The app offers no reconcile.")
    return operation_create(world, caller, instance_id, OperationCreate(kind=spec.kind))


def instance_delete(world: World, caller: Caller, instance_id: str) -> Requested:
    """Take the instance down: what waits is cancelled, what runs is asked to stop."""
    instance = world.instance(instance_id)
    if instance.status in GONE:
        last = world.operation(instance.last_operation_id or "")
        if (last.purpose, last.status) != (Purpose.DELETE, OperationStatus.FAILED):
            raise Refused(ErrorCode.STATE_CONFLICT, f"The instance is {instance.status}.")
        _again(world, last)
        return requested(world, instance_id, [last.id])
    spec = next(s for s in world.manifest(instance).operations if s.purpose is Purpose.DELETE)
    for one in world.queue(instance_id):
        world.hide(one.id, superseded=True)
        if one.status in ACTIVE:
            world.change_operation(one.id, cancel_requested=True)
        else:
            world.move_operation(one.id, OperationStatus.CANCELLED)
            never_begun_remove(world, one)
    operation = operation_new(world, caller, instance, spec)
    world.operations[operation.id] = operation
    world.move_instance(instance_id, InstanceStatus.DELETING)
    world.change_instance(instance_id, last_operation_id=operation.id)
    return requested(world, instance_id, [operation.id])


def operation_cancel(world: World, operation_id: str) -> Operation:
    """Stop at once when nothing began, else at the next safe point."""
    row = world.operation(operation_id)
    spec = world.spec(row)
    fixed = spec is None or not spec.cancellable or row.purpose is Purpose.DELETE
    if row.status not in OPEN or fixed:
        raise Refused(
            ErrorCode.STATE_CONFLICT, f"The operation is {row.status} and cannot be cancelled."
        )
    if row.status is OperationStatus.REQUESTED and not world.hidden[row.id].began:
        world.move_operation(row.id, OperationStatus.CANCELLED, cancel_requested=True)
        never_begun_remove(world, row)
        dependents_cancel(world, row.id)
        topology_follow(world, row.instance_id)
    elif not row.cancel_requested:
        world.change_operation(row.id, cancel_requested=True)
        if row.status is OperationStatus.REQUESTED:
            world.change_operation(row.id, not_before=world.clock.now())
    return world.operation(operation_id)


def operation_retry(world: World, operation_id: str) -> Operation:
    """A failed operation again: one attempt more."""
    row = world.operation(operation_id)
    if row.status is not OperationStatus.FAILED:
        raise Refused(
            ErrorCode.STATE_CONFLICT, f"The operation is {row.status}; only a failed one can."
        )
    spec, instance = world.spec(row), world.instance(row.instance_id)
    if spec is not None and row.purpose is not Purpose.DELETE:
        if row.waits_for is None:
            _available(spec, instance, again=True)
        _fits(world, spec, instance.id, row.member_id, again=True)
    _again(world, row)
    return world.operation(operation_id)


def dependents_cancel(world: World, operation_id: str) -> None:
    """What waited for an operation that will never succeed is cancelled with it."""
    if world.operation(operation_id).status is not OperationStatus.CANCELLED:
        return
    for row in list(world.operations.values()):
        if row.waits_for == operation_id and row.status in OPEN:
            world.move_operation(row.id, OperationStatus.CANCELLED)
            never_begun_remove(world, row)


def never_begun_remove(world: World, row: Operation) -> None:
    """A member whose adding never began is gone with it."""
    if world.hidden[row.id].began:
        return
    for member_id in targets(row):
        if world.members[member_id].status is MemberStatus.REQUESTED:
            world.move_member(member_id, MemberStatus.REMOVING)
            world.move_member(member_id, MemberStatus.REMOVED)


def topology_follow(world: World, instance_id: str) -> None:
    """After members came or went, the instance may have another shape."""
    live = world.live(instance_id)
    manifest = world.manifest(world.instance(instance_id))
    found = topology_of(manifest, len({one.allocation_id for one in live}))
    if found is not None and live:
        world.change_instance(instance_id, topology=found.key)


def _seed(world: World, caller: Caller, deploy: Operation, seats: list[Seat]) -> list[str]:
    """Members a deploy does not act on are added by operations that wait for it."""
    instance = world.instance(deploy.instance_id)
    specs = [_adding(world.manifest(instance), seat.component) for seat in seats]
    groups = {one.kind: world.new_id("opg") for one in specs if specs.count(one) > 1}
    ids = []
    for seat, spec in zip(seats, specs, strict=True):
        operation = operation_new(world, caller, instance, spec)
        member_id = member_new(world, instance, seat, operation)
        world.operations[operation.id] = operation.model_copy(
            update={
                "member_id": member_id,
                "target": OperationTarget(kind="member", id=member_id),
                "group_id": groups.get(spec.kind),
                "waits_for": deploy.id,
            }
        )
        world.hide(operation.id, parallelism=1 if spec.group is None else spec.group.max_parallel)
        ids.append(operation.id)
    return ids


def _adding(manifest: Manifest, component: str) -> OperationSpec:
    for spec in manifest.operations:
        acts_on = spec.valid_in.components or tuple(rule.component for rule in spec.placement)
        if spec.purpose is Purpose.MEMBER_ADD and (not acts_on or component in acts_on):
            return spec
    raise Refused(ErrorCode.STATE_CONFLICT, f"Nothing adds a member {component}.")


def _again(world: World, row: Operation) -> None:
    attempt = row.attempt + 1
    world.move_operation(
        row.id,
        OperationStatus.REQUESTED,
        attempt=attempt,
        max_attempts=max(row.max_attempts, attempt),
        not_before=world.clock.now(),
        cancel_requested=False,
    )


def _available(spec: OperationSpec, instance: AppInstance, *, again: bool = False) -> None:
    requires = EFFECTS[spec.purpose].instance.requires
    refused = invalid_in(spec, instance.status, instance.topology)
    if again and refused is not None and refused[0] == "status":
        refused = None  # what a failure left is no reason, whatever the manifest says
    wrong = bool(requires) and instance.status not in requires
    if instance.status in GONE or wrong or refused is not None:
        raise Refused(
            ErrorCode.STATE_CONFLICT,
            f"{spec.title} is not possible while the instance is {instance.status}"
            f" in the topology {instance.topology}.",
        )


def _pairs(
    world: World, spec: OperationSpec, body: OperationCreate, seats: list[Seat]
) -> list[tuple[str | None, Seat | None]]:
    taken = {m.allocation_id for m in world.members.values() if m.removed_at is None}
    for seat in seats:
        if seat.allocation_id in taken:
            raise Refused(ErrorCode.IN_USE, f"The allocation {seat.allocation_id} is in use.")
    if spec.purpose is Purpose.MEMBER_REPLACE:
        return list(zip(body.member_ids, seats, strict=True))
    pairs: list[tuple[str | None, Seat | None]] = [(one, None) for one in body.member_ids]
    pairs += [(None, seat) for seat in seats]
    if EFFECTS[spec.purpose].member is not None and not pairs:
        raise Refused(ErrorCode.INVALID_REQUEST, f"/member_ids: {spec.kind} needs a member")
    return pairs or [(None, None)]


def _fits(
    world: World,
    spec: OperationSpec,
    instance_id: str,
    member_id: str | None,
    *,
    again: bool = False,
) -> None:
    if member_id is None:
        return
    found = {one.id: one for one in world.live(instance_id)}
    if member_id not in found:
        raise Refused(ErrorCode.NOT_FOUND, f"There is no member {member_id}.")
    member, effect = found[member_id], EFFECTS[spec.purpose].member
    wrong = effect is not None and effect.requires and member.status not in effect.requires
    refused = invalid_for_member(spec, member.component_key, member.status)
    if again and refused is not None and refused[0] == "member_status":
        refused = None
    if wrong or refused is not None:
        raise Refused(
            ErrorCode.STATE_CONFLICT,
            f"{spec.title} is not possible for the member {member_id}, which is {member.status}.",
        )


def _same_refuse(
    world: World, instance_id: str, spec: OperationSpec, member_id: str | None
) -> None:
    for one in world.queue(instance_id):
        if one.kind == spec.kind and one.member_id == member_id and not one.cancel_requested:
            raise Refused(
                ErrorCode.OPERATION_IN_PROGRESS, f"It is under way already: operation {one.id}."
            )


def _back(spec: OperationSpec, instance: AppInstance) -> str | None:
    if spec.purpose is not Purpose.ROLLBACK:
        return None
    if instance.previous_version is None:
        raise Refused(ErrorCode.STATE_CONFLICT, "There is no earlier version to go back to.")
    return instance.previous_version


def _placement(world: World, instance_id: str, manifest: Manifest) -> None:
    live = world.live(instance_id)
    places = [one.allocation_id for one in live]
    for one in live:
        world.change_member(one.id, shares_allocation=places.count(one.allocation_id) > 1)
    intent = PlacementIntent(
        members=[
            PlacedMember(
                component_key=one.component_key,
                allocation_id=one.allocation_id,
                shared=one.shares_allocation,
            )
            for one in world.live(instance_id)
        ]
    )
    found = topology_of(manifest, len(set(places)))
    if found is None:
        raise Refused(ErrorCode.STATE_CONFLICT, "The app has no such topology.")
    world.change_instance(instance_id, placement_intent=intent, topology=found.key)
