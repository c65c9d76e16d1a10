"""Wire types of the catalog: apps, versions, entitlements, and what a project may deploy."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, GetJsonSchemaHandler, JsonValue
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from gpuaas_contract.common import Input, Json, Model, Name, Revision, Scope, Text
from gpuaas_contract.errors import FieldError
from gpuaas_contract.manifest import Confirmation, Manifest
from gpuaas_contract.pointers import JsonPointer
from gpuaas_contract.semver import SemVer, VersionPattern
from gpuaas_contract.states import VersionStatus

DisplayName = Annotated[str, Field(min_length=1, max_length=120)]
Label = Annotated[str, Field(max_length=60)]


class _DescribedAsManifest:
    """Documents a plain object as a `Manifest`: parsing it is the catalog's, with its own code."""

    def __get_pydantic_json_schema__(
        self, _: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler(Manifest.__pydantic_core_schema__)


ManifestDocument = Annotated[dict[str, Any], _DescribedAsManifest()]


class AppCreate(Input):
    """A new app in the catalog."""

    slug: Annotated[
        Name, Field(description="Its name in paths, for good: lower-case letters, digits, hyphens")
    ]
    display_name: Annotated[DisplayName, Field(description="What people see")]
    description: Annotated[Text, Field(description="What it does")] = ""
    publisher: Annotated[DisplayName, Field(description="Who makes it")]
    kind_label: Annotated[Label, Field(description="What people call this kind of app")] = ""


class AppUpdate(Input):
    """Changed words of an app; what is left out stays."""

    display_name: Annotated[DisplayName | None, Field(description="What people see")] = None
    description: Annotated[Text | None, Field(description="What it does")] = None
    publisher: Annotated[DisplayName | None, Field(description="Who makes it")] = None
    kind_label: Annotated[Label | None, Field(description="What people call this kind of app")] = (
        None
    )


class App(Model):
    """An app in the catalog."""

    id: str
    slug: str
    display_name: str
    description: str
    publisher: str
    kind_label: str
    latest_version: Annotated[
        str | None, Field(description="Highest published version that is no pre-release")
    ]
    revision: Revision
    created_at: datetime


class VersionCreate(Input):
    """A new version of an app. Its manifest can never be changed afterwards."""

    version: SemVer
    manifest: Annotated[
        ManifestDocument, Field(description="All the platform, console and CLI know about it")
    ]
    notes: Annotated[Text, Field(description="What is new")] = ""
    publish: Annotated[
        bool, Field(description="Publish at once; else it stays a draft only publishers see")
    ] = False


class VersionDeprecate(Input):
    """Why a version should no longer be chosen, and what to choose instead."""

    message: Annotated[
        str,
        Field(min_length=1, max_length=2000, description="Why; shown to whoever would choose it"),
    ]
    replacement: Annotated[SemVer | None, Field(description="The version to choose instead")] = None


class VersionWithdraw(Input):
    """Why a version can no longer be deployed, and what to choose instead."""

    reason: Annotated[
        str,
        Field(min_length=1, max_length=2000, description="Why; shown to whoever would choose it"),
    ]
    replacement: Annotated[SemVer | None, Field(description="The version to choose instead")] = None


class AppVersionSummary(Model):
    """A version without its manifest."""

    id: str
    app_slug: str
    version: str
    status: VersionStatus
    digest: Annotated[str, Field(description="sha256 of the published manifest document")]
    package_version: str
    notes: str
    message: Annotated[str, Field(description="Why it was deprecated or withdrawn")]
    replacement: str | None
    revision: Revision
    created_at: datetime
    published_at: datetime | None


class AppVersion(AppVersionSummary):
    """A version with its manifest."""

    manifest: Manifest


class ManifestValidate(Input):
    """A manifest to be checked without storing it."""

    manifest: Annotated[
        ManifestDocument, Field(description="The manifest as it would be published")
    ]


class Validation(Model):
    """What a check found."""

    valid: bool
    errors: list[FieldError]


InputPointer = Annotated[
    JsonPointer,
    Field(min_length=2, description="JSON pointer to a field of the deploy input"),
]


class InputLimit(Input):
    """Bounds of one deploy input, narrower than the schema's."""

    minimum: Annotated[float | None, Field(description="Of a number: not less")] = None
    maximum: Annotated[float | None, Field(description="Of a number: not more")] = None
    max_length: Annotated[int | None, Field(ge=0, description="Of a text: characters at most")] = (
        None
    )
    max_items: Annotated[int | None, Field(ge=0, description="Of a list: items at most")] = None
    allowed: Annotated[
        tuple[JsonValue, ...] | None, Field(max_length=100, description="Only one of these values")
    ] = None


class SettingsOverlay(Input):
    """What an entitlement says about deploy inputs, by JSON pointer into the input.

    `fixed` values cannot be chosen otherwise; `limits` bound what is chosen; `defaults` stand in
    for what is not chosen.
    """

    defaults: Annotated[
        dict[InputPointer, JsonValue],
        Field(
            max_length=100,
            description="What stands in for a field that is not chosen, by its pointer",
        ),
    ] = Field(default_factory=dict)
    fixed: Annotated[
        dict[InputPointer, JsonValue],
        Field(max_length=100, description="What a field always has, by its pointer"),
    ] = Field(default_factory=dict)
    limits: Annotated[
        dict[InputPointer, InputLimit],
        Field(max_length=100, description="Bounds of what may be chosen, by the field's pointer"),
    ] = Field(default_factory=dict)


class EntitlementCreate(Input):
    """Let a tenant, or a project of an entitled tenant, use an app."""

    app_slug: Annotated[Name, Field(description="Which app")]
    versions: Annotated[
        tuple[VersionPattern, ...] | None,
        Field(min_length=1, max_length=50, description="Which versions; all when left out"),
    ] = None
    settings: Annotated[
        SettingsOverlay, Field(description="What it says about deploy inputs; it can only narrow")
    ] = SettingsOverlay()


class EntitlementUpdate(Input):
    """The new content of an entitlement, whole."""

    versions: Annotated[
        tuple[VersionPattern, ...] | None,
        Field(min_length=1, max_length=50, description="Which versions; all when left out"),
    ] = None
    settings: Annotated[
        SettingsOverlay, Field(description="What it says about deploy inputs; it can only narrow")
    ] = SettingsOverlay()


class Entitlement(Model):
    """That a tenant or project may use an app, and within which bounds."""

    id: str
    scope: Scope
    app_slug: str
    versions: Annotated[list[str] | None, Field(description="Which versions; null: all")]
    settings: SettingsOverlay
    revision: Revision
    created_at: datetime


class EntitlementWarning(Model):
    """A part of an entitlement that can have no effect, and why."""

    pointer: str
    message: str


class EntitlementRead(Entitlement):
    """An entitlement with what is to be said about it."""

    warnings: list[EntitlementWarning]


class UnavailableReason(Model):
    """Why something in the catalog cannot be deployed here."""

    code: Literal[
        "not_entitled", "version_not_entitled", "policy_denied", "withdrawn", "no_version"
    ]
    message: str
    entitlement_id: str | None = None
    overlay_id: str | None = None


class ProjectAppVersion(Model):
    """A version as one project sees it."""

    version: str
    status: VersionStatus
    message: Annotated[str, Field(description="Why it was deprecated or withdrawn")]
    replacement: str | None
    available: bool
    reasons: list[UnavailableReason]


class ProjectApp(Model):
    """An app as one project sees it."""

    slug: str
    display_name: str
    description: Annotated[
        str,
        Field(description="In the publisher's words, or else in those of the version offered"),
    ]
    publisher: str
    kind_label: str
    available: bool
    latest_available: Annotated[
        str | None, Field(description="Highest version this project may deploy")
    ]
    reasons: list[UnavailableReason]
    versions: list[ProjectAppVersion]


class InputCheck(Input):
    """An input to be checked against a version, as a deploy or an operation would."""

    kind: Annotated[
        str | None, Field(max_length=63, description="Operation kind; the deploy when left out")
    ] = None
    input: Annotated[Json, Field(description="What would be sent")] = Field(default_factory=dict)


class InputValidation(Validation):
    """What a check of an input found, and the input with its defaults filled in."""

    input: Json


class OperationForm(Model):
    """The form of an operation as one project must fill it in."""

    kind: str
    title: str
    description: str
    input_schema: Annotated[Json, Field(description="With the entitlement's bounds in it")]
    initial: Annotated[Json, Field(description="Defaults and fixed values to begin with")]
    fixed: Annotated[list[str], Field(description="Pointers that cannot be chosen")]
    confirmation: Confirmation | None
    destructive: bool
