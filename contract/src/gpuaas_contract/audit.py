"""Audit: who did what to what, as a chain of hashes that shows any later change.

`hash` of entry n is SHA-256 over the hash of entry n-1 (32 zero bytes before the first) followed by
the canonical JSON of the entry: its fields as below, keys sorted, no white space, characters
unescaped, UTF-8, times as `2026-01-01T00:00:00.000000Z`. Anybody can recompute it. Pure.
"""

import hashlib
import json
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any, Final, Protocol

from pydantic import AwareDatetime, Field

from gpuaas_contract.common import MAX_PAGE, Input, Json, Model

GENESIS: Final = bytes(32)
NDJSON_MEDIA_TYPE: Final = "application/x-ndjson"
ENTRY_FIELDS: Final = (
    "id", "at", "action", "outcome", "actor_kind", "actor_id", "org_id", "project_id",
    "target_kind", "target_id", "correlation_id", "source", "reason", "before_digest",
    "after_digest", "detail",
)  # fmt: skip


class Outcome(StrEnum):
    """How a privileged mutation ended."""

    ALLOWED = "allowed"
    DENIED = "denied"
    FAILED = "failed"


class AuditEntry(Model):
    """One privileged mutation, allowed or not. The digests tell that something changed, not how."""

    id: str
    at: datetime
    action: Annotated[str, Field(description="What was done or tried: room, noun and verb")]
    outcome: Outcome
    actor_kind: str
    actor_id: str
    org_id: str | None
    project_id: str | None
    target_kind: str
    target_id: str
    correlation_id: str
    source: Annotated[str, Field(description="Address the request came from")]
    reason: str
    before_digest: Annotated[
        str | None, Field(description="SHA-256 of the thing before; null where there was none")
    ]
    after_digest: Annotated[
        str | None, Field(description="SHA-256 of the thing after; null where there is none")
    ]
    detail: Json


class AuditRecord(AuditEntry):
    """An entry with its place in the chain; absent for the moment before it is chained."""

    seq: Annotated[int | None, Field(description="Its place in the chain")] = None
    hash: Annotated[str | None, Field(description="Over this entry and the hash before it")] = None


class ChainedEntry(Model):
    """A line of an export: it can be checked by itself, and against its neighbours."""

    seq: int
    prev_hash: str
    hash: str
    entry: AuditEntry


Id = Annotated[str, Field(min_length=1, max_length=128)]


class AuditFilter(Input):
    """Which entries are wanted; every field that is given must match."""

    org_id: Annotated[Id | None, Field(description="Only of this tenant")] = None
    project_id: Annotated[Id | None, Field(description="Only of this project")] = None
    actor_id: Annotated[
        Id | None, Field(description="Only by this user, service account or node")
    ] = None
    action: Annotated[
        str | None,
        Field(max_length=200, description="An action, or its first words", examples=["identity"]),
    ] = None
    outcome: Annotated[Outcome | None, Field(description="Only with this outcome")] = None
    target_kind: Annotated[
        Id | None, Field(description="Only about this kind of thing, e.g. `allocation`")
    ] = None
    target_id: Annotated[
        str | None, Field(min_length=1, max_length=500, description="Only about this thing")
    ] = None
    correlation_id: Annotated[Id | None, Field(description="Only under this correlation id")] = None
    since: Annotated[AwareDatetime | None, Field(description="Not before")] = None
    until: Annotated[AwareDatetime | None, Field(description="Before")] = None


class AuditListQuery(AuditFilter):
    """The query of the list of entries, newest first."""

    cursor: Annotated[
        str | None, Field(max_length=500, description="`next_cursor` of the page before")
    ] = None
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="Items per page at most")] = 100


class ChainHead(Model):
    """How far the chain reached at a moment, signed with a key the database does not hold.

    Keep one outside the platform: a chain cut short or rewritten no longer agrees with it.
    """

    seq: Annotated[int, Field(description="Place of the last entry of the chain")]
    hash: Annotated[str, Field(description="Of that entry, and by it of all before")]
    at: datetime
    key_id: Annotated[str, Field(description="The key that signed")]
    public_key: Annotated[str, Field(description="Ed25519, hexadecimal")]
    signature: Annotated[str, Field(description="Over `gpuaas-audit-head:<seq>:<hash>:<at>`")]


class ChainFault(Model):
    """The first thing found wrong with the chain."""

    seq: Annotated[int, Field(description="Where in the chain")]
    kind: Annotated[
        str,
        Field(
            description="altered, missing_entry, missing_link, unchained_entry, head_mismatch,"
            " cut_short or head_forged"
        ),
    ]
    detail: str


class VerificationQuery(Input):
    """Which part of the chain to verify, and against what besides itself."""

    after: Annotated[int, Field(ge=0, description="Go on behind this place of the chain")] = 0
    limit: Annotated[int, Field(ge=1, le=100_000, description="Links to check at most")] = 20_000
    witnessed: Annotated[
        list[Annotated[str, Field(pattern=r"^[1-9]\d{0,17}:[0-9a-f]{64}$")]],
        Field(max_length=100, description="Heads kept outside the platform, as `seq:hash`"),
    ] = []


class ChainVerification(Model):
    """The outcome of a verification. With `next_after` there is more of the chain to verify."""

    ok: Annotated[bool, Field(description="Nothing wrong was found")]
    verified_to: Annotated[int, Field(description="The chain is sound up to here")]
    next_after: Annotated[
        int | None,
        Field(description="Send it as `after` to verify what follows; null: all is done"),
    ]
    heads: Annotated[int, Field(description="Heads that agree with the chain")]
    waiting: Annotated[int, Field(description="Entries that wait for their place in the chain")]
    fault: ChainFault | None


class Fields(Protocol):
    """Anything with named fields: a mapping, or a row of a database."""

    def __getitem__(self, name: str, /) -> Any:  # noqa: ANN401 - a field of any type
        ...


def canonical(entry: Fields) -> bytes:
    """The bytes of an entry that its hash covers; other fields are not part of it."""
    fields = {name: entry[name] for name in ENTRY_FIELDS}
    if isinstance(fields["at"], datetime):
        fields["at"] = time_text(fields["at"])
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode()


def link(previous: bytes, entry: Fields) -> bytes:
    """The hash of an entry behind `previous`."""
    return hashlib.sha256(previous + canonical(entry)).digest()


def head_text(seq: int, digest: str, at: datetime) -> bytes:
    """The bytes the signature of a head covers."""
    return f"gpuaas-audit-head:{seq}:{digest}:{time_text(at)}".encode()


def time_text(at: datetime) -> str:
    """A moment as the chain writes it."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
