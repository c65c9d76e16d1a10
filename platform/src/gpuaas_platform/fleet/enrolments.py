"""Rules of enrolments: one host becomes one node, once, within its time.

An operator makes an enrolment and runs its command on the host; the host's agent answers for the
rest. A token that was used opens nothing again, except for the very agent that used it and did not
hear the answer.
"""

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from fastapi import Response

from gpuaas_contract.capacity import Node, NodeCreate
from gpuaas_contract.common import Page
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.fleet import (
    ENROLMENT_TOKEN_PREFIX,
    Enrolment,
    EnrolmentCreate,
    EnrolmentCreated,
    EnrolmentNode,
    EnrolmentRevoke,
)
from gpuaas_contract.fleet_agent import AgentEnrol, AgentEnrolled, SignerKey
from gpuaas_contract.ids import Prefix
from gpuaas_contract.permissions import Permission
from gpuaas_contract.states import AgentStatus, EnrolmentStatus, NodeStatus
from gpuaas_platform.capacity import nodes
from gpuaas_platform.capacity.holdings import CLEANING_TOPIC, SHUT
from gpuaas_platform.capacity.service import kinds_require
from gpuaas_platform.fleet.agent_file import agent_file
from gpuaas_platform.fleet.agents import holder_reassure
from gpuaas_platform.fleet.command import Enrolling, command_text
from gpuaas_platform.fleet.identities import identity_first
from gpuaas_platform.fleet.one_address import SHARED
from gpuaas_platform.fleet.signing import signer_keys
from gpuaas_platform.fleet.store import agents as agent_rows
from gpuaas_platform.fleet.store import enrolments as store
from gpuaas_platform.identity.credentials import SECRET_BYTES, secret_hash, secret_make
from gpuaas_platform.kernel.call import Call, Platform
from gpuaas_platform.kernel.caller import PLATFORM, Caller, CallerKind
from gpuaas_platform.kernel.database import Record
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import PlatformError, invalid, not_found
from gpuaas_platform.kernel.public_url import base_of
from gpuaas_platform.kernel.work import (
    Answer,
    Happened,
    Target,
    Undone,
    Work,
    mutate,
    refusal_record,
)

_ENROL: Final = "fleet.node.enrol"
_UNUSABLE: Final = {
    EnrolmentStatus.USED: "This enrolment was used already; make another one.",
    EnrolmentStatus.EXPIRED: "This enrolment has expired; make another one.",
    EnrolmentStatus.REVOKED: "This enrolment was revoked; make another one.",
}


async def enrolment_create(
    work: Work, body: EnrolmentCreate, port: int
) -> Answer[EnrolmentCreated]:
    """A one-time token, inside the command for the host."""
    work.require(Permission.NODE_MANAGE, PLATFORM)
    platform = work.call.platform
    wanted, node_id = await _wanted(work, body)
    generation = 1 if node_id is None else await nodes.node_generation(work.conn, node_id)
    token = secret_make(ENROLMENT_TOKEN_PREFIX, platform.clock.randomness(SECRET_BYTES))
    new = store.NewEnrolment(
        id=work.new_id(Prefix.ENROLMENT),
        token_hash=secret_hash(token),
        node_name=wanted.name,
        region=wanted.region,
        sku=wanted.sku,
        address=wanted.address,
        node_id=node_id,
        expires_at=work.now + timedelta(seconds=body.expires_in_seconds),
        created_by=work.call.caller.id,
        correlation_id=work.call.correlation_id,
        generation=generation,
    )
    enrolment = _enrolment(_present(await store.enrolment_insert(work.conn, new, work.now)))
    work.audit(Target("enrolment", enrolment.id, after=enrolment))
    told = {"node_name": enrolment.node_name}
    work.emit(Happened("fleet.enrolment.created", enrolment.id, PLATFORM, told))
    address = wanted.address or work.call.source
    url = (body.platform_url or base_of(platform.settings, port, address)).rstrip("/")
    digest = agent_file(platform).digest
    command = command_text(Enrolling(url, token, digest, ca_digest(platform)))
    created = EnrolmentCreated(
        enrolment=enrolment, token=token, command=command, agent_digest=digest
    )
    return Answer(created, 201, secret=True)


