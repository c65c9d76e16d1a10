"""Identities of agents: a key each, which signs a challenge for a token of some minutes.

The private half never leaves its machine. A rotation names the next key with the present one's
token; the next takes over when it first signs, so that a machine that dies in between has one that
works. `node_resolve` is how the authenticator knows agents.
"""

import base64
import binascii
import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.fleet import AgentIdentity
from gpuaas_contract.fleet_agent import (
    CHALLENGE_NAMESPACE,
    AgentChallenge,
    AgentEnrol,
    AgentIdentityRotate,
    AgentToken,
    AgentTokenCreate,
)
from gpuaas_contract.identity import NODE_TOKEN_PREFIX
from gpuaas_contract.ids import Prefix
from gpuaas_contract.states import AgentStatus
from gpuaas_platform.capacity.nodes import node_generation
from gpuaas_platform.fleet.one_address import (
    SecondAddress,
    address_require,
    is_shared,
    shared_end,
    shared_told,
    token_address_require,
)
from gpuaas_platform.fleet.signatures import (
    BadSignature,
    fingerprint,
    identity_key,
    signature_check,
)
from gpuaas_platform.fleet.speaking import agent_gone, agent_require
from gpuaas_platform.fleet.store import agents as store
from gpuaas_platform.identity.credentials import SECRET_BYTES, secret_hash, secret_make
from gpuaas_platform.kernel.call import Call, Platform
from gpuaas_platform.kernel.caller import PLATFORM, Caller, CallerKind
from gpuaas_platform.kernel.database import Record
from gpuaas_platform.kernel.keyring import keyring_of
from gpuaas_platform.kernel.keyring_file import KeyringError
from gpuaas_platform.kernel.problems import PlatformError, invalid
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work

_CONTEXT: Final = "fleet.challenge"
_CHALLENGE_SECONDS: Final = 60
_TOKEN_SECONDS: Final = 600
_REFUSED: Final = "The signature is not by an identity of this node."


async def challenge_make(call: Call) -> AgentChallenge:
    """Something only this platform could have asked, not long ago; nothing is stored."""
    until = call.platform.clock.now() + timedelta(seconds=_CHALLENGE_SECONDS)
    keyring = await keyring_of(call.platform)
    sealed = keyring.seal(str(int(until.timestamp())).encode(), _CONTEXT)
    text = base64.urlsafe_b64encode(sealed).decode()
    return AgentChallenge(challenge=text, expires_in=_CHALLENGE_SECONDS)


async def token_create(call: Call, body: AgentTokenCreate) -> AgentToken:
    """A token for whoever may have one; what a second host tries is refused and told."""
    try:
        return await _token_create(call, body)
    except SecondAddress as refused:
        await shared_told(call.platform, refused)
        raise


async def _token_create(call: Call, body: AgentTokenCreate) -> AgentToken:
    """A token for whoever signed a challenge with an identity of the node.

    It leaves no audit row: nothing that anybody else can see changes, and every agent does it
    every few minutes.
    """
    now = call.platform.clock.now()
    await _challenge_require(call.platform, body.challenge, now)
    async with call.db.transaction() as conn:
        agent = await store.agent_lock(conn, body.node_id)
        held = await store.identities_usable(conn, body.node_id)
        identity = None if agent is None else _signer(held, body)
        if agent is None or identity is None or agent["status"] == AgentStatus.LEFT:
            raise PlatformError(ErrorCode.UNAUTHENTICATED, _REFUSED)
        if identity["expires_at"] <= now:
            raise PlatformError(
                ErrorCode.UNAUTHENTICATED, "The node's identity has expired; enrol it again."
            )
        address_require(call.platform, agent, call.source, now)
        await store.agent_address_set(conn, body.node_id, call.source)
        shared = await is_shared(conn, body.node_id)
        replaced = identity["status"] == "next"
        if replaced:
            await store.identity_promote(conn, body.node_id, identity["id"])
        secret = secret_make(NODE_TOKEN_PREFIX, call.platform.clock.randomness(SECRET_BYTES))
        new = store.NewToken(
            hash=secret_hash(secret),
            challenge_hash=hashlib.sha256(body.challenge.encode()).digest(),
            node_id=body.node_id,
            identity_id=identity["id"],
            address=call.source,
            expires_at=min(now + timedelta(seconds=_TOKEN_SECONDS), identity["expires_at"]),
        )
        if not await store.token_insert(conn, new):
            raise PlatformError(ErrorCode.UNAUTHENTICATED, "This challenge was used before.")
    if shared and replaced:
        await shared_end(call.platform, body.node_id)
    due = identity["created_at"] + timedelta(hours=call.platform.settings.node_identity_hours)
    return AgentToken(
        access_token=secret,
        expires_in=int((new.expires_at - now).total_seconds()),
        identity_id=identity["id"],
        identity_rotates_at=now if shared and not replaced else due,
    )


