"""Artifacts: what apps install, from which source, how far it is trusted, how a machine gets it.

A source is shared by the platform or belongs to a tenant. An artifact never changes: its digest is
part of what it is. Machines fetch from the platform, by a URL for one artifact, one allocation and
some minutes.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from gpuaas_contract.common import (
    CorrelationId,
    Input,
    Maker,
    Model,
    Name,
    OrgId,
    ProjectId,
    Revision,
    Text,
)
from gpuaas_contract.policy import Decision
from gpuaas_contract.states import ArtifactStatus, ArtifactTrust

PART_BYTES_MIN: Final = 5 * 1024 * 1024  # what S3 takes at least; the last part may be smaller
PART_BYTES_MAX: Final = 16 * 1024 * 1024
PARTS_MAX: Final = 10_000
MISSING_MAX: Final = 1000
DELIVERY_SECONDS_MIN: Final = 60
DELIVERY_SECONDS_MAX: Final = 3600
DELIVERY_SECONDS: Final = 900
CONTENT_MEDIA_TYPE: Final = "application/octet-stream"
CONTENT_DIGEST_HEADER: Final = "Content-Digest"  # RFC 9530: `sha-256=:<base64>:`
ANY_PLATFORM: Final = "any"
OCI_ARCHIVE_MEDIA_TYPE: Final = "application/vnd.oci.image.layout.v1.tar"

ArtifactName = Annotated[
    str,
    Field(
        pattern=r"^[a-z0-9]+([._/+-]+[a-z0-9]+)*$",
        max_length=200,
        description="Lower-case words with `.`, `_`, `/`, `+` or `-` between them",
        examples=["tools/runtime"],
    ),
]
ArtifactVersion = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._+~:-]*$",
        max_length=100,
        description="Compared for equality only",
        examples=["22.05.8-4+deb12u3"],
    ),
]
ArtifactPlatform = Annotated[
    str,
    Field(
        pattern=r"^(any|[a-z0-9][a-z0-9._-]*/[a-z0-9][a-z0-9_]*)$",
        max_length=100,
        description="Distribution and architecture, or `any`",
        examples=["debian-12/amd64"],
    ),
]
Digest = Annotated[
    str, Field(pattern=r"^sha256:[0-9a-f]{64}$", examples=["sha256:" + "0123456789abcdef" * 4])
]
MediaType = Annotated[
    str, Field(pattern=r"^[a-z0-9.+-]+/[A-Za-z0-9.+-]+$", max_length=200, examples=["text/plain"])
]
Signature = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9+/]+={0,2}$",
        max_length=400,
        description="ECDSA P-256 over SHA-256, DER, base64: as `cosign sign-blob` writes it",
    ),
]
PublicKey = Annotated[
    str,
    Field(
        max_length=2000,
        pattern=r"^\s*-----BEGIN PUBLIC KEY-----[A-Za-z0-9+/=\s]+-----END PUBLIC KEY-----\s*$",
        description="ECDSA P-256 public key in PEM, as in cosign.pub",
    ),
]
OciAddress = Annotated[
    str,
    Field(
        pattern=r"^oci://[a-z0-9.-]+(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+$",
        max_length=290,
        description="Registry and repository",
        examples=["oci://registry.example.com/team/tools"],
    ),
]
Reason = Annotated[str, Field(min_length=1, max_length=2000)]


class ArtifactKind(StrEnum):
    """Where a source's content comes from: uploaded here, or pulled from a registry."""

    BLOB = "blob"
    OCI = "oci"


class ArtifactSourceCreate(Input):
    """A new source. An OCI source has an address; a blob source is given one by the platform."""

    name: Name
    kind: Annotated[
        ArtifactKind,
        Field(description="Content is uploaded (`blob`) or pulled from a registry (`oci`)"),
    ] = ArtifactKind.BLOB
    description: Annotated[Text, Field(description="What it holds")] = ""
    address: Annotated[
        OciAddress | None, Field(description="Registry and repository; of an OCI source alone")
    ] = None
    plain_http: Annotated[bool, Field(description="The registry does not speak TLS")] = False
    username: Annotated[
        str | None, Field(min_length=1, max_length=200, description="To sign in at the registry")
    ] = None
    password: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=4000,
            json_schema_extra={"writeOnly": True},
            description="To sign in at the registry; never shown again",
        ),
    ] = None
    signature_required: Annotated[
        bool, Field(description="Only what is verified is resolved and delivered")
    ] = False
    project_publish: Annotated[
        bool, Field(description="Whoever may publish in a project of the tenant may publish here")
    ] = False


