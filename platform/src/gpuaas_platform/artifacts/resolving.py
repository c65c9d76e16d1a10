"""Rules of reading artifacts, and of resolving a name to one of them through effective policy."""

import time
from typing import Annotated

from pydantic import Field

from gpuaas_contract.artifacts import (
    ANY_PLATFORM,
    Artifact,
    ArtifactName,
    ArtifactPlatform,
    ArtifactResolution,
    ArtifactVersion,
)
from gpuaas_contract.common import Model, Name, Page
from gpuaas_contract.permissions import Permission
from gpuaas_contract.policy import Decision, Dimension
from gpuaas_contract.states import ArtifactStatus
from gpuaas_platform.artifacts.choosing import Candidate, Chosen, Wanted, choose
from gpuaas_platform.artifacts.lifecycle import untrusted
from gpuaas_platform.artifacts.publishing import topic_of
from gpuaas_platform.artifacts.rules import (
    artifact_view,
    read_require,
    source_decision,
    tiers_of,
)
from gpuaas_platform.artifacts.store import artifacts as store
from gpuaas_platform.artifacts.store import sources as source_rows
from gpuaas_platform.identity.places import project_place
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import PLATFORM, Place
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.paging import Cursor, Limit, cursor_decode, page_of
from gpuaas_platform.kernel.problems import PlatformError, invalid, not_found
from gpuaas_platform.policy import service as policy

_CANDIDATES_MAX = 1000
_KNOWN_MAX = 10
_MOVING = {ArtifactStatus.INTENDED, ArtifactStatus.INGESTING}


async def artifact_read(call: Call, artifact_id: str, wait_seconds: float) -> Artifact:
    """One artifact; waits for one that is on its way to arrive or fail."""
    until = time.monotonic() + wait_seconds
    while True:
        with call.platform.signals.expect(topic_of(artifact_id)) as expected:
            async with call.db.connection() as conn:
                row = await store.artifact_read(conn, artifact_id)
            if row is None:
                raise not_found("artifact", artifact_id)
            read_require(call.caller, Permission.ARTIFACT_READ, row)
            left = until - time.monotonic()
            if row["status"] not in _MOVING or left <= 0 or call.platform.signals.finishing:
                return artifact_view(row)
            await expected.wait(min(left, 2.0))


class ArtifactQuery(Model):
    """What a list of artifacts was asked for."""

    source_id: Annotated[str | None, Field(max_length=64)] = None
    name: Annotated[str | None, Field(max_length=200)] = None
    status: ArtifactStatus | None = None
    cursor: Cursor = None
    limit: Limit = 100


async def artifact_list(call: Call, query: ArtifactQuery) -> Page[Artifact]:
    """Artifacts in reach, newest first: of shared sources and of the caller's tenants'."""
    tiers = tiers_of(call.caller, Permission.ARTIFACT_READ)
    if not tiers.everywhere and not tiers.org_ids:
        call.caller.require(Permission.ARTIFACT_READ, PLATFORM)
    wanted = store.ArtifactFilter(tiers, query.source_id, query.name, query.status)
    async with call.db.connection() as conn:
        after = cursor_decode(query.cursor)
        rows = await store.artifact_list(conn, wanted, after, query.limit + 1)
    return page_of([artifact_view(row) for row in rows], query.limit, lambda one: one.id)


class ResolutionQuery(Model):
    """What a resolution was asked for: a version or a channel of a name."""

    name: ArtifactName
    version: ArtifactVersion | None = None
    channel: Name | None = None
    platform: ArtifactPlatform = ANY_PLATFORM
    source: Annotated[
        str | None, Field(max_length=300, description="Id, name or address of a source")
    ] = None


async def artifact_resolve(
    call: Call, project_id: str, query: ResolutionQuery
) -> ArtifactResolution:
    """The artifact a name means in a project, decided by its effective policy."""
    if (query.version is None) == (query.channel is None):
        raise invalid("/query/version", "a version or a channel is needed, not both")
    async with call.db.connection() as conn:
        place = await project_place(conn, project_id)
        call.caller.require(Permission.ARTIFACT_READ, place)
        rows = await _candidates(conn, place, query)
        decisions = await source_decisions(conn, place, rows)
        others = [] if rows else await _candidates(conn, place, ResolutionQuery(name=query.name))
    candidates = [
        Candidate(artifact_view(row), decisions[row["id"]], untrusted(row)) for row in rows
    ]
    wanted = Wanted(query.name, query.version, query.channel, query.platform, _known(others))
    chosen = choose(wanted, candidates)
    if isinstance(chosen, PlatformError):
        raise chosen
    return _resolution(chosen)


async def source_decisions(
    conn: Connection, place: Place, rows: list[Record]
) -> dict[str, Decision]:
    """What the policy of a place says of each artifact's source, by the artifact's id."""
    addresses = {row["source_address"] for row in rows}
    decisions = await policy.decide_many(conn, place, Dimension.ARTIFACT_SOURCES, addresses)
    return {row["id"]: source_decision(decisions[row["source_address"]], row) for row in rows}


async def _candidates(conn: Connection, place: Place, query: ResolutionQuery) -> list[Record]:
    sources = await source_rows.sources_of(conn, place.org_id or "")
    chosen = [
        source["id"]
        for source in sources
        if query.source in {None, source["id"], source["name"], source["address"]}
    ]
    if not chosen:
        return []
    exact = query.version is not None or query.channel is not None
    platform = query.platform if exact else None
    sought = store.Sought(chosen, query.name, query.version, query.channel, platform)
    return await store.candidates(conn, sought, _CANDIDATES_MAX)


def _known(rows: list[Record]) -> tuple[str, ...]:
    """What there is under the name instead, for whoever asked for something that is not."""
    told = [f"{row['name']} {row['version']} for {row['platform']}" for row in rows[:_KNOWN_MAX]]
    return tuple(dict.fromkeys(told))


def _resolution(chosen: Chosen) -> ArtifactResolution:
    return ArtifactResolution(
        artifact=chosen.candidate.artifact,
        decision=chosen.candidate.decision,
        warnings=chosen.warnings,
        considered=chosen.considered,
    )
