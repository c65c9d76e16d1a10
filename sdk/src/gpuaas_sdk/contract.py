"""The contract's names an app needs, handed on so that an app depends on the SDK alone.

Imported by apps. Nothing is defined here.
"""

from gpuaas_contract.apps import (
    Absence,
    AdapterDetail,
    AppInstance,
    ConditionType,
    ErrorFamily,
    InstanceCreate,
    Member,
    Operation,
    OperationCreate,
    OperationError,
    PlacedMember,
    PlacementIntent,
    Requested,
)
from gpuaas_contract.capacity import Allocation
from gpuaas_contract.common import Condition, Json, Severity
from gpuaas_contract.controllers import (
    AbsenceReport,
    ConditionReport,
    DetailReport,
    InstanceReport,
    MemberReport,
)
from gpuaas_contract.custody import (
    CustodyRevoke,
    CustodyStatus,
    GrantLogin,
    RuntimeSecret,
    RuntimeSecretCreate,
    RuntimeSecretDeliver,
    RuntimeSecretDelivered,
    SecretEncoding,
    SecretRandom,
)
from gpuaas_contract.events import EventFilter
from gpuaas_contract.identity import Person
from gpuaas_contract.manifest import Manifest, OperationSpec, Purpose
from gpuaas_contract.manifest_check import manifest_check
from gpuaas_contract.permissions import Permission
from gpuaas_contract.states import (
    Health,
    InstanceStatus,
    MemberStatus,
    OperationStatus,
    StepState,
)

__all__ = [
    "Absence",
    "AbsenceReport",
    "AdapterDetail",
    "Allocation",
    "AppInstance",
    "Condition",
    "ConditionReport",
    "ConditionType",
    "CustodyRevoke",
    "CustodyStatus",
    "DetailReport",
    "ErrorFamily",
    "EventFilter",
    "GrantLogin",
    "Health",
    "InstanceCreate",
    "InstanceReport",
    "InstanceStatus",
    "Json",
    "Manifest",
    "Member",
    "MemberReport",
    "MemberStatus",
    "Operation",
    "OperationCreate",
    "OperationError",
    "OperationSpec",
    "OperationStatus",
    "Permission",
    "Person",
    "PlacedMember",
    "PlacementIntent",
    "Purpose",
    "Requested",
    "RuntimeSecret",
    "RuntimeSecretCreate",
    "RuntimeSecretDeliver",
    "RuntimeSecretDelivered",
    "SecretEncoding",
    "SecretRandom",
    "Severity",
    "StepState",
    "manifest_check",
]