class ArtifactSourceUpdate(Input):
    """What is to change; what is left out stays."""

    description: Annotated[Text | None, Field(description="What it holds")] = None
    signature_required: Annotated[
        bool | None, Field(description="Only what is verified is resolved and delivered")
    ] = None
    project_publish: Annotated[
        bool | None, Field(description="Whoever may publish in a project may publish here")
    ] = None
    enabled: Annotated[
        bool | None, Field(description="Off: nothing is published, resolved or delivered")
    ] = None
    username: Annotated[
        str | None, Field(min_length=1, max_length=200, description="To sign in at the registry")
    ] = None
    password: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=4000,
            json_schema_extra={"writeOnly": True},
            description="To sign in at the registry; never shown again",
        ),
    ] = None


class ArtifactSource(Model):
    """Where artifacts come from: shared by the platform (no `org_id`), or one tenant's."""

    id: str
    org_id: Annotated[str | None, Field(description="Null: shared by the platform")]
    name: str
    kind: ArtifactKind
    address: Annotated[
        str,
        Field(
            description="What policies name it by (`artifact_sources`)",
            examples=["blob://platform/base", "blob://tenant/acme/tools"],
        ),
    ]
    description: str
    plain_http: bool
    username: str | None
    signature_required: bool
    project_publish: bool
    enabled: Annotated[bool, Field(description="Off: nothing is published, resolved or delivered")]
    bytes_used: Annotated[int, Field(description="What is stored or reserved by uploads")]
    revision: Revision
    created_by: Maker
    correlation_id: CorrelationId
    created_at: datetime


class ArtifactKeyStatus(StrEnum):
    """Whether signatures of a key count."""

    ACTIVE = "active"
    REVOKED = "revoked"


class ArtifactKeyCreate(Input):
    """A key whose signatures are trusted in this source."""

    name: Name
    public_key: PublicKey


class ArtifactKey(Model):
    """A key whose signatures are, or were, trusted in a source."""

    id: str
    source_id: str
    org_id: str | None
    name: str
    public_key: str
    fingerprint: Annotated[str, Field(description="SHA-256 of the key in DER, hexadecimal")]
    status: ArtifactKeyStatus
    revoke_reason: str
    created_by: Maker
    correlation_id: CorrelationId
    created_at: datetime


class ArtifactKeyRevoke(Input):
    """Trust a key no longer."""

    reason: Annotated[Reason, Field(description="Why; shown at the key")]
    distrust: Annotated[
        bool,
        Field(description="What it vouched for is revoked too; else it is unverified again"),
    ] = True


class ArtifactCreate(Input):
    """The intent to publish: what it will be. Content follows (blob) or is pulled (OCI)."""

    name: ArtifactName
    version: ArtifactVersion
    platform: ArtifactPlatform = ANY_PLATFORM
    description: Annotated[Text, Field(description="What it is")] = ""
    media_type: Annotated[MediaType, Field(description="Of the file")] = CONTENT_MEDIA_TYPE
    digest: Annotated[
        Digest, Field(description="Of the file; in an OCI source, of the manifest to pull")
    ]
    size: Annotated[
        int | None, Field(ge=1, description="Of the file in bytes; left out in an OCI source")
    ] = None
    part_size: Annotated[
        int,
        Field(
            ge=PART_BYTES_MIN,
            le=PART_BYTES_MAX,
            description="Bytes of each part of the upload; the last may be smaller",
        ),
    ] = PART_BYTES_MAX
    signature: Annotated[
        Signature | None, Field(description="Over the file, or over the manifest; can follow")
    ] = None


