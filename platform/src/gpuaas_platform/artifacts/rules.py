"""Who may do what to which source, and what a policy's decision means for it. Pure.

A source is the platform's or a tenant's; a project's people read both, so permissions held in any
project of a tenant reach that tenant's artifacts for reading, and for nothing else.
"""

from gpuaas_contract.artifacts import Artifact, ArtifactSource
from gpuaas_contract.common import ScopeKind
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.permissions import Permission
from gpuaas_contract.policy import Decision
from gpuaas_contract.states import ARTIFACT, ArtifactStatus
from gpuaas_platform.artifacts.store.sources import Tiers
from gpuaas_platform.kernel.caller import PLATFORM, Caller, Place
from gpuaas_platform.kernel.database import Record
from gpuaas_platform.kernel.problems import Denied, PlatformError


def address_of(kind: str, name: str, tenant: str | None) -> str:
    """What policies call a source whose content is uploaded here."""
    return f"{kind}://platform/{name}" if tenant is None else f"{kind}://tenant/{tenant}/{name}"


def place_of(row: Record) -> Place:
    """Where a source, a key or an artifact is at home."""
    return Place(row["org_id"])


def tiers_of(caller: Caller, permission: Permission) -> Tiers:
    """Whose artifacts a caller may read: shared ones, and of tenants they hold it somewhere in."""
    held = [grant.place for grant in caller.grants if permission in grant.permissions]
    org_ids = {place.org_id for place in held if place.org_id is not None}
    return Tiers(caller.allows(permission, PLATFORM), tuple(sorted(org_ids)))


def read_require(caller: Caller, permission: Permission, row: Record) -> None:
    """Pass where the caller may read: shared things whoever reads any, a tenant's its people."""
    tiers = tiers_of(caller, permission)
    if tiers.everywhere or row["org_id"] in tiers.org_ids:
        return
    if row["org_id"] is None and tiers.org_ids:
        return
    raise Denied(permission, hidden=not caller.knows(place_of(row)))


def publish_require(caller: Caller, row: Record) -> None:
    """Pass where the caller may publish: at the source's place, or from a project if it lets."""
    if row["project_publish"] and row["org_id"] is not None:
        tiers = tiers_of(caller, Permission.ARTIFACT_PUBLISH)
        if tiers.everywhere or row["org_id"] in tiers.org_ids:
            return
    caller.require(Permission.ARTIFACT_PUBLISH, place_of(row))


def source_decision(decision: Decision, row: Record) -> Decision:
    """A policy's decision on a source. A tenant's own needs more than nobody's objection.

    It must be on an allow list of the platform or of the tenant; a project's own list can take
    away, never add.
    """
    if not decision.allowed or row["org_id"] is None:
        return decision
    listed = [
        found
        for found in decision.chain
        if found.rule == "allow" and found.scope.kind is not ScopeKind.PROJECT
    ]
    if listed:
        return decision
    message = (
        f"{decision.value} is a tenant's own source: it may be used once an overlay of the tenant"
        " or of the platform lists it under artifact_sources.allow."
    )
    return decision.model_copy(update={"allowed": False, "decided_by": None, "message": message})


def transition_require(row: Record, target: ArtifactStatus) -> None:
    """Pass where an artifact may go to a state."""
    status = ArtifactStatus(row["status"])
    if status == target or not ARTIFACT.allows(status, target):
        raise state_conflict(row, f"cannot become {target}")


def state_conflict(row: Record, why: str) -> PlatformError:
    """The answer where an artifact's state does not allow something."""
    return PlatformError(
        ErrorCode.STATE_CONFLICT,
        f"The artifact is {row['status']} and {why}.",
        context={"artifact_id": row["id"], "status": row["status"]},
    )


def enabled_require(row: Record) -> None:
    """Pass where the source is switched on."""
    if not row["enabled"]:
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            "The source is disabled: nothing is published, resolved or delivered.",
        )


def source_view(row: Record) -> ArtifactSource:
    """A source as the contract writes it."""
    return ArtifactSource(**{name: row[name] for name in ArtifactSource.model_fields})


def artifact_view(row: Record) -> Artifact:
    """An artifact as the contract writes it."""
    return Artifact(**{name: row[name] for name in Artifact.model_fields})
