"""Rules of an artifact's later life: signatures, channels, deprecation, the end."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpuaas_contract.artifacts import (
    Artifact,
    ArtifactDeprecate,
    ArtifactPromote,
    ArtifactRetire,
    ArtifactRevoke,
    ArtifactSign,
)
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.permissions import Permission
from gpuaas_contract.states import TRUST, ArtifactStatus, ArtifactTrust
from gpuaas_platform.artifacts.rules import (
    artifact_view,
    enabled_require,
    place_of,
    publish_require,
    state_conflict,
    transition_require,
)
from gpuaas_platform.artifacts.store import artifacts as store
from gpuaas_platform.artifacts.store import sources as source_rows
from gpuaas_platform.artifacts.trust import TrustedKey, signature_verify
from gpuaas_platform.kernel.database import Record
from gpuaas_platform.kernel.etag import etag_headers
from gpuaas_platform.kernel.problems import PlatformError, not_found
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work

_ENDED = {ArtifactStatus.RETIRED, ArtifactStatus.FAILED}
_BAD = {ArtifactTrust.FAILED_VERIFICATION, ArtifactTrust.REVOKED}


async def artifact_sign(work: Work, artifact_id: str, body: ArtifactSign) -> Answer[Artifact]:
    """Judge a signature by the keys the source trusts today."""
    await store.artifact_source_lock(work.conn, artifact_id)
    row = await _locked(work, artifact_id)
    publish_require(work.call.caller, row)
    if row["status"] in _ENDED:
        raise state_conflict(row, "is not signed any more")
    trust = ArtifactTrust(row["trust"])
    if trust is ArtifactTrust.REVOKED:
        raise state_conflict(row, "its trust was revoked, which is final")
    await signature_judge(work, row, body.signature)
    after = await _locked(work, artifact_id)
    return _changed(work, row, after, _Change(after["trust"]))


async def signature_judge(work: Work, row: Record, signature: str) -> None:
    """Set the trust that follows from a signature. One that is verified stays so."""
    keys = [
        TrustedKey(key["id"], key["public_key"])
        for key in await source_rows.keys_active(work.conn, row["source_id"])
    ]
    signed = row["reference"] or row["digest"]
    key_id = signature_verify(signed, signature, keys)
    trust = ArtifactTrust.FAILED_VERIFICATION if key_id is None else ArtifactTrust.VERIFIED
    if not TRUST.allows(row["trust"], trust):
        raise PlatformError(
            ErrorCode.ARTIFACT_UNTRUSTED,
            "No key the source trusts made this signature; the artifact stays verified by the one"
            " it has.",
        )
    reason = "" if key_id is not None else _why_not(keys)
    judged = store.Judged(trust, reason, signature, key_id)
    await store.artifact_trust(work.conn, row["id"], judged)


async def artifact_promote(work: Work, artifact_id: str, body: ArtifactPromote) -> Answer[Artifact]:
    """Let a channel point here; the one it pointed at before is merely published again."""
    row = await _managed(work, artifact_id)
    enabled_require(row)
    if row["status"] != ArtifactStatus.PROMOTED:
        transition_require(row, ArtifactStatus.PROMOTED)
    _trusted_require(row)
    before = await store.channel_point(work.conn, row, body.channel)
    if row["status"] != ArtifactStatus.PROMOTED:
        await store.artifact_status(work.conn, artifact_id, ArtifactStatus.PROMOTED, "", None)
    if before is not None:
        await _left(work, before, body.channel)
    after = await _locked(work, artifact_id)
    detail = {"channel": body.channel, "before": before}
    return _changed(work, row, after, _Change("promoted", detail))


async def artifact_deprecate(
    work: Work, artifact_id: str, body: ArtifactDeprecate
) -> Answer[Artifact]:
    """Warn whoever resolves it; channels point elsewhere or nowhere."""
    row = await _managed(work, artifact_id)
    transition_require(row, ArtifactStatus.DEPRECATED)
    detail = {"channels": await store.channels_leave(work.conn, artifact_id)}
    await store.artifact_status(
        work.conn, artifact_id, ArtifactStatus.DEPRECATED, body.message, None
    )
    after = await _locked(work, artifact_id)
    return _changed(work, row, after, _Change("deprecated", detail, body.message))


async def artifact_restore(work: Work, artifact_id: str) -> Answer[Artifact]:
    """Take a deprecation back."""
    row = await _managed(work, artifact_id)
    if row["status"] != ArtifactStatus.DEPRECATED:
        raise state_conflict(row, "is not deprecated")
    await store.artifact_status(work.conn, artifact_id, ArtifactStatus.PUBLISHED, "", None)
    after = await _locked(work, artifact_id)
    return _changed(work, row, after, _Change("published"))


async def artifact_retire(work: Work, artifact_id: str, body: ArtifactRetire) -> Answer[Artifact]:
    """The end: nothing is delivered any more and the content goes."""
    row = await _managed(work, artifact_id)
    transition_require(row, ArtifactStatus.RETIRED)
    detail = await _retired(work, artifact_id, body.reason)
    after = await _locked(work, artifact_id)
    return _changed(work, row, after, _Change("retired", detail, body.reason))


async def artifact_revoke(work: Work, artifact_id: str, body: ArtifactRevoke) -> Answer[Artifact]:
    """Distrust and retire at once, whatever vouches for it."""
    row = await _managed(work, artifact_id)
    transition_require(row, ArtifactStatus.RETIRED)
    judged = store.Judged(ArtifactTrust.REVOKED, body.reason, row["signature"], row["key_id"])
    await store.artifact_trust(work.conn, artifact_id, judged)
    detail = await _retired(work, artifact_id, body.reason)
    after = await _locked(work, artifact_id)
    return _changed(work, row, after, _Change("revoked", detail, body.reason))


def untrusted(row: Record) -> PlatformError | None:
    """Why an artifact may not be used, by its trust and what its source asks for."""
    trust = ArtifactTrust(row["trust"])
    if trust in _BAD:
        why = row["trust_reason"] or "a signature of it is wrong"
        detail = f"{row['name']} {row['version']} is {trust}: {why}"
    elif row["signature_required"] and trust is not ArtifactTrust.VERIFIED:
        detail = f"{row['name']} {row['version']} is {trust}, and its source asks for a signature."
    else:
        return None
    context = {"artifact_id": row["id"], "trust": trust}
    return PlatformError(ErrorCode.ARTIFACT_UNTRUSTED, detail, context=context)


def _trusted_require(row: Record) -> None:
    refusal = untrusted(row)
    if refusal is not None:
        raise refusal


def _why_not(keys: list[TrustedKey]) -> str:
    if not keys:
        return "The source trusts no key yet."
    return f"None of the {len(keys)} keys the source trusts made the signature."


async def _retired(work: Work, artifact_id: str, reason: str) -> dict[str, object]:
    channels = await store.channels_leave(work.conn, artifact_id)
    await store.artifact_status(work.conn, artifact_id, ArtifactStatus.RETIRED, reason, "all")
    work.signal("artifacts.sweep")
    return {"channels": channels}


async def _left(work: Work, artifact_id: str, channel: str) -> None:
    """An artifact a channel has left: without any channel it is no longer promoted."""
    row = await _locked(work, artifact_id)
    if row["channels"] or row["status"] != ArtifactStatus.PROMOTED:
        return
    await store.artifact_status(work.conn, artifact_id, ArtifactStatus.PUBLISHED, "", None)
    after = artifact_view(await _locked(work, artifact_id))
    place, detail = place_of(row), {"left": channel}
    work.audit(
        Target("artifact", artifact_id, place, artifact_view(row), after, detail=detail),
        "artifacts.artifact.leave",
    )
    work.emit(Happened("artifacts.artifact.published", artifact_id, place, detail))


async def _locked(work: Work, artifact_id: str) -> Record:
    row = await store.artifact_lock(work.conn, artifact_id)
    if row is None:
        raise not_found("artifact", artifact_id)
    return row


async def _managed(work: Work, artifact_id: str) -> Record:
    await store.artifact_source_lock(work.conn, artifact_id)
    row = await _locked(work, artifact_id)
    work.require(Permission.ARTIFACT_PROMOTE, place_of(row))
    return row


@dataclass(frozen=True)
class _Change:
    """What has happened to an artifact, for the record."""

    verb: str
    detail: Mapping[str, object] = field(default_factory=dict)
    reason: str = ""


def _changed(work: Work, before: Record, after: Record, change: _Change) -> Answer[Artifact]:
    artifact, place = artifact_view(after), place_of(after)
    target = Target(
        "artifact", artifact.id, place, artifact_view(before), artifact, change.reason,
        dict(change.detail),
    )  # fmt: skip
    work.audit(target)
    told = {"name": artifact.name, "version": artifact.version, "trust": artifact.trust}
    event = f"artifacts.artifact.{change.verb}"
    work.emit(Happened(event, artifact.id, place, {**told, **change.detail}))
    work.signal(f"artifact:{artifact.id}")
    return Answer(artifact, 200, etag_headers(artifact.revision))
