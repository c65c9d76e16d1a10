"""Custody: short-lived access to machines, and secrets that only their reader can open.

A certificate is worth nothing without the private key it was made for, which never travels. Secrets
are answered sealed (HPKE) to the public key of the service account that asks.
"""

from datetime import datetime
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network
from typing import Annotated, Final

from pydantic import Field

from gpuaas_contract.common import Input, Model, Text

GRANT_SECONDS_MIN: Final = 60
GRANT_SECONDS_MAX: Final = 900
GRANT_SECONDS: Final = 300
KRL_MEDIA_TYPE: Final = "application/octet-stream"

SshPublicKey = Annotated[
    str,
    Field(
        max_length=4000,
        pattern=r"^(ssh|ecdsa)-[a-z0-9-]+ [A-Za-z0-9+/=]+( [ -~]*)?$",
        description="One line as in id_ed25519.pub",
        examples=["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ… me@laptop"],
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

    reason: Annotated[str, Field(min_length=1, max_length=2000)]
    distrust: Annotated[
        bool,
        Field(description="The current key is lost: certificates it signed end with this, too"),
    ] = False


class AccessGrantCreate(Input):
    """A certificate wanted for the machine of an allocation."""

    public_key: SshPublicKey
    ttl_seconds: Annotated[int, Field(ge=GRANT_SECONDS_MIN, le=GRANT_SECONDS_MAX)] = GRANT_SECONDS
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


class AccessGrant(Model):
    """A certificate that was given out."""

    id: str
    org_id: str
    project_id: str
    allocation_id: str
    serial: int
    principal: str
    ca_key_id: str
    fingerprint: Annotated[str, Field(description="Of the public key it was made for")]
    source_address: list[str]
    force_command: str | None
    pty: bool
    valid_after: datetime
    valid_before: datetime
    revoked_at: datetime | None
    revoke_reason: str
    created_by: str
    correlation_id: str
    created_at: datetime


class AccessGrantIssued(Model):
    """A new certificate, where it leads, and the host keys that must be met there."""

    grant: AccessGrant
    certificate: Annotated[str, Field(description="One line as in id_ed25519-cert.pub")]
    address: str
    known_hosts: Annotated[
        list[str], Field(description="Lines for known_hosts: nothing is trusted on first use")
    ]


class AccessGrantRevoke(Input):
    """End a certificate before its time."""

    reason: Text = ""
