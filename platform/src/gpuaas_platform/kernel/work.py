"""One mutation = one transaction: the change, its audit row, its events and its stored answer.

Every mutating route calls `mutate(call, action, handler)`. The handler gets a `Work`, authorises,
changes state through stores, names the target, emits events and returns an `Answer`. What was not
committed was not answered; what was answered is answered again for the same idempotency key.

A key is taken at the end, together with the answer: nearly every request is the first of its key,
and pays nothing for it before. One that is not finds the key taken, or fails because of what its
twin did; either way all of it is rolled back and it gets the twin's answer.
"""

import contextlib
import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar

import asyncpg
import msgspec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from fastapi import Response
from pydantic import BaseModel

from gpuaas_contract.common import IDEMPOTENT_REPLAY_HEADER
from gpuaas_contract.errors import KINDS, ErrorCode
from gpuaas_contract.ids import Prefix
from gpuaas_contract.permissions import Permission
from gpuaas_platform.kernel import telemetry
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import PLATFORM, Place
from gpuaas_platform.kernel.database import Connection
from gpuaas_platform.kernel.problems import Denied, PlatformError

B = TypeVar("B", bound=BaseModel)
_MIN_SECRET_KEY = 16

# What the database may refuse for a value's or its own sake: no failure, `http/errors.py` answers.
FORESEEN = (
    asyncpg.DataError,
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    UnicodeEncodeError,
)


@dataclass(frozen=True)
class Answer(Generic[B]):
    """What a mutation answers with. `secret` bodies are sealed before they are stored."""

    body: B | None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    secret: bool = False


@dataclass(frozen=True)
class Target:
    """What a mutation changed: the audit row's subject. Digests tell that it changed, not how."""

    kind: str
    id: str
    place: Place = PLATFORM
    before: Any = None
    after: Any = None
    reason: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)
    correlation_id: str | None = None


@dataclass(frozen=True)
class Happened:
    """A domain event to be. `app_slug` and `app_instance_id` where there is an instance.

    `correlation_id` where the change belongs to an earlier request than the one that tells it.
    """

    type: str
    subject: str
    place: Place
    data: Mapping[str, Any]
    app_slug: str | None = None
    app_instance_id: str | None = None
    correlation_id: str | None = None


@dataclass
class Work:
    """The transaction of one mutation and what it will leave in the journal."""

    call: Call
    conn: Connection
    now: datetime
    action: str
    targets: list[tuple[str, Target]] = field(default_factory=list)
    events: list[Happened] = field(default_factory=list)
    topics: set[str] = field(default_factory=set)

    def require(self, permission: Permission, place: Place) -> None:
        """Pass, or refuse with 403 or 404; the refusal is audited."""
        self.call.caller.require(permission, place)

    def new_id(self, prefix: Prefix) -> str:
        """A new id of this kind."""
        return self.call.platform.clock.new_id(prefix)

    def audit(self, target: Target, action: str | None = None) -> None:
        """Name what was changed. Every mutation does this at least once."""
        self.targets.append((action or self.action, target))

    def emit(self, event: Happened) -> None:
        """Tell of a change; published after the commit, in order."""
        self.events.append(event)

    def signal(self, topic: str) -> None:
        """Wake whoever waits for this topic, in every process, once this has committed."""
        self.topics.add(topic)


class Undone(Exception):
    """There was nothing to change after all: rolled back, and no trace of it is left."""


Handler = Callable[[Work], Awaitable[Answer[B]]]


async def mutate(call: Call, action: str, handler: Handler[B]) -> Response:
    """Run one mutation exactly once per idempotency key and answer it."""
    try:
        with telemetry.span(f"mutate {action}"):
            return await _committed(call, action, handler)
    except PlatformError as error:
        telemetry.MUTATIONS.labels(action, "refused").inc()
        await refusal_record(call, action, error)
        raise
    except FORESEEN:
        telemetry.MUTATIONS.labels(action, "refused").inc()
        raise
    except Undone:
        raise
    except Exception as error:
        telemetry.MUTATIONS.labels(action, "failed").inc()
        await _failure_record(call, action, error)
        raise


