"""Cleaning of nodes between tenants: one record for each, with its steps and its ways out. Pure.

A node that has left a tenant is given out again when its cleaning has succeeded, and only then.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from gpuaas_contract.capacity import CleaningMethod, HostKey
from gpuaas_contract.common import CorrelationId, Input, Model, OrgId, Revision, Text
from gpuaas_contract.states import CleaningStatus, StepState


class CleaningStepName(StrEnum):
    """What is done to a node between two tenants, in this order."""

    SESSIONS = "sessions"
    IDENTITY = "identity"
    CLEAN = "clean"
    ENROLMENT = "enrolment"
    CHECKS = "checks"


class CleaningAction(StrEnum):
    """What an operator can do about a cleaning."""

    CONFIRM = "confirm"
    RETRY = "retry"
    RETIRE = "retire"


class CleaningStep(Model):
    """One step of a cleaning."""

    name: CleaningStepName
    state: StepState
    at: Annotated[datetime, Field(description="When it came to this state")]
    message: Annotated[str, Field(description="What was seen, in words")]


class Cleaning(Model):
    """One cleaning of a node."""

    id: str
    node_id: str
    node_name: str
    region: str
    org_id: Annotated[OrgId | None, Field(description="The tenant that the node leaves")]
    method: CleaningMethod
    status: CleaningStatus
    status_reason: Annotated[str, Field(description="What it waits for, or why it was set aside")]
    steps: list[CleaningStep]
    attempt: Annotated[int, Field(description="How often the hook was asked")]
    deadline_at: Annotated[
        datetime | None, Field(description="The present step fails after this; null: no limit")
    ]
    confirmed_by: Annotated[
        str | None, Field(description="The operator who confirmed by hand; null where none did")
    ]
    next_actions: Annotated[list[CleaningAction], Field(description="What an operator can do now")]
    revision: Revision
    correlation_id: CorrelationId
    created_at: datetime
    ended_at: datetime | None


class CleaningConfirm(Input):
    """An operator says that the machine was cleaned by hand."""

    reason: Annotated[
        str,
        Field(min_length=1, max_length=2000, description="How it was cleaned; kept in the audit"),
    ]
    host_keys: Annotated[
        list[HostKey],
        Field(
            max_length=8,
            description="New SSH host keys of a machine without an agent; with none given, the"
            " machine has to enrol afresh",
        ),
    ] = []


class CleaningRetry(Input):
    """Try a cleaning that was set aside again."""

    reason: Annotated[Text, Field(description="Why; kept in the audit log")] = ""


class CleaningRetire(Input):
    """Give the node up: it is given out to no tenant again."""

    reason: Annotated[
        str, Field(min_length=1, max_length=2000, description="Why; kept in the audit log")
    ]
