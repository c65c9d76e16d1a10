"""Which of several artifacts a name means: a pure function from candidates to one, or to why not.

Called by `resolving.py`. The order of reasons is fixed: policy, then trust, then whether what is
left is one thing. Two different contents under one name in two allowed sources are never chosen
between: whoever could publish to one of them could take the other's place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpuaas_contract.artifacts import ANY_PLATFORM, Artifact, ArtifactConsidered
from gpuaas_contract.errors import ErrorCode, FieldError
from gpuaas_contract.policy import Decision
from gpuaas_contract.states import ArtifactStatus
from gpuaas_platform.kernel.problems import PlatformError


@dataclass(frozen=True)
class Candidate:
    """An artifact that has the name and fits, what policy says of its source, what trust says."""

    artifact: Artifact
    decision: Decision
    distrust: PlatformError | None


@dataclass(frozen=True)
class Wanted:
    """What was asked for, in the words of the question."""

    name: str
    version: str | None
    channel: str | None
    platform: str
    known: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """The same in one phrase."""
        which = self.version if self.version is not None else f"of the channel {self.channel}"
        return f"{self.name} {which} for {self.platform}"


@dataclass(frozen=True)
class Chosen:
    """The one that is meant, and what was to be said about all."""

    candidate: Candidate
    considered: list[ArtifactConsidered]
    warnings: list[str]


def choose(wanted: Wanted, candidates: Sequence[Candidate]) -> Chosen | PlatformError:
    """The artifact that is meant, or the refusal that explains itself."""
    fitting = _most_exact(candidates)
    allowed = [one for one in fitting if one.decision.allowed]
    trusted = [one for one in allowed if one.distrust is None]
    if not trusted:
        return _refusal(wanted, fitting, allowed)
    if len({one.artifact.digest for one in trusted}) > 1:
        return _ambiguous(wanted, trusted)
    chosen = min(trusted, key=_preference)
    considered = [_considered(one, chosen, fits=one in fitting) for one in candidates]
    return Chosen(chosen, considered, _warnings(chosen.artifact))


def _most_exact(candidates: Sequence[Candidate]) -> list[Candidate]:
    """In each source, what is made for the very platform hides what is for any."""
    exact = {one.artifact.source_id for one in candidates if one.artifact.platform != ANY_PLATFORM}
    return [
        one
        for one in candidates
        if one.artifact.platform != ANY_PLATFORM or one.artifact.source_id not in exact
    ]


def _preference(one: Candidate) -> tuple[bool, str]:
    """Of the same content, what the platform shares, then the older source."""
    return one.artifact.org_id is not None, one.artifact.source_id


def _refusal(
    wanted: Wanted, fitting: Sequence[Candidate], allowed: Sequence[Candidate]
) -> PlatformError:
    errors = [
        FieldError(pointer="/query/name", message=f"{one.artifact.source_address}: {_reason(one)}")
        for one in fitting
    ]
    if allowed and allowed[0].distrust is not None:
        first = allowed[0].distrust
        return PlatformError(first.code, first.detail, errors=errors, context=first.context)
    if fitting:
        decision = fitting[0].decision
        return PlatformError(
            ErrorCode.POLICY_DENIED, decision.message, errors=errors, context=_context(decision)
        )
    errors = [
        FieldError(pointer="/query/version", message=f"there is {known}") for known in wanted.known
    ]
    return PlatformError(
        ErrorCode.NOT_FOUND, f"No source in reach has {wanted.words}.", errors=errors
    )


def _ambiguous(wanted: Wanted, trusted: Sequence[Candidate]) -> PlatformError:
    addresses = sorted({one.artifact.source_address for one in trusted})
    return PlatformError(
        ErrorCode.CONFLICT,
        f"{wanted.words} is not the same in {', '.join(addresses)}; say which with `source`.",
        errors=[
            FieldError(
                pointer="/query/source",
                message=f"{one.artifact.source_address} has {one.artifact.digest}",
            )
            for one in trusted
        ],
    )


def _considered(one: Candidate, chosen: Candidate, *, fits: bool) -> ArtifactConsidered:
    artifact = one.artifact
    if one is chosen:
        reason = one.decision.message
    elif not fits:
        reason = "The source has one for this very platform."
    else:
        reason = _reason(one)
    return ArtifactConsidered(
        artifact_id=artifact.id,
        source_address=artifact.source_address,
        version=artifact.version,
        platform=artifact.platform,
        status=artifact.status,
        trust=artifact.trust,
        chosen=one is chosen,
        reason=reason,
    )


def _reason(one: Candidate) -> str:
    if not one.decision.allowed:
        return one.decision.message
    if one.distrust is not None:
        return one.distrust.detail
    return "It is the same content in another source."


def _warnings(artifact: Artifact) -> list[str]:
    if artifact.status is not ArtifactStatus.DEPRECATED:
        return []
    return [f"{artifact.name} {artifact.version} is deprecated: {artifact.status_reason}"]


def _context(decision: Decision) -> Mapping[str, str]:
    context = {"dimension": str(decision.dimension), "value": decision.value}
    if decision.decided_by is not None:
        context["overlay_id"] = decision.decided_by.overlay_id
        context["overlay"] = decision.decided_by.overlay_name
        context["rule"] = f"{decision.decided_by.rule} {decision.decided_by.pattern or 'list'}"
    return context