async def refusal_record(
    call: Call,
    action: str,
    error: PlatformError,
    target: Target | None = None,
    happened: Sequence[Happened] = (),
) -> None:
    """Leave a trace of a mutation that was refused: the request, and an audit row if denied.

    A refusal of another kind is audited too when its target is named (a failed sign-in). Events
    are of the refusal itself (many failed sign-ins): nothing was changed.
    """
    if error.code is ErrorCode.UNAVAILABLE:
        return
    now = call.platform.clock.now()
    audits = []
    if target is None and (isinstance(error, Denied) or error.code is ErrorCode.POLICY_DENIED):
        permission = error.permission if isinstance(error, Denied) else ""
        target = Target("route", call.path, call.caller.home, detail={"permission": permission})
    if target is not None:
        audits.append(_audit_row(call, now, action, target, outcome="denied"))
    async with call.db.connection() as conn:
        work = Work(call, conn, now, action)
        events = [_event_row(work, event) for event in happened]
        request = _request_row(call, now, error.kind.status, error.code)
        await conn.execute(_JOURNAL, request, audits, events, *_NO_ANSWER)
    if audits:
        call.platform.signals.send(("audit", "outbox") if events else ("audit",))


async def _committed(call: Call, action: str, handler: Handler[B]) -> Response:
    """The transaction of a mutation, or the answer of its twin that came before."""
    key_hash = _key_hash(call)
    try:
        async with call.db.transaction() as conn:
            work = Work(call, conn, call.platform.clock.now(), action)
            answer = await handler(work)
            body = answer.body.model_dump_json().encode() if answer.body is not None else b""
            await _journal(work, answer, body, key_hash)
    except Exception as error:
        replay = None if key_hash is None else await _answered_before(call, key_hash, error)
        if replay is None:
            raise
        telemetry.MUTATIONS.labels(action, "replayed").inc()
        return replay
    telemetry.MUTATIONS.labels(action, "done").inc()
    call.platform.signals.send(work.topics)
    return _response(answer.status, body, answer.headers)


async def _failure_record(call: Call, action: str, error: Exception) -> None:
    """Leave a trace of a mutation that failed as nobody foresaw; nothing was changed."""
    now = call.platform.clock.now()
    target = Target("route", call.path, call.caller.home, detail={"error": type(error).__name__})
    audits = [_audit_row(call, now, action, target, outcome="failed")]
    request = _request_row(call, now, KINDS[ErrorCode.INTERNAL].status, ErrorCode.INTERNAL)
    with contextlib.suppress(PlatformError, asyncpg.PostgresError):  # the failure itself is told
        async with call.db.connection() as conn:
            await conn.execute(_JOURNAL, request, audits, [], *_NO_ANSWER)
    call.platform.signals.send(("audit",))


_JOURNAL = "SELECT journal($1, $2, $3, $4, $5, $6, $7::smallint, $8, $9, $10)"
_NO_ANSWER = (None, None, None, None, None, None, False)


def _key_hash(call: Call) -> bytes | None:
    if call.idempotency_key is None:
        return None
    return hashlib.sha256(call.idempotency_key.encode()).digest()


async def _answered_before(call: Call, key_hash: bytes, error: Exception) -> Response | None:
    """What this key's first request was answered, waiting for it while it is in flight.

    None when this is the first: then it failed by itself.
    """
    if isinstance(error, PlatformError) and error.code is ErrorCode.UNAVAILABLE:
        return None
    async with call.db.connection() as conn:
        row = await conn.fetchrow("SELECT * FROM answered_before($1, $2)", call.caller.id, key_hash)
    if row is None:
        return None
    if row["request_hash"] != call.request_hash:
        raise PlatformError(
            ErrorCode.IDEMPOTENCY_CONFLICT,
            "This idempotency key was used for another request; use a new key.",
        ) from error
    body = bytes(row["answer"])
    if row["sealed"]:
        body = _unseal(call, body)
    headers = {**row["headers"], IDEMPOTENT_REPLAY_HEADER: "true"}
    return _response(row["status"], body, headers)


