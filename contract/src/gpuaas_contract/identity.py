"""Wire types of the identity room: the tenancy tree, who there is, and how one proves it.

What people and automation may do (roles, bindings) is in `access.py`. Pure.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from gpuaas_contract import headers
from gpuaas_contract.common import Input, Model, Name, Scope
from gpuaas_contract.permissions import Permission

KEY_PREFIX: Final = "gpk"
ACCESS_TOKEN_PREFIX: Final = "gpt"
PERSONAL_TOKEN_PREFIX: Final = "gpp"
SESSION_PREFIX: Final = "gps"
NODE_TOKEN_PREFIX: Final = "gpn"
SESSION_COOKIE: Final = "__Host-gpuaas_session"
LOOPBACK_SESSION_COOKIE: Final = "gpuaas_session"
CSRF_COOKIE: Final = headers.CSRF_COOKIE
OIDC_COOKIE: Final = "__Host-gpuaas_oidc"
LOOPBACK_OIDC_COOKIE: Final = "gpuaas_oidc"
PASSWORD_MIN: Final = 12
PASSWORD_MAX: Final = 256
DAY: Final = 86_400

Identifier = Annotated[str, Field(min_length=1, max_length=64)]
DisplayName = Annotated[str, Field(min_length=1, max_length=200)]
Description = Annotated[str, Field(max_length=2000)]
Email = Annotated[
    str,
    Field(
        pattern=r"^[^@\s\x00-\x1f]+@[^@\s\x00-\x1f]+$", max_length=254, examples=["ada@example.org"]
    ),
]
Password = Annotated[
    str,
    Field(min_length=PASSWORD_MIN, max_length=PASSWORD_MAX, json_schema_extra={"writeOnly": True}),
]
PublicKey = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9+/]{43}=$",
        description="X25519 public key (32 bytes, base64) that secrets are sealed to (HPKE)",
    ),
]


class Tenant(Model):
    """A customer: owns projects, people and roles."""

    id: str
    name: str
    display_name: str
    active: bool
    revision: int
    created_at: datetime


class TenantCreate(Input):
    """A new tenant, with its first administrator if named."""

    name: Name
    display_name: DisplayName | None = None
    admin_user_id: Annotated[
        Identifier | None,
        Field(description="Who becomes its first tenant_admin; may be the caller"),
    ] = None


class TenantUpdate(Input):
    """What of a tenant may change. An inactive tenant lets none of its people in."""

    display_name: DisplayName | None = None
    active: bool | None = None


class Project(Model):
    """A boundary inside a tenant: what runs, who works on it, what it costs."""

    id: str
    org_id: str
    name: str
    display_name: str
    active: bool
    revision: int
    created_at: datetime


class ProjectCreate(Input):
    """A new project of a tenant."""

    name: Name
    display_name: DisplayName | None = None


class ProjectUpdate(Input):
    """What of a project may change. An inactive project admits none of its members."""

    display_name: DisplayName | None = None
    active: bool | None = None


class User(Model):
    """A person. `org_id` is the tenant that manages the account; absent: the platform does."""

    id: str
    number: Annotated[int, Field(description="Small, stable, never given to anybody else")]
    org_id: str | None
    email: str
    display_name: str
    active: bool
    has_password: bool
    revision: int
    created_at: datetime
    last_sign_in_at: datetime | None


class Person(Model):
    """Somebody with a role in a project, or in its tenant, as apps make accounts for them.

    `posix_name` and `posix_uid` are given once in the life of an installation and are nobody
    else's after: they hold when the email address changes and when the person comes back.
    """

    user_id: str
    email: str
    display_name: str
    posix_name: Annotated[str, Field(description="Their name on machines")]
    posix_uid: Annotated[int, Field(description="Their number on machines")]
    active: Annotated[bool, Field(description="Whether they are let in; if not, nor by apps")]
    roles: list[str]
    permissions: list[Permission]


class UserCreate(Input):
    """A new person. Without a password they sign in through the organisation's provider."""

    email: Email
    display_name: DisplayName | None = None
    password: Password | None = None


class UserUpdate(Input):
    """What of a person may change."""

    email: Email | None = None
    display_name: DisplayName | None = None
    active: bool | None = None


