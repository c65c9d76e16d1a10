"""State machines as data: one transition table each, enforced by the platform, drawn in the docs.

Read by the platform (which refuses every other transition), by the SDK's testing kit and by the
generator of docs/states.md. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class InstanceStatus(StrEnum):
    """Life of an app instance."""

    REQUESTED = "requested"
    DEPLOYING = "deploying"
    RUNNING = "running"
    DEGRADED = "degraded"
    STOPPING = "stopping"
    STOPPED = "stopped"
    STARTING = "starting"
    UPGRADING = "upgrading"
    ROLLING_BACK = "rolling_back"
    FAILED = "failed"
    DELETING = "deleting"
    CLEANUP_BLOCKED = "cleanup_blocked"
    DELETED = "deleted"


class MemberStatus(StrEnum):
    """Life of one member of an instance. Unreachable is a condition beside it, never a status."""

    REQUESTED = "requested"
    RECONCILING = "reconciling"
    READY = "ready"
    DEGRADED = "degraded"
    DRAINING = "draining"
    DRAINED = "drained"
    REMOVING = "removing"
    REMOVED = "removed"
    CLEANUP_BLOCKED = "cleanup_blocked"
    FAILED = "failed"


class OperationStatus(StrEnum):
    """Life of an operation. A lapsed lease returns it to `requested` with the next attempt."""

    REQUESTED = "requested"
    ACCEPTED = "accepted"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    ABANDONED = "abandoned"


class StepState(StrEnum):
    """State of one named step of an operation."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    SKIPPED = "skipped"
    FAILED = "failed"
    UNDONE = "undone"


class VersionStatus(StrEnum):
    """Life of a published app version. The manifest itself never changes."""

    DRAFT = "draft"
    PUBLISHED = "published"
    DEPRECATED = "deprecated"
    WITHDRAWN = "withdrawn"


class AllocationStatus(StrEnum):
    """Life of an allocation: a machine held by a project."""

    REQUESTED = "requested"
    PROVISIONING = "provisioning"
    ACTIVE = "active"
    RELEASING = "releasing"
    RELEASED = "released"
    FAILED = "failed"
    CLEANUP_BLOCKED = "cleanup_blocked"


class NodeStatus(StrEnum):
    """Whether a node may be given out; beside it, an allocation may hold it."""

    READY = "ready"
    CORDONED = "cordoned"
    CLEANING = "cleaning"
    SET_ASIDE = "set_aside"
    RETIRED = "retired"


class CleaningStatus(StrEnum):
    """Life of one cleaning: from the end of a tenant's use to a node that others may get."""

    CLOSING = "closing"
    WIPING = "wiping"
    ENROLLING = "enrolling"
    CHECKING = "checking"
    SUCCEEDED = "succeeded"
    SET_ASIDE = "set_aside"
    RETIRED = "retired"


class ArtifactStatus(StrEnum):
    """Life of an artifact, from the intent to publish it. Its content never changes."""

    INTENDED = "intended"
    INGESTING = "ingesting"
    PUBLISHED = "published"
    PROMOTED = "promoted"
    DEPRECATED = "deprecated"
    RETIRED = "retired"
    FAILED = "failed"


class ArtifactTrust(StrEnum):
    """How far an artifact is trusted: whether a key its source trusts vouches for it."""

    UNVERIFIED = "unverified"
    VERIFIED = "verified"
    FAILED_VERIFICATION = "failed_verification"
    REVOKED = "revoked"


class EnrolmentStatus(StrEnum):
    """Life of an enrolment: a permission to enrol one host, once."""

    PENDING = "pending"
    USED = "used"
    EXPIRED = "expired"
    REVOKED = "revoked"


class AgentStatus(StrEnum):
    """Life of a node's agent. Absent is a condition of the node, never a status."""

    ENROLLED = "enrolled"
    LEAVING = "leaving"
    LEFT = "left"


