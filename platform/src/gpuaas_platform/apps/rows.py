"""Instances, members and operations as the rules see them: frozen rows, plain data.

Stores make and save them, transitions replace them, views turn them into wire types. Pure.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gpuaas_contract.common import Json
from gpuaas_contract.manifest import Purpose
from gpuaas_contract.states import Health, InstanceStatus, MemberStatus, OperationStatus
from gpuaas_platform.kernel.caller import Place

OPEN = frozenset({OperationStatus.REQUESTED, OperationStatus.ACCEPTED, OperationStatus.RUNNING})
ACTIVE = frozenset({OperationStatus.ACCEPTED, OperationStatus.RUNNING})


@dataclass(frozen=True)
class InstanceRow:
    """One row of `app_instances`."""

    id: str
    org_id: str
    project_id: str
    resource_name: str
    display_name: str
    app_slug: str
    app_version: str
    previous_version: str | None
    runtime_version: str
    operating_mode: str
    control_plane_scope: str
    runtime_backend: str
    topology: str
    placement_intent: Json
    settings: Json
    settings_revision: int
    settings_applied_revision: int
    status: InstanceStatus
    health: Health
    conditions: list[Json]
    adapter_detail: Json | None
    access: Json | None
    absence: Json | None
    revision: int
    last_operation_id: str | None
    correlation_id: str
    created_by: str
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None
    observer: str | None
    observer_token_hash: bytes | None
    observer_until: datetime | None
    worked: int

    @property
    def place(self) -> Place:
        """The project it belongs to."""
        return Place(self.org_id, self.project_id)


@dataclass(frozen=True)
class MemberRow:
    """One row of `app_members`."""

    id: str
    instance_id: str
    org_id: str
    project_id: str
    component_key: str
    allocation_id: str
    shares_allocation: bool
    node: str
    status: MemberStatus
    health: Health
    conditions: list[Json]
    adapter_detail: Json | None
    runtime_version: str
    absence: Json | None
    revision: int
    last_operation_id: str | None
    correlation_id: str
    created_at: datetime
    updated_at: datetime
    removed_at: datetime | None

    @property
    def place(self) -> Place:
        """The project it belongs to."""
        return Place(self.org_id, self.project_id)

    @property
    def live(self) -> bool:
        """Whether it still holds its allocation."""
        return self.status is not MemberStatus.REMOVED

    @property
    def verified_absent(self) -> bool:
        """Whether the app stated that nothing of it is left on its machine."""
        return bool(self.absence and self.absence["runtime_verified_absent"])


@dataclass(frozen=True)
class OperationRow:
    """One row of `operations`."""

    id: str
    instance_id: str
    org_id: str
    project_id: str
    app_slug: str
    kind: str
    purpose: Purpose
    exclusive: bool
    member_id: str | None
    new_member_id: str | None
    group_id: str | None
    waits_for: str | None
    input: Json
    target_version: str | None
    status: OperationStatus
    position: int
    ready: bool
    not_before: datetime
    progress: list[Json]
    step_deadline: datetime | None
    conditions: list[Json]
    attempt: int
    max_attempts: int
    retry_after_seconds: float
    attempt_seconds: float
    cancellable: bool
    lease_holder: str | None
    lease_replica: str | None
    lease_token_hash: bytes | None
    lease_until: datetime | None
    fence: int
    began: bool
    cancel_requested: bool
    superseded: bool
    error: Json | None
    revision: int
    correlation_id: str
    requested_by: str
    reason: str
    requested_at: datetime
    started_at: datetime | None
    attempt_started_at: datetime | None
    ended_at: datetime | None

    @property
    def place(self) -> Place:
        """The project it belongs to."""
        return Place(self.org_id, self.project_id)

    @property
    def member_ids(self) -> frozenset[str]:
        """Members it acts on."""
        return frozenset(one for one in (self.member_id, self.new_member_id) if one is not None)


@dataclass(frozen=True)
class Waiting:
    """What the rule of the queue needs to know of an operation that is not at its end."""

    id: str
    exclusive: bool
    member_ids: frozenset[str]
    group_id: str | None
    parallelism: int
    waits_for: str | None
    waits_for_status: OperationStatus | None
    status: OperationStatus
    ready: bool


def instance_of(record: Any) -> InstanceRow:  # noqa: ANN401 - a database record
    """The row of a record."""
    values = dict(record)
    values["status"] = InstanceStatus(values["status"])
    values["health"] = Health(values["health"])
    return InstanceRow(**values)


def member_of(record: Any) -> MemberRow:  # noqa: ANN401 - a database record
    """The row of a record."""
    values = dict(record)
    values["status"] = MemberStatus(values["status"])
    values["health"] = Health(values["health"])
    return MemberRow(**values)


def operation_of(record: Any) -> OperationRow:  # noqa: ANN401 - a database record
    """The row of a record."""
    values = dict(record)
    values["status"] = OperationStatus(values["status"])
    values["purpose"] = Purpose(values["purpose"])
    return OperationRow(**values)