class PasswordSet(Input):
    """A new password; one's own needs the present one too."""

    password: Password
    current_password: Annotated[
        str | None, Field(max_length=PASSWORD_MAX, json_schema_extra={"writeOnly": True})
    ] = None


class ServiceAccount(Model):
    """An identity for automation. It acts in its own project only."""

    id: str
    org_id: str
    project_id: str
    name: str
    display_name: str
    description: str
    public_key: str | None
    roles: Annotated[list[str], Field(description="Roles it holds in its project")]
    active: bool
    revision: int
    created_at: datetime


class ServiceAccountCreate(Input):
    """A new service account of a project, with the roles it shall hold there."""

    name: Name
    display_name: DisplayName | None = None
    description: Description = ""
    public_key: PublicKey | None = None
    roles: Annotated[
        list[Identifier],
        Field(max_length=16, description="Built-in role names or ids of custom roles"),
    ] = []


class ServiceAccountUpdate(Input):
    """What of a service account may change."""

    display_name: DisplayName | None = None
    description: Description | None = None
    active: bool | None = None


class PublicKeySet(Input):
    """The key that secrets for a service account are sealed to."""

    public_key: PublicKey


class KeyStatus(StrEnum):
    """Whether a key can be exchanged for tokens."""

    ACTIVE = "active"
    EXPIRED = "expired"
    REVOKED = "revoked"


class ServiceAccountKey(Model):
    """A long-lived key of a service account; its secret is never shown again."""

    id: str
    service_account_id: str
    name: str
    status: KeyStatus
    predecessor_id: str | None
    created_by: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


class ServiceAccountKeyCreate(Input):
    """A new key. Naming a predecessor rotates: the old key works on for `overlap_seconds`."""

    name: Annotated[str, Field(min_length=1, max_length=100)] = "key"
    expires_in_seconds: Annotated[int, Field(ge=60, le=730 * DAY)] = 365 * DAY
    predecessor_id: Identifier | None = None
    overlap_seconds: Annotated[int, Field(ge=0, le=30 * DAY)] = DAY


class ServiceAccountKeyCreated(ServiceAccountKey):
    """A key at its birth: the one time its secret is shown."""

    secret: Annotated[str, Field(examples=["gpk_01h…_…"])]


class TokenGrantType(StrEnum):
    """What is exchanged for a token."""

    SERVICE_ACCOUNT_KEY = "service_account_key"


class TokenExchange(Input):
    """A service account's key in exchange for a short-lived token."""

    grant_type: TokenGrantType = TokenGrantType.SERVICE_ACCOUNT_KEY
    key: Annotated[str, Field(min_length=1, max_length=200, json_schema_extra={"writeOnly": True})]


class AccessToken(Model):
    """A short-lived bearer token. It ends with its time, its key or its service account."""

    id: str
    access_token: str
    token_type: str = "Bearer"
    expires_in: int
    expires_at: datetime
    service_account_id: str
    org_id: str
    project_id: str


class PersonalToken(Model):
    """A person's token for scripts; never more than the person may do, or less when narrowed."""

    id: str
    name: str
    permissions: list[Permission] | None
    scope: Scope | None
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    last_used_at: datetime | None


class PersonalTokenCreate(Input):
    """A new personal token, narrowed to some permissions or to one place if said so."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    expires_in_seconds: Annotated[int, Field(ge=60, le=365 * DAY)] = 30 * DAY
    permissions: Annotated[list[Permission] | None, Field(min_length=1, max_length=200)] = None
    scope: Scope | None = None


class PersonalTokenCreated(PersonalToken):
    """A personal token at its birth: the one time its secret is shown."""

    secret: str


class SignIn(Input):
    """Email and password of a local user."""

    email: Annotated[str, Field(max_length=254)]
    password: Annotated[str, Field(max_length=PASSWORD_MAX, json_schema_extra={"writeOnly": True})]


class Session(Model):
    """A browser's session. Its secret lives in a cookie no script can read."""

    id: str
    user_id: str
    created_at: datetime
    expires_at: datetime
    idle_until: datetime
    current: bool = False


class OidcMethod(Model):
    """Signing in through the organisation's provider."""

    name: str
    start_url: str


class AuthMethods(Model):
    """The ways to sign in here."""

    local: bool
    oidc: OidcMethod | None