async def enrolment_reissue(
    work: Work, node: Node, lasts: timedelta, platform_url: str | None
) -> str:
    """The command that makes a node of its cleaned machine; enrolments made before are ended.

    For the room's own cleaning: it is given to whoever installs the machine, never to the machine
    as it was.
    """
    platform = work.call.platform
    url = platform_url or platform.settings.public_url
    if url is None:
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            "How a machine reaches the platform is not known: set GPUAAS_PUBLIC_URL, or"
            " platform_url of the region's hook.",
        )
    for row in await store.enrolments_pending_lock(work.conn, node.id):
        await _end(work, row, EnrolmentStatus.REVOKED, "Another one was made for the cleaning.")
    token = secret_make(ENROLMENT_TOKEN_PREFIX, platform.clock.randomness(SECRET_BYTES))
    new = store.NewEnrolment(
        id=work.new_id(Prefix.ENROLMENT),
        token_hash=secret_hash(token),
        node_name=node.name,
        region=node.region,
        sku=node.sku,
        address=node.address,
        node_id=node.id,
        expires_at=work.now + lasts,
        created_by=work.call.caller.id,
        correlation_id=work.call.correlation_id,
        generation=await nodes.node_generation(work.conn, node.id),
    )
    enrolment = _enrolment(_present(await store.enrolment_insert(work.conn, new, work.now)))
    work.audit(Target("enrolment", enrolment.id, after=enrolment))
    told = {"node_name": enrolment.node_name}
    work.emit(Happened("fleet.enrolment.created", enrolment.id, PLATFORM, told))
    digest = agent_file(platform).digest
    return command_text(Enrolling(url.rstrip("/"), token, digest, ca_digest(platform)))


async def enrolment_read(call: Call, enrolment_id: str) -> Enrolment:
    """One enrolment."""
    call.caller.require(Permission.NODE_READ, PLATFORM)
    async with call.db.connection() as conn:
        row = await store.enrolment_read(conn, enrolment_id)
    if row is None:
        raise not_found("enrolment", enrolment_id)
    return _enrolment(row)


@dataclass(frozen=True)
class EnrolmentQuery:
    """What a list of enrolments was asked for."""

    status: EnrolmentStatus | None
    cursor: str | None
    limit: int


async def enrolment_list(call: Call, query: EnrolmentQuery) -> Page[Enrolment]:
    """Enrolments, newest first."""
    call.caller.require(Permission.NODE_READ, PLATFORM)
    async with call.db.connection() as conn:
        after = cursor_decode(query.cursor)
        rows = await store.enrolment_list(conn, query.status, after, query.limit + 1)
    return page_of([_enrolment(row) for row in rows], query.limit, lambda found: found.id)


async def enrolment_revoke(
    work: Work, enrolment_id: str, body: EnrolmentRevoke
) -> Answer[Enrolment]:
    """End an enrolment nobody has used."""
    work.require(Permission.NODE_MANAGE, PLATFORM)
    row = await store.enrolment_lock(work.conn, enrolment_id)
    if row is None:
        raise not_found("enrolment", enrolment_id)
    if row["status"] != EnrolmentStatus.PENDING:
        raise PlatformError(ErrorCode.STATE_CONFLICT, f"The enrolment is {row['status']}.")
    return Answer(await _end(work, row, EnrolmentStatus.REVOKED, body.reason))


async def enrolment_expire(work: Work, enrolment_id: str) -> Answer[Enrolment]:
    """End an enrolment whose time is over."""
    row = await store.enrolment_lock(work.conn, enrolment_id)
    if row is None or row["status"] != EnrolmentStatus.PENDING or row["expires_at"] > work.now:
        raise Undone
    return Answer(await _end(work, row, EnrolmentStatus.EXPIRED, ""))


async def node_enrol(call: Call, body: AgentEnrol) -> Response:
    """A host becomes a node by a token; the enrolment is the actor."""
    async with call.db.connection() as conn:
        row = await store.enrolment_by_token(conn, secret_hash(body.token))
        held = [] if row is None else await agent_rows.identities_usable(conn, row["node_id"] or "")
    if row is None:
        raise PlatformError(ErrorCode.UNAUTHENTICATED, "The enrolment token is not known.")
    actor = replace(call, caller=Caller(CallerKind.NODE, row["id"], PLATFORM, ()))
    signers = await signer_keys(call.platform)
    mine = next((one for one in held if one["public_key"] == body.identity_key), None)
    if row["status"] == EnrolmentStatus.USED and mine is not None:
        answer = AgentEnrolled(
            node_id=row["node_id"], node_name=row["node_name"], identity_id=mine["id"],
            signers=signers,
        )  # fmt: skip
        return Response(answer.model_dump_json(), 201, media_type="application/json")
    error = _unusable(row, call.platform.clock.now())
    if error is not None:
        await refusal_record(actor, _ENROL, error, Target("enrolment", row["id"]))
        raise error
    handler = partial(_enrol, enrolment_id=row["id"], body=body, signers=signers)
    return await mutate(actor, _ENROL, handler)


def ca_text(platform: Platform) -> bytes | None:
    """The authority of the platform's certificate that agents pin, if one is named."""
    path = platform.settings.agent_ca_file
    return None if path is None else path.read_bytes()


def ca_digest(platform: Platform) -> str | None:
    """Its SHA-256, for the command."""
    text = ca_text(platform)
    return None if text is None else hashlib.sha256(text).hexdigest()