class NodeTaskStatus(StrEnum):
    """Life of a task for a machine; it runs at most once, whatever restarts in between."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class Health(StrEnum):
    """The generic health vocabulary an app maps its own onto."""

    UNKNOWN = "unknown"
    PROGRESSING = "progressing"
    HEALTHY = "healthy"
    DEGRADED = "degraded"
    DRAINED = "drained"
    FAILED = "failed"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True)
class StateMachine:
    """A named transition table: for each state, the states it may go to."""

    name: str
    initial: str
    table: Mapping[str, frozenset[str]]

    @property
    def terminal(self) -> frozenset[str]:
        """States that nothing leaves."""
        return frozenset(state for state, targets in self.table.items() if not targets)

    def allows(self, source: str, target: str) -> bool:
        """Whether `source → target` is a transition. Staying where one is always is."""
        return source == target or target in self.table[source]

    def mermaid(self) -> str:
        """The machine as a mermaid state diagram, for the docs."""
        lines = ["stateDiagram-v2", f"    [*] --> {self.initial}"]
        for source, targets in self.table.items():
            lines += [f"    {source} --> {target}" for target in sorted(targets)]
            if not targets:
                lines.append(f"    {source} --> [*]")
        return "\n".join(lines)


def _machine(
    name: str,
    states: type[StrEnum],
    arrows: Mapping[str, str],
    *,
    from_any: Mapping[str, str] | None = None,
) -> StateMachine:
    """Build a table from `{"source": "target target"}`.

    `from_any` maps a target to the sources it may not come from, and adds it to every other.
    """
    table = {str(state): set(arrows.get(state, "").split()) for state in states}
    for target, exempt in (from_any or {}).items():
        for source in states:
            if source != target and source not in exempt.split():
                table[source].add(target)
    known = set(states)
    unknown = set(arrows) - known | {t for targets in table.values() for t in targets} - known
    if unknown:
        raise ValueError(f"{name}: unknown states {sorted(unknown)}")
    frozen = {source: frozenset(targets) for source, targets in table.items()}
    return StateMachine(name, next(iter(states)), frozen)


# Operations wait for each other, and what was asked for in one settled state may begin in another:
# whatever an operation passes through can follow `running`, `degraded`, `stopped` and `failed`.
_BEGIN: Final = "deploying stopping starting upgrading rolling_back"

INSTANCE: Final = _machine(
    "instance",
    InstanceStatus,
    {
        "requested": "deploying",
        "deploying": "running degraded",
        "running": f"degraded {_BEGIN}",
        "degraded": f"running {_BEGIN}",
        "stopping": "stopped running degraded",
        "stopped": _BEGIN,
        "starting": "running degraded stopped",
        "upgrading": "running degraded rolling_back stopped",
        "rolling_back": "running degraded stopped",
        "failed": f"running degraded stopped {_BEGIN}",
        "deleting": "deleted cleanup_blocked",
        "cleanup_blocked": "deleted",
    },
    from_any={"failed": "deleted cleanup_blocked deleting", "deleting": "deleted"},
)

MEMBER: Final = _machine(
    "member",
    MemberStatus,
    {
        "requested": "reconciling",
        "reconciling": "ready degraded",
        "ready": "degraded draining reconciling",
        "degraded": "ready draining reconciling",
        "draining": "drained ready degraded",
        "drained": "ready degraded reconciling",
        "removing": "removed cleanup_blocked",
        "cleanup_blocked": "removed",
        "failed": "reconciling ready degraded draining drained",
    },
    from_any={"failed": "removed cleanup_blocked", "removing": "removed"},
)

OPERATION: Final = _machine(
    "operation",
    OperationStatus,
    {
        "requested": "accepted cancelled failed abandoned",
        "accepted": "running requested cancelled failed abandoned",
        "running": "succeeded failed cancelled requested abandoned",
        "failed": "requested abandoned",
    },
)

VERSION: Final = _machine(
    "app version",
    VersionStatus,
    {
        "draft": "published withdrawn",
        "published": "deprecated withdrawn",
        "deprecated": "published withdrawn",
    },
)

ALLOCATION: Final = _machine(
    "allocation",
    AllocationStatus,
    {
        "requested": "provisioning failed releasing released",
        "provisioning": "active failed releasing",
        "active": "releasing cleanup_blocked failed",
        "releasing": "released cleanup_blocked failed",
        "failed": "releasing provisioning",
        "cleanup_blocked": "active releasing",
    },
)

# A node leaves `cleaning` by evidence alone: no request of an operator opens it.
NODE: Final = _machine(
    "node",
    NodeStatus,
    {
        "ready": "cordoned cleaning",
        "cordoned": "ready cleaning retired",
        "cleaning": "ready cordoned set_aside retired",
        "set_aside": "cleaning retired",
    },
)

CLEANING: Final = _machine(
    "cleaning of a node",
    CleaningStatus,
    {
        "closing": "wiping retired",
        "wiping": "enrolling succeeded set_aside retired",
        "enrolling": "checking set_aside retired",
        "checking": "succeeded set_aside retired",
        "set_aside": "wiping retired",
    },
)

ARTIFACT: Final = _machine(
    "artifact",
    ArtifactStatus,
    {
        "intended": "ingesting failed",
        "ingesting": "published failed",
        "published": "promoted deprecated retired",
        "promoted": "published deprecated retired",
        "deprecated": "published retired",
    },
)

TRUST: Final = _machine(
    "artifact trust",
    ArtifactTrust,
    {
        "unverified": "verified failed_verification revoked",
        "verified": "unverified revoked",
        "failed_verification": "verified revoked",
    },
)

ENROLMENT: Final = _machine("enrolment", EnrolmentStatus, {"pending": "used expired revoked"})

AGENT: Final = _machine("node agent", AgentStatus, {"enrolled": "leaving left", "leaving": "left"})

NODE_TASK: Final = _machine(
    "node task",
    NodeTaskStatus,
    {"queued": "running cancelled expired failed", "running": "succeeded failed cancelled"},
)

MACHINES: Final = (
    INSTANCE,
    MEMBER,
    OPERATION,
    VERSION,
    ALLOCATION,
    NODE,
    CLEANING,
    ARTIFACT,
    TRUST,
    ENROLMENT,
    AGENT,
    NODE_TASK,
)
