"""Wire types of the identity room: the tenancy tree, who there is, and how one proves it.

What people and automation may do (roles, bindings) is in `access.py`. Pure.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import Field

from gpuaas_contract import headers
from gpuaas_contract.common import Input, Maker, Model, Name, OrgId, ProjectId, Revision, Scope
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
DEVICE_COOKIE: Final = "__Host-gpuaas_device"
LOOPBACK_DEVICE_COOKIE: Final = "gpuaas_device"
LOOPBACK_OIDC_COOKIE: Final = "gpuaas_oidc"
PENDING_COOKIE: Final = "__Host-gpuaas_pending"
LOOPBACK_PENDING_COOKIE: Final = "gpuaas_pending"
PASSWORD_MIN: Final = 12
PASSWORD_MAX: Final = 256
DAY: Final = 86_400
TOKEN_MAX: Final = 730 * DAY

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
    active: Annotated[bool, Field(description="False: none of its people are let in")]
    second_factor_required: Annotated[
        bool, Field(description="Its people need a second factor beside a password")
    ]
    revision: Revision
    created_at: datetime


class TenantCreate(Input):
    """A new tenant, with its first administrator if named."""

    name: Name
    display_name: Annotated[
        DisplayName | None, Field(description="What people see; the name when left out")
    ] = None
    admin_user_id: Annotated[
        Identifier | None,
        Field(description="Who becomes its first tenant_admin; may be the caller"),
    ] = None


class TenantUpdate(Input):
    """What of a tenant may change. An inactive tenant lets none of its people in."""

    display_name: Annotated[
        DisplayName | None, Field(description="What people see instead of the name")
    ] = None
    active: Annotated[bool | None, Field(description="False: none of its people are let in")] = None
    second_factor_required: Annotated[
        bool | None,
        Field(
            description="True: people managed by the tenant or with a role in it who sign in with"
            " a password can do nothing until they have set up a second factor"
        ),
    ] = None


class Project(Model):
    """A boundary inside a tenant: what runs, who works on it, what it costs."""

    id: str
    org_id: OrgId
    name: str
    display_name: str
    active: Annotated[bool, Field(description="False: none of its members are let in")]
    revision: Revision
    created_at: datetime


class ProjectCreate(Input):
    """A new project of a tenant."""

    name: Name
    display_name: Annotated[
        DisplayName | None, Field(description="What people see; the name when left out")
    ] = None


class ProjectUpdate(Input):
    """What of a project may change. An inactive project admits none of its members."""

    display_name: Annotated[
        DisplayName | None, Field(description="What people see instead of the name")
    ] = None
    active: Annotated[bool | None, Field(description="False: none of its members are let in")] = (
        None
    )


class User(Model):
    """A person. `org_id` is the tenant that manages the account; absent: the platform does."""

    id: str
    number: Annotated[int, Field(description="Small, stable, never given to anybody else")]
    org_id: Annotated[
        str | None, Field(description="The tenant that manages the account; null: the platform")
    ]
    email: str
    display_name: str
    active: Annotated[bool, Field(description="False: they are not let in")]
    has_password: Annotated[
        bool, Field(description="False: they sign in through the organisation's provider")
    ]
    revision: Revision
    created_at: datetime
    last_sign_in_at: datetime | None


class Person(Model):
    """Somebody with a role in a project, or in its tenant, as apps make accounts for them.

    `posix_name` and `posix_uid` are given once in the life of an installation and are nobody
    else's after: they hold when the email address changes and when the person comes back. Roles and
    permissions are shown to the person, to callers who may read role bindings, and to apps'
    controllers.
    """

    user_id: str
    email: str
    display_name: str
    posix_name: Annotated[str, Field(description="Their name on machines")]
    posix_uid: Annotated[int, Field(description="Their number on machines")]
    active: Annotated[bool, Field(description="Whether they are let in; if not, nor by apps")]
    roles: Annotated[
        list[str] | None,
        Field(description="Names of roles held in the project; null: not shown to the caller"),
    ]
    permissions: Annotated[
        list[Permission] | None,
        Field(description="What those roles allow in the project; null: not shown to the caller"),
    ]


class UserCreate(Input):
    """A new person. Without a password they sign in through the organisation's provider."""

    email: Annotated[
        Email, Field(description="They sign in with it; no other account of the tenant has it")
    ]
    display_name: Annotated[
        DisplayName | None, Field(description="Their name; what stands before the @ when left out")
    ] = None
    password: Annotated[
        Password | None,
        Field(description="Left out: they sign in through the organisation's provider"),
    ] = None


class UserUpdate(Input):
    """What of a person may change."""

    email: Annotated[
        Email | None,
        Field(description="They sign in with it; no other account of the tenant has it"),
    ] = None
    display_name: Annotated[
        DisplayName | None, Field(description="Their name, as others see it")
    ] = None
    active: Annotated[
        bool | None, Field(description="False: they are let in no more, from now on")
    ] = None


class PasswordSet(Input):
    """A new password; one's own needs the present one too."""

    password: Annotated[Password, Field(description="The new one")]
    current_password: Annotated[
        str | None,
        Field(
            max_length=PASSWORD_MAX,
            json_schema_extra={"writeOnly": True},
            description="The present one; needed to change one's own",
        ),
    ] = None
    end_tokens: Annotated[
        bool,
        Field(
            description="Personal tokens end too. False keeps them, and is refused when the"
            " password is somebody else's"
        ),
    ] = True


