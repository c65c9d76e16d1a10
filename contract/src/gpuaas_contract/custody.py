"""Custody: short-lived access to machines, and secrets that only their reader can open.

A certificate is worth nothing without the private key it was made for, which never travels. Secrets
are answered sealed (HPKE) to the public key of the service account that asks.
"""

from datetime import datetime
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network
from typing import Annotated, Final

from pydantic import Field, field_validator

from gpuaas_contract.common import CorrelationId, Input, Maker, Model, Name, OrgId, ProjectId, Text
from gpuaas_contract.errors import ErrorCode

GRANT_SECONDS_MIN: Final = 60
GRANT_SECONDS_MAX: Final = 900
GRANT_SECONDS: Final = 300
GRANTS_MAX: Final = 64
KRL_MEDIA_TYPE: Final = "application/octet-stream"
SEALING_SUITE: Final = "DHKEM-X25519-HKDF-SHA256, HKDF-SHA256, AES-256-GCM"

SshPublicKey = Annotated[
    str,
    Field(
        max_length=4000,
        pattern=r"^(ssh|ecdsa)-[a-z0-9-]+ [A-Za-z0-9+/=]+( [ -~]*)?$",
        description="One line as in id_ed25519.pub",
        examples=["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ… me@laptop"],
    ),
]

PrivateKey = Annotated[
    str,
    Field(
        min_length=1,
        max_length=32_768,
        json_schema_extra={"writeOnly": True},
        description="As in id_ed25519, without a passphrase",
    ),
]


class CaKeyStatus(StrEnum):
    """Where a key of the authority stands; hosts trust the first three."""

    UPCOMING = "upcoming"
    CURRENT = "current"
    PREVIOUS = "previous"
    RETIRED = "retired"


class CaKey(Model):
    """A key of the SSH user authority."""

    id: str
    status: CaKeyStatus
    public_key: Annotated[str, Field(description="A line for sshd's TrustedUserCAKeys")]
    fingerprint: str
    created_at: datetime


class SshCa(Model):
    """Every key a host has to trust: the one that signs, its successor and its predecessor."""

    keys: list[CaKey]
    max_ttl_seconds: Annotated[int, Field(description="No certificate lives longer")] = (
        GRANT_SECONDS_MAX
    )


class CaRotate(Input):
    """Let the upcoming key sign from now on."""

    reason: Annotated[
        str, Field(min_length=1, max_length=2000, description="Why; kept in the audit log")
    ]
    distrust: Annotated[
        bool,
        Field(description="The current key is lost: certificates it signed end with this, too"),
    ] = False


class GrantLogin(StrEnum):
    """Whom a certificate lets in.

    `operator`: whoever runs the machine, as root; its principal is the allocation. `person`: the
    caller as themselves, where an app gave them an account; the principal adds their id.
    """

    OPERATOR = "operator"
    PERSON = "person"


class AccessGrantCreate(Input):
    """A certificate wanted for the machine of an allocation."""

    public_key: SshPublicKey
    ttl_seconds: Annotated[
        int,
        Field(
            ge=GRANT_SECONDS_MIN, le=GRANT_SECONDS_MAX, description="How long it opens the machine"
        ),
    ] = GRANT_SECONDS
    source_address: Annotated[
        list[IPv4Network | IPv6Network],
        Field(max_length=16, description="Networks it can be used from; everywhere if empty"),
    ] = []
    force_command: Annotated[
        str | None,
        Field(
            max_length=4000,
            pattern=r"^[^\x00-\x1f\x7f]+$",
            description="The only thing that can be run",
        ),
    ] = None
    pty: Annotated[bool, Field(description="Whether a terminal may be opened, for people")] = False
    login: Annotated[GrantLogin, Field(description="Whom it lets in, and as what")] = (
        GrantLogin.OPERATOR
    )


class AccessGrantsCreate(AccessGrantCreate):
    """A certificate each for the machines of several allocations, for one key."""

    allocation_ids: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=64)]],
        Field(
            min_length=1,
            max_length=GRANTS_MAX,
            json_schema_extra={"uniqueItems": True},
            description="Whose machines; each gets a certificate of its own",
        ),
    ]

    @field_validator("allocation_ids")
    @classmethod
    def _once(cls, given: list[str]) -> list[str]:
        if len(set(given)) != len(given):
            raise ValueError("each allocation can be named once")
        return given


class AccessGrant(Model):
    """A certificate that was given out."""

    id: str
    org_id: OrgId
    project_id: ProjectId
    allocation_id: str
    serial: Annotated[int, Field(description="Of the certificate; what revocation lists name")]
    principal: Annotated[str, Field(description="What the machine's sshd compares")]
    login: GrantLogin
    username: Annotated[str, Field(description="As whom to log in")]
    ca_key_id: Annotated[str, Field(description="The authority's key that signed it")]
    fingerprint: Annotated[str, Field(description="Of the public key it was made for")]
    source_address: list[str]
    force_command: str | None
    pty: bool
    valid_after: datetime
    valid_before: datetime
    revoked_at: datetime | None
    revoke_reason: str
    created_by: Maker
    correlation_id: CorrelationId
    created_at: datetime


class AccessGrantIssued(Model):
    """A new certificate, where it leads, and the host keys that must be met there."""

    grant: AccessGrant
    certificate: Annotated[str, Field(description="One line as in id_ed25519-cert.pub")]
    address: str
    known_hosts: Annotated[
        list[str], Field(description="Lines for known_hosts: nothing is trusted on first use")
    ]


