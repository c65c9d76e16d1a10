"""Wire types of identity providers and domains of tenants, and of choosing an account.

Part of the identity room. Pure.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from gpuaas_contract.common import Input, Maker, Model, OrgId, Revision
from gpuaas_contract.identity import PASSWORD_MAX, DisplayName, Identifier

Issuer = Annotated[
    str,
    Field(
        pattern=r"^https?://[!-~]+$",
        max_length=500,
        description="The provider's URL; its description is at"
        " `<issuer>/.well-known/openid-configuration`",
        examples=["https://id.example.org"],
    ),
]
ClientId = Annotated[str, Field(min_length=1, max_length=500)]
Scopes = Annotated[str, Field(pattern=r"^[!-~]+( [!-~]+)*$", max_length=500)]
Claim = Annotated[str, Field(min_length=1, max_length=200)]
ClientSecret = Annotated[
    str, Field(min_length=1, max_length=1000, json_schema_extra={"writeOnly": True})
]


class ProviderState(StrEnum):
    """Whether people can sign in through a tenant's provider."""

    READY = "ready"
    NEEDS_DOMAIN = "needs_domain"
    UNREACHABLE = "unreachable"
    INACTIVE = "inactive"


class ProviderAction(StrEnum):
    """What makes a provider ready."""

    CLAIM_DOMAIN = "claim_domain"
    CHECK = "check"
    ACTIVATE = "activate"


class IdentityProvider(Model):
    """An OpenID Connect provider of one tenant; it opens accounts of that tenant only."""

    id: str
    org_id: OrgId
    name: Annotated[str, Field(description="What the sign-in button calls it")]
    issuer: str
    client_id: Annotated[str, Field(description="Id the provider knows the platform by")]
    has_secret: Annotated[bool, Field(description="False: a public client")]
    scopes: Annotated[str, Field(description="Scopes asked for, separated by spaces")]
    groups_claim: Annotated[str, Field(description="Claim that lists a person's groups")]
    create_users: Annotated[
        bool, Field(description="People of the tenant's domains become users when they sign in")
    ]
    trust_email: Annotated[
        bool, Field(description="Its addresses count as proved though not marked as verified")
    ]
    active: Annotated[bool, Field(description="False: it signs no one in")]
    state: ProviderState
    next_action: Annotated[
        ProviderAction | None, Field(description="What makes it ready; null when it is")
    ]
    problem: Annotated[
        str | None, Field(description="What the last look at it found wrong; null: nothing")
    ]
    checked_at: datetime
    sign_in_path: Annotated[
        str, Field(description="Page of the console its people sign in at; for them alone")
    ]
    redirect_path: Annotated[
        str, Field(description="To be registered at the provider, after the platform's address")
    ]
    revision: Revision
    created_by: Maker
    created_at: datetime


class IdentityProviderCreate(Input):
    """A new provider of a tenant."""

    name: Annotated[DisplayName, Field(description="What the sign-in button calls it")]
    issuer: Issuer
    client_id: Annotated[ClientId, Field(description="Id the provider knows the platform by")]
    client_secret: Annotated[
        ClientSecret | None, Field(description="The client's secret; none for a public client")
    ] = None
    scopes: Annotated[Scopes, Field(description="Scopes asked for, separated by spaces")] = (
        "openid email profile groups"
    )
    groups_claim: Annotated[Claim, Field(description="Claim that lists a person's groups")] = (
        "groups"
    )
    create_users: Annotated[
        bool, Field(description="People of the tenant's domains become users when they sign in")
    ] = True
    trust_email: Annotated[
        bool,
        Field(description="Take its addresses as proved though it does not mark them as verified"),
    ] = False


