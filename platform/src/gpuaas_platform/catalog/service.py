"""The catalog as other rooms see it: which version may be deployed, and is an input right."""

from gpuaas_contract.catalog import SettingsOverlay, UnavailableReason
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.policy import Dimension
from gpuaas_contract.states import VersionStatus
from gpuaas_platform.catalog import store
from gpuaas_platform.catalog.availability import Entitled, Offer, entitled_at, version_reasons
from gpuaas_platform.catalog.inputs import (
    defaults_apply,
    input_schema,
    input_validate,
    operation_form,
)
from gpuaas_platform.catalog.manifests import manifest_parsed
from gpuaas_platform.catalog.records import VersionRecord
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.problems import PlatformError, not_found
from gpuaas_platform.policy import service as policy

__all__ = [
    "VersionRecord",
    "defaults_apply",
    "deployable_version",
    "input_schema",
    "input_validate",
    "operation_form",
    "version_record",
]


async def deployable_version(
    conn: Connection, place: Place, slug: str, version: str
) -> VersionRecord:
    """The version, when a new instance of it may be made at this place.

    `NOT_FOUND`: there is none, or the tenant is not entitled to the app. `POLICY_DENIED`: the
    project's entitlement or a policy excludes it, with the rule named. `STATE_CONFLICT`: withdrawn.
    """
    row = await store.version_read(conn, slug, version)
    if row is None or row["status"] == VersionStatus.DRAFT:
        raise not_found("app version", f"{slug} {version}")
    entitled = entitled_at(
        place, await store.entitlements_at(conn, place, [row["app_id"]]), row["app_id"]
    )
    if place.org_id is not None and entitled.tenant is None:
        raise not_found("app version", f"{slug} {version}")
    offer = offer_of(row, slug)
    value = offer.policy_value
    decisions = await policy.decide_many(conn, place, Dimension.APP_VERSIONS, [value])
    reasons = version_reasons(offer, entitled, decisions[value])
    if reasons:
        raise _refused(offer, reasons)
    return version_of(row, settings_of(entitled))


async def version_record(conn: Connection, slug: str, version: str) -> VersionRecord:
    """The version of an instance that exists already: also withdrawn or no longer entitled."""
    row = await store.version_read(conn, slug, version)
    if row is None:
        raise not_found("app version", f"{slug} {version}")
    return version_of(row, ())


def offer_of(row: Record, slug: str) -> Offer:
    """A stored version as an offer."""
    status = VersionStatus(row["status"])
    return Offer(slug, row["version"], status, row["message"], row["replacement"])


def settings_of(entitled: Entitled) -> tuple[SettingsOverlay, ...]:
    """The bounds of the entitlements in force, tenant first; empty ones left out."""
    found = (SettingsOverlay.model_validate(row["settings"]) for row in entitled.in_force)
    return tuple(one for one in found if one != SettingsOverlay())


def version_of(row: Record, settings: tuple[SettingsOverlay, ...]) -> VersionRecord:
    """A stored version as other rooms get it."""
    return VersionRecord(
        id=row["id"],
        app_id=row["app_id"],
        slug=row["slug"],
        version=row["version"],
        status=VersionStatus(row["status"]),
        digest=row["digest"],
        manifest=manifest_parsed(row["digest"], row["manifest"]),
        settings=settings,
    )


def _refused(offer: Offer, reasons: list[UnavailableReason]) -> PlatformError:
    """A withdrawn version is a conflict; everything else is a rule somebody set."""
    withdrawn = next((one for one in reasons if one.code == "withdrawn"), None)
    decisive = withdrawn or reasons[0]
    code = ErrorCode.STATE_CONFLICT if withdrawn else ErrorCode.POLICY_DENIED
    context = {"app_slug": offer.slug, "app_version": offer.version, "reason": decisive.code}
    if decisive.entitlement_id is not None:
        context["entitlement_id"] = decisive.entitlement_id
    if decisive.overlay_id is not None:
        context["overlay_id"] = decisive.overlay_id
    if withdrawn and offer.replacement is not None:
        context["replacement"] = offer.replacement
    return PlatformError(code, decisive.message, context=context)