async def node_resolve(platform: Platform, secret: str, source: str) -> Caller:
    """The node a token is of; its identity is the caller's `token_id`."""
    async with platform.db.connection() as conn:
        row = await store.token_resolve(conn, secret_hash(secret))
    if row is None:
        raise PlatformError(ErrorCode.UNAUTHENTICATED, "The token is not known.")
    if row["expires_at"] <= platform.clock.now():
        raise PlatformError(ErrorCode.TOKEN_EXPIRED, "Sign a new challenge.")
    try:
        token_address_require(platform, row, source)
    except SecondAddress as refused:
        await shared_told(platform, refused)
        raise
    return Caller(CallerKind.NODE, row["node_id"], PLATFORM, (), row["identity_id"])


async def identity_first(work: Work, node_id: str, body: AgentEnrol) -> AgentIdentity:
    """The identity a node, held by the caller, enrols with."""
    generation = await node_generation(work.conn, node_id)
    return await _identity_add(work, body, _Place(node_id, "current", generation))


async def identity_rotate(work: Work, body: AgentIdentityRotate) -> Answer[AgentIdentity]:
    """Name the key that takes over."""
    node_id = agent_require(work.call)
    if await store.agent_lock(work.conn, node_id) is None:
        raise agent_gone()
    held = await store.identities_usable(work.conn, node_id)
    own = next((one for one in held if one["id"] == work.call.caller.token_id), None)
    if own is None:  # it was revoked since the request was let in
        raise agent_gone()
    known = next((one for one in held if one["public_key"] == body.identity_key), None)
    if known is not None:  # said again: the answer was lost
        work.audit(Target("node_identity", known["id"]))
        return Answer(_identity(known), 201)
    if await store.identity_key_known(work.conn, body.identity_key):
        raise PlatformError(ErrorCode.CONFLICT, "This identity was used before; make a new one.")
    place = _Place(node_id, "next", own["generation"])
    identity = await _identity_add(work, body, place)
    work.audit(Target("node_identity", identity.id, after=identity, detail={"node_id": node_id}))
    told = {"identity_id": identity.id, "fingerprint": identity.fingerprint}
    work.emit(Happened("fleet.node.identity_rotated", node_id, PLATFORM, told))
    return Answer(identity, 201)


@dataclass(frozen=True)
class _Place:
    """What an identity is of: a node, as what, in which of its generations."""

    node_id: str
    status: str
    generation: int


async def _identity_add(
    work: Work, body: AgentEnrol | AgentIdentityRotate, place: _Place
) -> AgentIdentity:
    try:
        identity_key(body.identity_key)
    except BadSignature:
        raise invalid("/identity_key", "is no Ed25519 public key") from None
    sealing = base64.b64decode(body.sealing_key)
    X25519PublicKey.from_public_bytes(sealing)
    new = store.NewIdentity(
        id=work.new_id(Prefix.NODE_IDENTITY),
        node_id=place.node_id,
        status=place.status,
        generation=place.generation,
        public_key=body.identity_key,
        fingerprint=fingerprint(body.identity_key),
        sealing_key=sealing,
        expires_at=work.now + timedelta(days=work.call.platform.settings.node_identity_days),
    )
    row = await store.identity_insert(work.conn, new, work.now)
    if row is None:
        raise RuntimeError("an insert that returns, returned")
    return _identity(row)


async def _challenge_require(platform: Platform, text: str, now: datetime) -> None:
    keyring = await keyring_of(platform)
    try:
        until = int(keyring.unseal(base64.urlsafe_b64decode(text), _CONTEXT))
    except (KeyringError, binascii.Error, ValueError):
        raise PlatformError(ErrorCode.UNAUTHENTICATED, "The challenge is not ours.") from None
    if datetime.fromtimestamp(until, UTC) <= now:
        raise PlatformError(ErrorCode.UNAUTHENTICATED, "The challenge has expired; get another.")


def _signer(held: list[Record], body: AgentTokenCreate) -> Record | None:
    """The identity that signed, if one of the node's did."""
    message = f"{body.node_id} {body.challenge}".encode()
    for identity in held:
        try:
            signature_check(identity["public_key"], CHALLENGE_NAMESPACE, message, body.signature)
        except BadSignature:
            continue
        return identity
    return None


def _identity(row: Record) -> AgentIdentity:
    return AgentIdentity(**{name: row[name] for name in AgentIdentity.model_fields})