async def _journal(work: Work, answer: Answer[B], body: bytes, key_hash: bytes | None) -> None:
    """Write the end of the mutation: request, audit rows, events, stored answer."""
    if not work.targets:
        raise RuntimeError(f"{work.action} named no target: every mutation is audited")
    call, now = work.call, work.now
    audits = [_audit_row(call, now, action, target) for action, target in work.targets]
    events = [_event_row(work, event) for event in work.events]
    work.topics |= {"audit", "outbox"} if events else {"audit"}
    stored: tuple[Any, ...] = _NO_ANSWER
    if key_hash is not None:
        kept = _seal(call, body) if answer.secret else body
        stored = (
            call.caller.id, key_hash, call.request_hash,
            answer.status, dict(answer.headers), kept, answer.secret,
        )  # fmt: skip
    place = work.targets[0][1].place
    _span_describe(work, place)
    request = _request_row(call, now, answer.status, None, place)
    await work.conn.execute(_JOURNAL, request, audits, events, *stored)


def _span_describe(work: Work, place: Place) -> None:
    """Say in the trace what the mutation was about."""
    app = next((event for event in work.events if event.app_instance_id is not None), None)
    telemetry.span_describe(
        correlation_id=work.call.correlation_id,
        org_id=place.org_id,
        project_id=place.project_id,
        target_id=work.targets[0][1].id,
        app_slug=None if app is None else app.app_slug,
        app_instance_id=None if app is None else app.app_instance_id,
    )


def _request_row(
    call: Call, now: datetime, status: int, code: str | None, place: Place | None = None
) -> dict[str, Any]:
    where = place or call.caller.home
    return {
        "id": call.platform.clock.new_id(Prefix.REQUEST),
        "at": now,
        "correlation_id": call.correlation_id,
        "method": call.method,
        "path": call.path,
        "status": status,
        "code": code,
        "actor_id": call.caller.id,
        "org_id": where.org_id,
        "project_id": where.project_id,
        "traceparent": call.traceparent or telemetry.traceparent_current(),
        "milliseconds": round((time.perf_counter() - call.started) * 1000, 1),
    }


def _audit_row(
    call: Call, now: datetime, action: str, target: Target, *, outcome: str = "allowed"
) -> dict[str, Any]:
    return {
        "id": call.platform.clock.new_id(Prefix.AUDIT),
        "at": now,
        "action": action,
        "outcome": outcome,
        "actor_kind": call.caller.kind,
        "actor_id": call.caller.id,
        "org_id": target.place.org_id,
        "project_id": target.place.project_id,
        "target_kind": target.kind,
        "target_id": target.id,
        "correlation_id": target.correlation_id or call.correlation_id,
        "source": call.source,
        "reason": target.reason,
        "before_digest": _digest(target.before),
        "after_digest": _digest(target.after),
        "detail": dict(target.detail),
    }


def _event_row(work: Work, event: Happened) -> dict[str, Any]:
    return {
        "id": work.new_id(Prefix.EVENT),
        "type": event.type,
        "subject": event.subject,
        "at": work.now,
        "org_id": event.place.org_id,
        "project_id": event.place.project_id,
        "app_slug": event.app_slug,
        "app_instance_id": event.app_instance_id,
        "correlation_id": event.correlation_id or work.call.correlation_id,
        "traceparent": work.call.traceparent or telemetry.traceparent_current(),
        "data": dict(event.data),
    }


def _digest(value: Any) -> str | None:  # noqa: ANN401 - any JSON-like value or model
    if value is None:
        return None
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json")
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()


def _seal(call: Call, body: bytes) -> bytes:
    """Encrypt with a key only the caller holds: the database alone cannot read the answer."""
    nonce = call.platform.clock.randomness(12)
    return nonce + AESGCM(_sealing_key(call)).encrypt(nonce, body, None)


def _unseal(call: Call, sealed: bytes) -> bytes:
    return AESGCM(_sealing_key(call)).decrypt(sealed[:12], sealed[12:], None)


def _sealing_key(call: Call) -> bytes:
    key = call.idempotency_key or ""
    if len(key) < _MIN_SECRET_KEY:
        raise PlatformError(
            ErrorCode.INVALID_REQUEST,
            f"An idempotency key for an answer with a secret has at least {_MIN_SECRET_KEY}"
            " characters: the stored answer is encrypted with it.",
        )
    return hashlib.sha256(b"gpuaas-idempotent-answer\0" + key.encode()).digest()


def _response(status: int, body: bytes, headers: Mapping[str, str]) -> Response:
    media = "application/json" if body else None
    return Response(body, status, dict(headers), media)