class Artifact(Model):
    """One immutable thing that can be installed."""

    id: str
    org_id: str | None
    source_id: str
    source_address: Annotated[str, Field(description="What policies name its source by")]
    kind: ArtifactKind
    name: str
    version: str
    platform: str
    description: str
    media_type: str
    digest: Annotated[
        str | None, Field(description="Of what is delivered; absent until an OCI pull has ended")
    ]
    size: int | None
    reference: Annotated[str | None, Field(description="Digest of the OCI manifest it is made of")]
    status: ArtifactStatus
    status_reason: str
    trust: Annotated[ArtifactTrust, Field(description="Whether a trusted key has vouched for it")]
    trust_reason: str
    key_id: Annotated[str | None, Field(description="The trusted key that verified it")]
    channels: Annotated[
        list[str], Field(description="What it can be asked for by, instead of its version")
    ]
    expires_at: Annotated[
        datetime | None, Field(description="An intent whose content has not come by then fails")
    ]
    revision: Revision
    created_by: Maker
    correlation_id: CorrelationId
    created_at: datetime
    published_at: datetime | None


class ArtifactUpload(Model):
    """How far an upload is: what to send next, also after a break."""

    artifact_id: str
    status: ArtifactStatus
    size: int
    part_size: int
    parts_total: int
    parts_received: int
    missing: Annotated[
        list[int], Field(description=f"Numbers from 1; the first {MISSING_MAX} of them")
    ]


class ArtifactPart(Model):
    """A part that has arrived, was verified and is kept."""

    artifact_id: str
    number: int
    size: int
    digest: str
    received_at: datetime


class ArtifactSign(Input):
    """A signature for an artifact, verified at once against the source's trusted keys."""

    signature: Signature


class ArtifactPromote(Input):
    """Let a channel point at an artifact: whoever asks for the channel gets it."""

    channel: Annotated[
        Name,
        Field(examples=["stable"], description="What it is asked for by, instead of a version"),
    ] = "stable"


class ArtifactDeprecate(Input):
    """Still there, but not for anything new."""

    message: Annotated[Reason, Field(description="Why, and what to take instead")]


class ArtifactRetire(Input):
    """The end: the content is deleted, its record stays."""

    reason: Annotated[Reason, Field(description="Why; shown at the artifact")]


class ArtifactRevoke(Input):
    """It must not be used anywhere: distrusted and retired at once."""

    reason: Annotated[Reason, Field(description="Why; shown at the artifact")]


class ArtifactConsidered(Model):
    """An artifact that has the name and fits, and why it was taken or not."""

    artifact_id: str
    source_address: str
    version: str
    platform: str
    status: ArtifactStatus
    trust: ArtifactTrust
    chosen: bool
    reason: str


class ArtifactResolution(Model):
    """What a project gets for a name, decided by its effective policy."""

    artifact: Artifact
    decision: Annotated[Decision, Field(description="Why policy allows the source")]
    warnings: list[str]
    considered: Annotated[
        list[ArtifactConsidered],
        Field(description="What has the name, and why each was taken or not"),
    ]


class ArtifactDeliveryCreate(Input):
    """A URL wanted by which the machine of an allocation fetches one artifact."""

    artifact_id: Annotated[str, Field(max_length=64, description="What is to be fetched")]
    purpose: Annotated[
        str, Field(max_length=128, description="The task or step it is for", examples=["install"])
    ] = ""
    ttl_seconds: Annotated[
        int,
        Field(
            ge=DELIVERY_SECONDS_MIN,
            le=DELIVERY_SECONDS_MAX,
            description="How long the URL works; 15 minutes unless said",
        ),
    ] = DELIVERY_SECONDS


class ArtifactDelivery(Model):
    """That a machine may fetch, or did fetch, an artifact; without what opens it."""

    id: str
    org_id: OrgId
    project_id: ProjectId
    allocation_id: str
    artifact_id: str
    name: str
    version: str
    digest: str
    size: int
    purpose: str
    expires_at: datetime
    revoked_at: datetime | None
    fetches: Annotated[int, Field(description="Requests; a fetch that resumes is one more")]
    last_fetch_at: datetime | None
    last_fetch_from: Annotated[str | None, Field(description="Address it was asked from")]
    finished_at: Annotated[datetime | None, Field(description="When the last byte was first sent")]
    created_by: Maker
    correlation_id: CorrelationId
    created_at: datetime


class ArtifactDeliveryIssued(Model):
    """A URL that opens one artifact for a while. Whoever has it can fetch: keep it off disks."""

    delivery: ArtifactDelivery
    path: Annotated[str, Field(description="To be asked of whatever address the machine reaches")]
    url: Annotated[str, Field(description="The same at the platform's public address")]
