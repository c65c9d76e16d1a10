"""Rules of the catalog that other rooms and its routes call."""

from gpuaas_contract.common import Json
from gpuaas_contract.errors import FieldError
from gpuaas_platform.catalog.records import VersionRecord
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.database import Connection


async def deployable_version(
    conn: Connection, place: Place, slug: str, version: str
) -> VersionRecord:
    """The version, when a new instance of it may be made at this place.

    `NOT_FOUND`: there is none, or the tenant is not entitled to the app. `POLICY_DENIED`: the
    project's entitlement or a policy excludes it, with the rule named. `STATE_CONFLICT`: withdrawn.
    """
    raise NotImplementedError


async def version_record(conn: Connection, slug: str, version: str) -> VersionRecord:
    """The version of an instance that exists already: also withdrawn or no longer entitled."""
    raise NotImplementedError


def input_validate(version: VersionRecord, kind: str, given: Json) -> list[FieldError]:
    """What is wrong with the input of an operation of this kind; pointers into the input."""
    raise NotImplementedError


def defaults_apply(version: VersionRecord, kind: str, given: Json) -> Json:
    """The input with fixed values set and defaults filled in; call before `input_validate`."""
    raise NotImplementedError
