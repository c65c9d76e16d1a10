"""Decide what a request becomes: which members, which operations, which topology. Pure.

Called by `instances.py` and `operations.py` with what they loaded; the same plan answers a preview
and is applied by a request. Every refusal names what stands in the way and what is possible.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpuaas_contract.apps import ConditionType, OperationCreate
from gpuaas_contract.common import Json
from gpuaas_contract.effects import EFFECTS
from gpuaas_contract.errors import ErrorCode, FieldError
from gpuaas_contract.manifest import Manifest, OperationSpec, Purpose, TargetKind
from gpuaas_contract.manifest_read import (
    Seat,
    invalid_for_member,
    invalid_in,
    seats_of,
    sharing_refused,
    topology_of,
)
from gpuaas_contract.states import MemberStatus
from gpuaas_platform.apps.rows import InstanceRow, MemberRow, OperationRow
from gpuaas_platform.apps.rules import GONE
from gpuaas_platform.kernel.problems import PlatformError, not_found

_LEAVING = frozenset({MemberStatus.REMOVING, MemberStatus.REMOVED})


@dataclass(frozen=True)
class Target:
    """One operation to be: on a member there is, on one to be made, or on the instance."""

    member_id: str | None = None
    seat: Seat | None = None


@dataclass(frozen=True)
class Plan:
    """What a request becomes."""

    spec: OperationSpec
    targets: tuple[Target, ...]
    topology: str
    shared: frozenset[str]

    @property
    def seats(self) -> list[Seat]:
        """Members to be made."""
        return [target.seat for target in self.targets if target.seat is not None]

    @property
    def exclusive(self) -> bool:
        """Whether nothing else of the instance may run beside it."""
        return self.spec.exclusive or EFFECTS[self.spec.purpose].exclusive


@dataclass(frozen=True)
class DeployPlan:
    """What a deploy becomes: members the deploy operation brings up, and those added after it."""

    seats: tuple[Seat, ...]
    seeded: tuple[tuple[Seat, OperationSpec], ...]
    topology: str
    shared: frozenset[str]

    def shares(self, seat: Seat) -> bool:
        """Whether another member sits on the same allocation."""
        return seat.allocation_id in self.shared


def deploy_plan(manifest: Manifest, settings: Json) -> DeployPlan:
    """Who sits where. Members deploy does not act on are added by operations of their own."""
    spec = manifest.deploy
    seats = seats_of(spec.placement, settings)
    _sharing_require(manifest, [], seats)
    _counts_require(manifest, Counter(seat.component for seat in seats))
    own = [
        s for s in seats if not spec.valid_in.components or s.component in spec.valid_in.components
    ]
    near = {seat.allocation_id for seat in own}
    later = [seat for seat in seats if seat not in own and seat.allocation_id not in near]
    seeded = tuple((seat, _adding(manifest, seat.component)) for seat in later)
    return DeployPlan(
        seats=tuple(seat for seat in seats if seat not in later),
        seeded=seeded,
        topology=_topology(manifest, {seat.allocation_id for seat in seats}),
        shared=_shared(seats, ()),
    )


def request_plan(
    manifest: Manifest,
    spec: OperationSpec,
    instance: InstanceRow,
    members: Sequence[MemberRow],
    body: OperationCreate,
) -> Plan:
    """What a request for an operation becomes, or the refusal."""
    placed = spec.purpose is not Purpose.DEPLOY  # a deploy asked for again finds its members there
    seats = seats_of(spec.placement, body.input) if placed else []
    targets = _targets(spec, body, seats)
    by_id = {member.id: member for member in members}
    for index, target in enumerate(targets):
        if target.member_id is not None:
            member_require(spec, by_id, target.member_id, f"/member_ids/{index}")
    _sharing_require(manifest, members, seats)
    leaving = {t.member_id for t in targets} if spec.purpose is Purpose.MEMBER_REMOVE else set()
    staying = [m for m in members if m.status not in _LEAVING and m.id not in leaving]
    if leaving or seats:
        counts = Counter(m.component_key for m in staying) + Counter(s.component for s in seats)
        replaced = Counter(
            by_id[t.member_id].component_key for t in targets if t.member_id and t.seat
        )
        _counts_require(manifest, counts - replaced, lower=bool(leaving))
    after = {m.allocation_id for m in members} | {seat.allocation_id for seat in seats}
    topology = _topology(manifest, after) if seats else instance.topology
    return Plan(spec, tuple(targets), topology, _shared(seats, members))


def spec_require(manifest: Manifest, kind: str) -> OperationSpec:
    """The operation of this kind, or the refusal that names those there are."""
    spec = manifest.operation(kind)
    if spec is None:
        kinds = ", ".join(sorted(one.kind for one in manifest.operations))
        message = f"the app has no operation {kind}; it has {kinds}"
        raise PlatformError(
            ErrorCode.INVALID_REQUEST,
            f"/kind: {message}",
            errors=[FieldError(pointer="/kind", message=message)],
        )
    return spec


def available_require(
    manifest: Manifest, spec: OperationSpec, instance: InstanceRow, *, again: bool = False
) -> None:
    """The operation is valid in the instance's present state and topology."""
    why = unavailable(spec, instance, again=again)
    if why is None:
        return
    possible = [one.kind for one in manifest.operations if unavailable(one, instance) is None]
    raise PlatformError(
        ErrorCode.STATE_CONFLICT,
        f"{why} Possible now: {', '.join(possible) or 'nothing'}.",
        context={
            "app_instance_id": instance.id,
            "status": instance.status,
            "topology": instance.topology,
            "available": ",".join(possible),
        },
    )


