"""Why a version can or cannot be deployed at a place: catalog, entitlement and policy together.

One pure function answers for the list a project sees and for the deploy itself, so that the two
never disagree. Called by the catalog's services.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gpuaas_contract.catalog import UnavailableReason
from gpuaas_contract.patterns import pattern_matches
from gpuaas_contract.policy import Decision
from gpuaas_contract.states import VersionStatus
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.database import Record


@dataclass(frozen=True)
class Offer:
    """One version as the catalog has it."""

    slug: str
    version: str
    status: VersionStatus
    message: str
    replacement: str | None

    @property
    def policy_value(self) -> str:
        """How policies name it."""
        return policy_value(self.slug, self.version)


@dataclass(frozen=True)
class Entitled:
    """The entitlements that hold at a place for one app; a tenant's place has no project's."""

    place: Place
    tenant: Record | None
    project: Record | None

    @property
    def in_force(self) -> list[Record]:
        """From the tenant down."""
        return [one for one in (self.tenant, self.project) if one is not None]


def policy_value(slug: str, version: str) -> str:
    """A version as the policy dimension `app_versions` spells it."""
    return f"{slug}@{version}"


def entitled_at(place: Place, rows: Sequence[Record], app_id: str) -> Entitled:
    """Those of the rows that are about one app."""
    own = [row for row in rows if row["app_id"] == app_id]
    tenant = next((row for row in own if row["project_id"] is None), None)
    project = next((row for row in own if row["project_id"] is not None), None)
    return Entitled(place, tenant, project)


def app_reasons(entitled: Entitled, slug: str) -> list[UnavailableReason]:
    """Why no version of an app can be deployed here at all."""
    if entitled.place.org_id is None:
        return []
    if entitled.tenant is None:
        message = f"The tenant is not entitled to {slug}; ask the platform's operator."
        return [UnavailableReason(code="not_entitled", message=message)]
    if entitled.place.project_id is not None and entitled.project is None:
        message = f"The project is not entitled to {slug}; ask a tenant admin."
        return [UnavailableReason(code="not_entitled", message=message)]
    return []


def version_reasons(
    offer: Offer, entitled: Entitled, decision: Decision
) -> list[UnavailableReason]:
    """Why this version cannot be deployed here; empty when it can."""
    reasons = app_reasons(entitled, offer.slug)
    if offer.status is VersionStatus.WITHDRAWN:
        instead = f" Use {offer.replacement} instead." if offer.replacement else ""
        message = f"{offer.slug} {offer.version} was withdrawn: {offer.message}{instead}"
        reasons.append(UnavailableReason(code="withdrawn", message=message))
    for row in entitled.in_force:
        patterns = row["versions"]
        if patterns is None or any(pattern_matches(one, offer.version) for one in patterns):
            continue
        whose = "tenant" if row["project_id"] is None else "project"
        message = f"The {whose}'s entitlement covers {', '.join(patterns)}, not {offer.version}."
        reasons.append(
            UnavailableReason(
                code="version_not_entitled", message=message, entitlement_id=row["id"]
            )
        )
    if not decision.allowed:
        overlay = decision.decided_by.overlay_id if decision.decided_by else None
        reasons.append(
            UnavailableReason(code="policy_denied", message=decision.message, overlay_id=overlay)
        )
    return reasons
