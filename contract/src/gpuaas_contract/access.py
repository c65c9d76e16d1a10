"""Wire types of who may do what: permissions, roles, bindings, explanations, break-glass.

Part of the identity room. Pure.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from gpuaas_contract.common import MAX_PAGE, Input, Maker, Model, Name, OrgId, Revision, Scope
from gpuaas_contract.identity import DAY, Description, Email, Identifier
from gpuaas_contract.permissions import Permission

REASON_MIN: Final = 10


class PermissionInfo(Model):
    """A permission key and what it allows."""

    key: Permission
    description: str
    tenant_only: Annotated[
        bool, Field(description="Not carried into tenants by a binding at the platform")
    ]


class Role(Model):
    """A named bundle of permission keys; built in, or a tenant's own."""

    id: Annotated[str, Field(description="What a binding names: the name of a built-in role")]
    name: str
    description: str
    org_id: Annotated[
        str | None, Field(description="The tenant whose role it is; null for a built-in one")
    ]
    built_in: Annotated[bool, Field(description="It comes with the platform and cannot be changed")]
    permissions: list[Permission]
    revision: Revision
    created_at: datetime | None


class RoleCreate(Input):
    """A tenant's own role. Nobody puts a permission in that they do not hold in the tenant."""

    name: Name
    description: Annotated[Description, Field(description="What the role is for")] = ""
    permissions: Annotated[
        list[Permission],
        Field(
            min_length=1,
            max_length=200,
            description="What it allows; only what you may yourself in the tenant",
        ),
    ]


class RoleUpdate(Input):
    """What of a role may change; it changes for everybody who holds it, at once."""

    description: Annotated[Description | None, Field(description="What the role is for")] = None
    permissions: Annotated[
        list[Permission] | None,
        Field(min_length=1, max_length=200, description="All it allows from now on"),
    ] = None


class PrincipalKind(StrEnum):
    """What kind of identity holds a role."""

    USER = "user"
    SERVICE_ACCOUNT = "service_account"


class BindingSource(StrEnum):
    """Why a binding is there."""

    DIRECT = "direct"
    GROUP = "group"
    BREAK_GLASS = "break_glass"


class RoleBinding(Model):
    """A role held by somebody at a place and everywhere below it."""

    id: str
    principal_kind: PrincipalKind
    principal_id: str
    principal_name: Annotated[str, Field(description="Email, or name of the service account")]
    role: Annotated[str, Field(description="Name of a built-in role, or id of a custom one")]
    role_name: str
    scope: Scope
    source: Annotated[
        BindingSource,
        Field(description="Given directly, by a group of the provider, or by break-glass"),
    ]
    reason: str
    created_by: Maker
    created_at: datetime
    expires_at: Annotated[datetime | None, Field(description="When it ends by itself; null: never")]


class RoleBindingCreate(Input):
    """A role for somebody. Name a principal by id, or a person by email."""

    principal_id: Annotated[
        Identifier | None,
        Field(description="A user or service account; or name a person by `email`"),
    ] = None
    email: Annotated[
        Email | None, Field(description="Of a person; or name a principal by `principal_id`")
    ] = None
    role: Annotated[Identifier, Field(description="Name of a built-in role, or id of a custom one")]
    scope: Annotated[Scope, Field(description="Where it holds, and everywhere below")]
    expires_in_seconds: Annotated[
        int | None,
        Field(ge=60, le=730 * DAY, description="When it ends by itself; never when left out"),
    ] = None


class RoleBindingQuery(Input):
    """Which role bindings to list."""

    org_id: Annotated[Identifier | None, Field(description="Only in this tenant")] = None
    project_id: Annotated[Identifier | None, Field(description="Only in this project")] = None
    principal_id: Annotated[
        Identifier | None, Field(description="Only of this user or service account")
    ] = None
    cursor: Annotated[
        str | None, Field(max_length=500, description="`next_cursor` of the page before")
    ] = None
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="Items per page at most")] = 50


class ExplainRequest(Input):
    """May this principal do this there?"""

    principal_id: Annotated[Identifier, Field(description="Who: a user or service account")]
    permission: Annotated[Permission, Field(description="What they would do")]
    scope: Annotated[Scope, Field(description="Where they would do it")]


class ExplainedBinding(Model):
    """What one binding has to do with the question."""

    binding_id: str
    role: str
    role_name: str
    scope: Scope
    decisive: Annotated[bool, Field(description="This binding gives the permission there")]
    verdict: Annotated[str, Field(description="Why it gives the permission, or why not")]


class Explanation(Model):
    """The answer, by which bindings, or what is missing."""

    allowed: bool
    principal_id: str
    permission: Permission
    scope: Scope
    summary: Annotated[str, Field(description="The answer in a sentence")]
    bindings: Annotated[
        list[ExplainedBinding], Field(description="What each binding of theirs has to do with it")
    ]
    roles_that_would_do: Annotated[list[str], Field(description="Roles that hold the permission")]


class BreakGlass(Model):
    """A platform administrator's visit to a tenant: limited in time, with a reason, audited."""

    id: str
    user_id: str
    org_id: OrgId
    reason: str
    opened_at: datetime
    expires_at: datetime


class BreakGlassOpen(Input):
    """Open a tenant for oneself, and say why."""

    org_id: Annotated[Identifier, Field(description="The tenant to be opened")]
    reason: Annotated[
        str, Field(max_length=500, description="Why, in 10 characters or more; the tenant reads it")
    ]
    duration_seconds: Annotated[
        int,
        Field(
            ge=60, le=4 * 3600, description="It ends by itself after this long; an hour unless said"
        ),
    ] = 3600


class GroupMapping(Model):
    """A group at the OIDC provider and the role it carries; applied at each sign-in."""

    id: str
    issuer: Annotated[str, Field(description="The provider")]
    provider_id: Annotated[
        str | None, Field(description="The tenant's own provider; null: the operator's")
    ] = None
    group: str
    role: str
    role_name: str
    scope: Scope
    created_at: datetime


class GroupMappingCreate(Input):
    """A role for everybody whom the provider puts in this group."""

    group: Annotated[
        str, Field(min_length=1, max_length=200, description="As the provider writes it")
    ]
    provider_id: Annotated[
        Identifier | None,
        Field(description="A provider of the scope's tenant; the operator's when left out"),
    ] = None
    role: Annotated[Identifier, Field(description="Name of a built-in role, or id of a custom one")]
    scope: Annotated[Scope, Field(description="Where it holds, and everywhere below")]


class NamedScope(Scope):
    """A place with the names people know it by."""

    org_name: str | None = None
    project_name: str | None = None


class HeldRole(Model):
    """A role the caller holds."""

    binding_id: str
    role: str
    role_name: str
    scope: NamedScope
    source: BindingSource
    expires_at: datetime | None


class EffectivePermissions(Model):
    """What the caller may do at a place; unless `only_here`, everywhere below it too."""

    scope: Scope
    only_here: Annotated[bool, Field(description="They do not hold below this place")]
    permissions: list[Permission]


class Whoami(Model):
    """The caller as the platform sees it."""

    id: str
    kind: Annotated[str, Field(description="A person, a service account or a node")]
    email: str | None = None
    display_name: str | None = None
    home: Annotated[Scope, Field(description="The place the account belongs to")]
    token_id: str | None
    second_factor_due: Annotated[
        bool,
        Field(description="A second factor must be set up; until then nothing else is allowed"),
    ] = False
    bindings: Annotated[list[HeldRole], Field(description="Roles held, and where")]
    permissions: Annotated[
        list[EffectivePermissions], Field(description="What those roles allow, place by place")
    ]