def unavailable(spec: OperationSpec, instance: InstanceRow, *, again: bool = False) -> str | None:
    """Why an operation cannot be asked for now, or None when it can.

    `again`: it was, and failed; then the state that left is no reason, whatever the manifest says.
    """
    if instance.status in GONE:
        return f"{spec.title} is not possible while the instance is {instance.status}."
    requires = EFFECTS[spec.purpose].instance.requires
    if requires and instance.status not in requires:
        return f"{spec.title} is not possible while the instance is {instance.status}."
    refused = invalid_in(spec, instance.status, instance.topology)
    if refused is None or (again and refused[0] == "status"):
        return None
    return refused[1]


NO_WAY_BACK = "There is no earlier version to go back to."


def way_back(manifest: Manifest, instance: InstanceRow) -> str | None:
    """The version a rollback leads to that names none: the one before the last upgrade.

    From the middle of an upgrade that failed, that is the version the instance still has.
    """
    if _upgrade_failed(manifest, instance):
        return instance.app_version
    before = instance.previous_version
    return None if before == instance.app_version else before


def same_refuse(plan: Plan, opened: Iterable[OperationRow]) -> None:
    """The same thing is not asked twice of one target while the first is under way."""
    wanted = {target.member_id for target in plan.targets if target.seat is None}
    for row in opened:
        if row.kind == plan.spec.kind and row.member_id in wanted and not row.cancel_requested:
            raise PlatformError(
                ErrorCode.OPERATION_IN_PROGRESS,
                f"{plan.spec.title} is under way already: operation {row.id}.",
                context={"operation_id": row.id, "member_id": row.member_id or ""},
            )


def member_require(
    spec: OperationSpec,
    by_id: Mapping[str, MemberRow],
    member_id: str,
    pointer: str,
    *,
    again: bool = False,
) -> None:
    """The operation is valid for this member in its present state; `again` as for an instance."""
    member = by_id.get(member_id)
    if member is None:
        raise not_found("member", member_id)
    refused = invalid_for_member(spec, member.component_key, member.status)
    if again and refused is not None and refused[0] == "member_status":
        refused = None
    effect = EFFECTS[spec.purpose].member
    needs = frozenset() if effect is None else effect.requires
    if refused is None and needs and member.status not in needs:
        refused = (
            "member_status",
            f"{spec.title} is not possible while the member is {member.status}.",
        )
    if refused is not None:
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            f"{refused[1]} Member {member_id}.",
            errors=[FieldError(pointer=pointer, message=refused[1])],
            context={"member_id": member_id, "status": member.status},
        )