class ServiceAccount(Model):
    """An identity for automation. It acts in its own project only."""

    id: str
    org_id: OrgId
    project_id: ProjectId
    name: str
    display_name: str
    description: str
    public_key: Annotated[
        str | None,
        Field(description="Secrets for it are sealed to this key; null: it can read none"),
    ]
    roles: Annotated[list[str], Field(description="Roles it holds in its project")]
    active: bool
    revision: Revision
    created_at: datetime


class ServiceAccountCreate(Input):
    """A new service account of a project, with the roles it shall hold there."""

    name: Name
    display_name: Annotated[
        DisplayName | None, Field(description="What people see; the name when left out")
    ] = None
    description: Annotated[Description, Field(description="What it is for")] = ""
    public_key: Annotated[
        PublicKey | None,
        Field(description="X25519 (32 bytes, base64): secrets are sealed to it (HPKE)"),
    ] = None
    roles: Annotated[
        list[Identifier],
        Field(max_length=16, description="Built-in role names or ids of custom roles"),
    ] = []


class ServiceAccountUpdate(Input):
    """What of a service account may change."""

    display_name: Annotated[
        DisplayName | None, Field(description="What people see instead of the name")
    ] = None
    description: Annotated[Description | None, Field(description="What it is for")] = None
    active: Annotated[bool | None, Field(description="False: it loses its access at once")] = None


class PublicKeySet(Input):
    """The key that secrets for a service account are sealed to."""

    public_key: PublicKey


class ServiceAccountKeyStatus(StrEnum):
    """Whether a key can be exchanged for tokens."""

    ACTIVE = "active"
    EXPIRED = "expired"
    REVOKED = "revoked"


class ServiceAccountKey(Model):
    """A long-lived key of a service account; its secret is never shown again."""

    id: str
    service_account_id: str
    name: str
    status: ServiceAccountKeyStatus
    predecessor_id: Annotated[str | None, Field(description="The key it replaced")]
    created_by: Maker
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


class ServiceAccountKeyCreate(Input):
    """A new key. Naming a predecessor rotates: the old key works on for `overlap_seconds`."""

    name: Annotated[
        str, Field(min_length=1, max_length=100, description="Tells its keys apart")
    ] = "key"
    expires_in_seconds: Annotated[
        int, Field(ge=60, le=730 * DAY, description="How long it works; a year unless said")
    ] = 365 * DAY
    predecessor_id: Annotated[Identifier | None, Field(description="The key it replaces")] = None
    overlap_seconds: Annotated[
        int,
        Field(
            ge=0, le=30 * DAY, description="How long the replaced key works on; a day unless said"
        ),
    ] = DAY


class ServiceAccountKeyCreated(ServiceAccountKey):
    """A key at its birth: the one time its secret is shown."""

    secret: Annotated[str, Field(examples=["gpk_01h…_…"])]


class TokenGrantType(StrEnum):
    """What is exchanged for a token."""

    SERVICE_ACCOUNT_KEY = "service_account_key"


class TokenExchange(Input):
    """A service account's key in exchange for a short-lived token."""

    grant_type: Annotated[TokenGrantType, Field(description="What is exchanged")] = (
        TokenGrantType.SERVICE_ACCOUNT_KEY
    )
    key: Annotated[
        str,
        Field(
            min_length=1,
            max_length=200,
            json_schema_extra={"writeOnly": True},
            description="The key's secret, shown when it was made",
        ),
    ]


class AccessToken(Model):
    """A short-lived bearer token. It ends with its time, its key or its service account."""

    id: str
    access_token: str
    token_type: str = "Bearer"
    expires_in: Annotated[int, Field(description="Seconds from now")]
    expires_at: datetime
    service_account_id: str
    org_id: OrgId
    project_id: ProjectId


class PersonalToken(Model):
    """A person's token for scripts; never more than the person may do, or less when narrowed."""

    id: str
    name: str
    permissions: Annotated[
        list[Permission] | None, Field(description="Only these; null: all of its owner's")
    ]
    scope: Annotated[Scope | None, Field(description="Only there; null: everywhere its owner may")]
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    last_used_at: Annotated[datetime | None, Field(description="Exact to a minute")]


class PersonalTokenCreate(Input):
    """A new personal token, narrowed to some permissions or to one place if said so."""

    name: Annotated[str, Field(min_length=1, max_length=100, description="Tells your tokens apart")]
    expires_in_seconds: Annotated[
        int | None,
        Field(
            ge=60,
            le=TOKEN_MAX,
            description="How long it works; the platform's settings say the longest, and what"
            " holds when left out",
        ),
    ] = None
    permissions: Annotated[
        list[Permission] | None,
        Field(min_length=1, max_length=200, description="Only these; all of yours when left out"),
    ] = None
    scope: Annotated[
        Scope | None, Field(description="Only there; everywhere you may when left out")
    ] = None


class PersonalTokenCreated(PersonalToken):
    """A personal token at its birth: the one time its secret is shown."""

    secret: str


class SignIn(Input):
    """Email and password of a local user."""

    email: Annotated[
        str,
        Field(
            max_length=254, description="As the account has it; upper and lower case are the same"
        ),
    ]
    password: Annotated[
        str,
        Field(
            max_length=PASSWORD_MAX,
            json_schema_extra={"writeOnly": True},
            description="The account's password",
        ),
    ]
    code: Annotated[
        str | None,
        Field(
            min_length=6,
            max_length=40,
            json_schema_extra={"writeOnly": True},
            description="Of the second factor, where the account has one, or a recovery code",
        ),
    ] = None
    passkey: Annotated[
        dict[str, Any] | None,
        Field(description="What the browser signed with a passkey, in the place of a code"),
    ] = None
    user_id: Annotated[
        Identifier | None,
        Field(description="Which account, where the answer before offered more than one"),
    ] = None