async def _wanted(work: Work, body: EnrolmentCreate) -> tuple[EnrolmentNode, str | None]:
    """What node the host becomes: a new one, or one that is known and has no agent."""
    if (body.node is None) == (body.node_id is None):
        raise invalid("/node", "exactly one of node and node_id is given")
    if body.node is not None:
        await kinds_require(work.conn, body.node.region, body.node.sku)
        return body.node, None
    node = await nodes.node_find(work.conn, body.node_id or "")
    agent = await agent_rows.agent_read(work.conn, node.id)
    if agent is not None and agent["status"] != AgentStatus.LEFT:
        raise _has_agent(node)
    kept = EnrolmentNode(name=node.name, region=node.region, sku=node.sku, address=node.address)
    return kept, node.id


async def _enrol(
    work: Work, enrolment_id: str, body: AgentEnrol, signers: list[SignerKey]
) -> Answer[AgentEnrolled]:
    row = _present(await store.enrolment_lock(work.conn, enrolment_id))
    error = _unusable(row, work.now)
    if error is not None:
        raise error
    if await agent_rows.identity_key_known(work.conn, body.identity_key):
        raise PlatformError(ErrorCode.CONFLICT, "This identity was used before; make a new one.")
    node = await _node(work, row, body)
    new = agent_rows.NewAgent(node.id, row["id"], work.call.source, body.facts)
    if not await agent_rows.agent_put(work.conn, new, work.now):
        raise _has_agent(node)
    identity = await identity_first(work, node.id, body)
    await nodes.node_condition_put(work, node.id, SHARED, None)
    await nodes.node_seen(work.conn, node.id, body.agent_version, work.now)
    await store.enrolment_use(work.conn, row["id"], node.id, work.now)
    story = row["correlation_id"]
    detail = {"enrolment_id": row["id"], "fingerprint": identity.fingerprint}
    work.audit(Target("node", node.id, detail=detail, correlation_id=story))
    told = {"name": node.name, "agent_version": body.agent_version}
    work.emit(Happened("fleet.node.enrolled", node.id, PLATFORM, told, correlation_id=story))
    enrolled = AgentEnrolled(
        node_id=node.id, node_name=node.name, identity_id=identity.id, signers=signers
    )
    return Answer(enrolled, 201)


async def _node(work: Work, row: Record, body: AgentEnrol) -> Node:
    """The node of an enrolment: the one it names, else a new one."""
    if row["known"]:
        node = await nodes.node_hold(work.conn, row["node_id"])
        await _generation_require(work, row)
        if node.status is NodeStatus.CLEANING:
            await nodes.host_keys_renew(work, node, body.host_keys)
            work.signal(CLEANING_TOPIC)
            return node
        if node.status in SHUT:
            raise PlatformError(
                ErrorCode.STATE_CONFLICT,
                f"The node {node.name} is {node.status.value.replace('_', ' ')}; retry its cleaning"
                " first.",
                context={"node_id": node.id},
            )
        await nodes.host_keys_meet(work, node, body.host_keys)
        await nodes.node_open(work, node, NodeStatus.READY, "")
        await holder_reassure(work, node)
        return node
    wanted = NodeCreate(
        name=row["node_name"],
        region=row["region"],
        sku=row["sku"],
        address=row["address"] or work.call.source,
        host_keys=body.host_keys,
    )
    return await nodes.node_register(work, wanted)


async def _generation_require(work: Work, row: Record) -> None:
    """An enrolment made before the node left a tenant could have been read on its machine."""
    if row["generation"] != await nodes.node_generation(work.conn, row["node_id"]):
        raise PlatformError(
            ErrorCode.UNAUTHENTICATED,
            "This enrolment was made for an earlier use of the node; make another one.",
        )


async def _end(work: Work, row: Record, status: EnrolmentStatus, reason: str) -> Enrolment:
    after = _enrolment(_present(await store.enrolment_end(work.conn, row["id"], status)))
    work.audit(Target("enrolment", row["id"], PLATFORM, _enrolment(row), after, reason))
    told = {"node_name": row["node_name"]}
    work.emit(Happened(f"fleet.enrolment.{status}", row["id"], PLATFORM, told))
    return after


def _unusable(row: Record, now: datetime) -> PlatformError | None:
    status = EnrolmentStatus(row["status"])
    if status is EnrolmentStatus.PENDING and row["expires_at"] <= now:
        status = EnrolmentStatus.EXPIRED
    if status is EnrolmentStatus.PENDING:
        return None
    return PlatformError(ErrorCode.UNAUTHENTICATED, _UNUSABLE[status])


def _has_agent(node: Node) -> PlatformError:
    return PlatformError(
        ErrorCode.STATE_CONFLICT,
        f"The node {node.name} has an agent; un-enrol it first.",
        context={"node_id": node.id},
    )


def _enrolment(row: Record) -> Enrolment:
    return Enrolment(**{name: row[name] for name in Enrolment.model_fields})


def _present(row: Record | None) -> Record:
    if row is None:
        raise RuntimeError("what was just locked or written cannot be missing")
    return row