def _targets(spec: OperationSpec, body: OperationCreate, seats: list[Seat]) -> list[Target]:
    ids = body.member_ids
    if len(set(ids)) != len(ids):
        raise _invalid("/member_ids", "a member is named twice")
    if spec.purpose is Purpose.MEMBER_ADD:
        made = [Target(member_id=one) for one in ids] + [Target(seat=seat) for seat in seats]
    elif spec.purpose is Purpose.MEMBER_REPLACE:
        if len(ids) != len(seats):
            raise _invalid("/member_ids", "name as many members as new allocations")
        made = [Target(one, seat) for one, seat in zip(ids, seats, strict=True)]
    elif spec.target is TargetKind.INSTANCE:
        if ids:
            raise _invalid("/member_ids", f"{spec.kind} acts on the instance, not on members")
        return [Target()]
    else:
        made = [Target(member_id=one) for one in ids]
    if not made:
        raise _invalid("/member_ids", f"{spec.kind} needs at least one member or allocation")
    most = 1 if spec.group is None else spec.group.max_members
    if spec.target is TargetKind.MEMBER:
        most = 1
    if len(made) > most:
        raise _invalid("/member_ids", f"{spec.kind} takes at most {most} at once")
    return made


def _sharing_require(
    manifest: Manifest, members: Sequence[MemberRow], seats: Sequence[Seat]
) -> None:
    for seat in seats:
        there = [m.component_key for m in members if m.allocation_id == seat.allocation_id]
        there += [s.component for s in seats if s.allocation_id == seat.allocation_id]
        refused = sharing_refused(manifest, there)
        if refused is not None:
            raise PlatformError(
                ErrorCode.IN_USE,
                f"Members {refused[0]} and {refused[1]} cannot sit on one allocation.",
                errors=[FieldError(pointer=seat.pointer, message="the allocation is taken")],
                context={"allocation_id": seat.allocation_id},
            )


def _counts_require(manifest: Manifest, counts: Counter[str], *, lower: bool = True) -> None:
    for component in manifest.components:
        count = counts[component.key]
        if lower and count < component.min_members:
            raise PlatformError(
                ErrorCode.STATE_CONFLICT,
                f"The app needs at least {component.min_members} {component.key};"
                f" this would leave {count}.",
                context={"component_key": component.key},
            )
        if component.max_members is not None and count > component.max_members:
            raise PlatformError(
                ErrorCode.STATE_CONFLICT,
                f"The app takes at most {component.max_members} {component.key};"
                f" this would make {count}.",
                context={"component_key": component.key},
            )


def _topology(manifest: Manifest, allocation_ids: set[str]) -> str:
    found = topology_of(manifest, len(allocation_ids))
    if found is None:
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            f"The app has no topology with {len(allocation_ids)} allocations.",
            context={"topologies": ",".join(one.key for one in manifest.topologies)},
        )
    return found.key


def _shared(seats: Sequence[Seat], members: Iterable[MemberRow]) -> frozenset[str]:
    counts = Counter(seat.allocation_id for seat in seats)
    counts += Counter(member.allocation_id for member in members)
    return frozenset(one for one, count in counts.items() if count > 1)


def _adding(manifest: Manifest, component: str) -> OperationSpec:
    for spec in manifest.operations:
        acts_on = spec.valid_in.components or tuple(rule.component for rule in spec.placement)
        if spec.purpose is Purpose.MEMBER_ADD and (not acts_on or component in acts_on):
            return spec
    raise PlatformError(
        ErrorCode.STATE_CONFLICT,
        f"The app has no operation that adds a member {component}.",
        context={"component_key": component},
    )


def _invalid(pointer: str, message: str) -> PlatformError:
    return PlatformError(
        ErrorCode.INVALID_REQUEST,
        f"{pointer}: {message}",
        errors=[FieldError(pointer=pointer, message=message)],
    )


def _upgrade_failed(manifest: Manifest, instance: InstanceRow) -> bool:
    """An upgrade ended in the middle, and nothing has mended that since."""
    kinds = {spec.kind for spec in manifest.operations if spec.purpose is Purpose.UPGRADE}
    return any(
        one["type"] == ConditionType.OPERATION_FAILED and one["reason"] in kinds
        for one in instance.conditions
    )