class AccessGrantRefused(Model):
    """An allocation whose machine cannot be reached now, and why; the others got theirs."""

    allocation_id: str
    code: ErrorCode
    detail: str


class AccessGrantsIssued(Model):
    """New certificates, and what got none."""

    issued: list[AccessGrantIssued]
    refused: list[AccessGrantRefused]


class AccessGrantRevoke(Input):
    """End a certificate before its time."""

    reason: Annotated[Text, Field(description="Why; kept in the audit log")] = ""


class CustodyStatus(StrEnum):
    """Whether something kept in custody can still be delivered."""

    ACTIVE = "active"
    EXPIRED = "expired"
    REVOKED = "revoked"


class Sealed(Model):
    """A secret that only the holder of the reader's private key can open (RFC 9180, base mode)."""

    suite: Annotated[str, Field(description="KEM, KDF and AEAD")] = SEALING_SUITE
    info: Annotated[str, Field(description="What it is bound to: pass it when opening")]
    ciphertext: Annotated[str, Field(description="Encapsulated key and ciphertext, base64")]


class AccessCredentialCreate(Input):
    """A private key for hosts that cannot trust the authority; it is never shown again."""

    name: Name
    username: Annotated[
        str, Field(pattern=r"^[a-z_][a-z0-9_-]{0,31}$", description="As whom the key logs in")
    ]
    private_key: PrivateKey
    deliveries_max: Annotated[
        int, Field(ge=1, le=100_000, description="How often it may be given out")
    ] = 1000
    expires_in_seconds: Annotated[
        int,
        Field(
            ge=60,
            le=366 * 86_400,
            description="It ends by itself after this long; 90 days unless said",
        ),
    ] = 90 * 86_400


class AccessCredentialRotate(Input):
    """The key that takes over; the one before can be delivered for a while longer."""

    private_key: PrivateKey
    overlap_seconds: Annotated[
        int,
        Field(ge=0, le=7 * 86_400, description="How long the key before can still be delivered"),
    ] = 0


class AccessCredential(Model):
    """A private key in custody, without the key."""

    id: str
    org_id: OrgId
    project_id: ProjectId
    name: str
    username: str
    public_key: str
    fingerprint: str
    status: CustodyStatus
    predecessor_id: Annotated[str | None, Field(description="The key it took over from")]
    deliveries: Annotated[int, Field(description="How often it was given out")]
    deliveries_max: Annotated[int, Field(description="How often it may be given out")]
    expires_at: datetime
    ended_reason: Annotated[str, Field(description="Why it ended")]
    created_by: Maker
    correlation_id: CorrelationId
    created_at: datetime


class AccessCredentialDelivered(Model):
    """A private key, sealed to the service account that asked."""

    credential_id: str
    username: str
    sealed: Sealed


class SecretEncoding(StrEnum):
    """How random bytes are written down."""

    HEX = "hex"
    BASE64 = "base64"
    BASE64URL = "base64url"
    BINARY = "binary"


class SecretRandom(Input):
    """A value nobody has seen, made by the platform."""

    length: Annotated[int, Field(ge=16, le=4096, description="Random bytes")] = 32
    encoding: Annotated[
        SecretEncoding, Field(description="How the random bytes are written down")
    ] = SecretEncoding.BASE64URL
    template: Annotated[
        str,
        Field(max_length=16_384, description="Text around it; `{secret}` stands for the value"),
    ] = "{secret}"


class SecretSource(Input):
    """Where a value comes from: given here, once, or made at random."""

    value: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=65_536,
            json_schema_extra={"writeOnly": True},
            description="The value itself; never shown again. Or ask for `random`",
        ),
    ] = None
    random: Annotated[
        SecretRandom | None, Field(description="A value made by the platform. Or give `value`")
    ] = None


class RuntimeSecretCreate(SecretSource):
    """A secret of a project, for those who run things in it."""

    name: Name
    lease_seconds: Annotated[
        int | None, Field(ge=60, le=366 * 86_400, description="It ends by itself after this long")
    ] = None


class RuntimeSecretRotate(SecretSource):
    """The next version; the ones before cannot be delivered any more."""

    lease_seconds: Annotated[
        int | None,
        Field(
            ge=60,
            le=366 * 86_400,
            description="It ends by itself after this long; never when left out",
        ),
    ] = None


class RuntimeSecret(Model):
    """A secret of a project, without its value."""

    id: str
    org_id: OrgId
    project_id: ProjectId
    name: str
    status: CustodyStatus
    version: Annotated[int, Field(description="Grows with every rotation")]
    expires_at: Annotated[datetime | None, Field(description="When it ends by itself; null: never")]
    ended_reason: Annotated[str, Field(description="Why it ended")]
    created_by: Maker
    correlation_id: CorrelationId
    created_at: datetime


class RuntimeSecretDeliver(Input):
    """A value wanted, for a task; each reader gets each version once per task."""

    task: Annotated[str, Field(max_length=128, description="What it is for")] = ""


class RuntimeSecretDelivered(Model):
    """A value, sealed to the service account that asked."""

    secret_id: str
    version: int
    sealed: Sealed


class CustodyRevoke(Input):
    """End something kept in custody; its value is deleted."""

    reason: Annotated[Text, Field(description="Why; kept in the audit log")] = ""