class IdentityProviderUpdate(Input):
    """What of a provider may change. The issuer may not: another issuer is another provider."""

    name: Annotated[DisplayName | None, Field(description="What the sign-in button calls it")] = (
        None
    )
    client_id: Annotated[
        ClientId | None, Field(description="Id the provider knows the platform by")
    ] = None
    client_secret: Annotated[ClientSecret | None, Field(description="The client's new secret")] = (
        None
    )
    scopes: Annotated[Scopes | None, Field(description="Scopes asked for, separated by spaces")] = (
        None
    )
    groups_claim: Annotated[
        Claim | None, Field(description="Claim that lists a person's groups")
    ] = None
    create_users: Annotated[
        bool | None,
        Field(description="People of the tenant's domains become users when they sign in"),
    ] = None
    trust_email: Annotated[
        bool | None,
        Field(description="Take its addresses as proved though it does not mark them as verified"),
    ] = None
    active: Annotated[bool | None, Field(description="False: it signs no one in from now on")] = (
        None
    )


class DomainState(StrEnum):
    """Whether a domain is the tenant's."""

    PENDING = "pending"
    VERIFIED = "verified"


class DomainProof(StrEnum):
    """What made a domain the tenant's."""

    DNS = "dns"
    OPERATOR = "operator"


class DomainAction(StrEnum):
    """What makes a domain the tenant's."""

    PUBLISH_RECORD = "publish_record"


class TenantDomain(Model):
    """A tenant's claim to a domain of email addresses; it covers no subdomains."""

    id: str
    org_id: OrgId
    domain: str
    state: DomainState
    next_action: Annotated[
        DomainAction | None,
        Field(description="What makes it the tenant's, before it is verified; null when it is"),
    ]
    record_name: Annotated[str, Field(description="Name of the TXT record that proves the claim")]
    record_value: Annotated[str, Field(description="What that record holds")]
    verified_at: datetime | None
    verified_by: Annotated[DomainProof | None, Field(description="By what it was proved")]
    created_by: Maker
    created_at: datetime


class TenantDomainCreate(Input):
    """A claim to a domain."""

    domain: Annotated[
        str,
        Field(
            min_length=3,
            max_length=253,
            description="The part of addresses after the @",
            examples=["example.org"],
        ),
    ]


class DomainApproval(Input):
    """The operator's decision that a domain is a tenant's, without a DNS record."""

    reason: Annotated[
        str, Field(max_length=500, description="Why, in 10 characters or more; the tenant reads it")
    ]


class SignInAccount(Model):
    """One of the accounts a person who proved their address or password may choose."""

    user_id: str
    org_id: Annotated[str | None, Field(description="The account's tenant; null: the platform")]
    org_name: Annotated[str | None, Field(description="What people call that tenant")]
    needs_password: Annotated[
        bool,
        Field(description="Its password must be given, or removed, before the provider opens it"),
    ] = False


class SignInChoice(Model):
    """More than one account fits and no session begins: sign in again with a `user_id`."""

    accounts: list[SignInAccount]


class PendingSignIn(Model):
    """A sign-in at a provider that waits for the person to choose or to prove an account."""

    email: str | None
    provider_name: str
    accounts: list[SignInAccount]
    expires_at: datetime


class PendingSignInComplete(Input):
    """The account to sign in to. Its first sign-in needs its password, or removes it."""

    user_id: Annotated[Identifier, Field(description="One of the accounts that were offered")]
    password: Annotated[
        str | None,
        Field(
            max_length=PASSWORD_MAX,
            json_schema_extra={"writeOnly": True},
            description="The account's password, where it is needed",
        ),
    ] = None
    remove_password: Annotated[
        bool,
        Field(
            description="Instead: remove the password, and end every session and token of the"
            " account"
        ),
    ] = False


class OidcMethod(Model):
    """Signing in through the organisation's provider."""

    name: str
    start_url: Annotated[str, Field(description="Where the browser goes to begin")]


class AuthMethods(Model):
    """The ways to sign in here."""

    local: Annotated[bool, Field(description="With an email address and a password")]
    oidc: Annotated[
        OidcMethod | None,
        Field(description="Through the organisation's provider; null where none is set up"),
    ]
