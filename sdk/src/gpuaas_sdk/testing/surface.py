"""The in-memory platform behind the public paths, as a transport of the real client.

It answers what a controller and those who ask for work need: tokens, instances, members,
operations, claims, leases, reports, observers. Anything else is 404. Made by `memory.py`.
"""

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
from pydantic import BaseModel, ValidationError

from gpuaas_contract.apps import InstanceCreate, OperationCreate, ReasonGiven
from gpuaas_contract.common import API_PREFIX, CORRELATION_HEADER, IDEMPOTENCY_HEADER, Page
from gpuaas_contract.controllers import (
    Cancellation,
    Claim,
    Claims,
    Completion,
    Failure,
    Heartbeat,
    Observation,
    Observe,
    Release,
    Report,
)
from gpuaas_contract.errors import KINDS, ErrorCode, Problem
from gpuaas_contract.identity import AccessToken, TokenExchange
from gpuaas_contract.telemetry import TelemetrySend, TelemetryTaken
from gpuaas_sdk.testing import abandoning, asking, leases
from gpuaas_sdk.testing.making import Caller
from gpuaas_sdk.testing.world import Refused, World

_LOOK_AGAIN = 0.02
Handler = Callable[[Caller, httpx2.Request, str], BaseModel]


class Surface(httpx2.AsyncBaseTransport):
    """One in-memory platform's HTTP surface."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._answers: dict[tuple[str, str], tuple[bytes, httpx2.Response]] = {}
        self._routes = [(m, re.compile(p), s, h) for m, p, s, h in _routes(world)]
        self.requests: list[tuple[str, str]] = []
        self.telemetry: list[TelemetrySend] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer one request, as the real platform would."""
        await request.aread()
        path = request.url.path.removeprefix(API_PREFIX)
        correlation = request.headers.get(CORRELATION_HEADER, "cor_memory")
        if path == "/telemetry":  # comes when it comes: no part of what a test counts
            return _answer(self._told(request), 200, correlation)
        self.requests.append((request.method, path))
        if path == "/tokens":
            return _answer(_token(request), 201, correlation)
        bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if not bearer:
            return _refusal(Refused(ErrorCode.UNAUTHENTICATED, "Sign in first."), correlation)
        caller = Caller(bearer.removeprefix("token-of-"), correlation)
        try:
            if path == "/operations/claim":
                body = Claim.model_validate_json(request.content)
                return _answer(await self._claim(caller, body), 200, correlation)
            return self._repeatable(caller, request, path)
        except Refused as refused:
            return _refusal(refused, correlation)
        except ValidationError as error:
            return _refusal(Refused(ErrorCode.INVALID_REQUEST, str(error)), correlation)

    def _told(self, request: httpx2.Request) -> TelemetryTaken:
        body = TelemetrySend.model_validate_json(request.content)
        self.telemetry.append(body)
        return TelemetryTaken(kept=len(body.lines) + len(body.spans), refused=0)

    async def _claim(self, caller: Caller, body: Claim) -> Claims:
        until = asyncio.get_running_loop().time() + body.wait_seconds
        while True:
            with self._world.transaction():
                leases.leases_sweep(self._world)
            with self._world.transaction():
                claims = leases.operation_claim(self._world, caller, body)
            if claims.items or asyncio.get_running_loop().time() >= until:
                return claims
            await asyncio.sleep(_LOOK_AGAIN)

    def _repeatable(self, caller: Caller, request: httpx2.Request, path: str) -> httpx2.Response:
        key = (caller.id, request.headers.get(IDEMPOTENCY_HEADER, ""))
        said = request.url.path.encode() + b"\0" + request.content
        if key[1] and key in self._answers:
            before, answer = self._answers[key]
            if before != said:
                raise Refused(ErrorCode.IDEMPOTENCY_CONFLICT, "The key was used for another.")
            return httpx2.Response(
                answer.status_code, content=answer.content, headers=answer.headers
            )
        for method, pattern, status, handler in self._routes:
            match = pattern.fullmatch(path)
            if method == request.method and match:
                with self._world.transaction():
                    made = handler(caller, request, match.groupdict().get("id", ""))
                answer = _answer(made, status, caller.correlation_id)
                if key[1]:
                    self._answers[key] = said, answer
                return answer
        raise Refused(ErrorCode.NOT_FOUND, f"The in-memory platform has no {path}.")


def _routes(world: World) -> list[tuple[str, str, int, Handler]]:
    def told(kind: type[BaseModel], handler: Callable[..., BaseModel]) -> Handler:
        return lambda caller, request, one: handler(
            world, caller, one, kind.model_validate_json(request.content)
        )

    def instances(_: Caller, request: httpx2.Request, project_id: str) -> BaseModel:
        slug = request.url.params.get("app_slug")
        return _page(
            one
            for one in world.instances.values()
            if slug in {None, one.app_slug} and project_id in {"", one.project_id}
        )

    lease = r"/operations/(?P<id>\w+)/"
    instance = r"/app-instances/(?P<id>\w+)"
    reads = asking_reads(world)
    return [
        ("POST", lease + "heartbeat", 200, told(Heartbeat, leases.operation_heartbeat)),
        ("POST", lease + "report", 200, told(Report, leases.operation_report)),
        ("POST", lease + "complete", 200, told(Completion, leases.operation_complete)),
        ("POST", lease + "fail", 200, told(Failure, leases.operation_fail)),
        ("POST", lease + "stopped", 200, told(Cancellation, leases.operation_stopped)),
        ("POST", lease + "release", 200, told(Release, leases.operation_release)),
        ("POST", lease + "cancel", 202, lambda _c, _r, one: asking.operation_cancel(world, one)),
        ("POST", lease + "retry", 202, lambda _c, _r, one: asking.operation_retry(world, one)),
        ("POST", lease + "abandon", 200, told(ReasonGiven, abandoning.operation_abandon)),
        ("POST", instance + "/observer", 200, told(Observe, leases.instance_observe)),
        ("POST", instance + "/report", 200, told(Observation, leases.instance_report)),
        ("POST", instance + "/operations", 202, told(OperationCreate, asking.operation_create)),
        (
            "POST",
            instance + "/reconcile",
            202,
            lambda caller, _, one: asking.instance_reconcile(world, caller, one),
        ),
        (
            "DELETE",
            instance,
            202,
            lambda caller, _, one: asking.instance_delete(world, caller, one),
        ),
        (
            "POST",
            r"/projects/(?P<id>\w+)/app-instances",
            202,
            told(InstanceCreate, asking.instance_create),
        ),
        ("GET", "/app-instances", 200, instances),
        ("GET", r"/projects/(?P<id>\w+)/app-instances", 200, instances),
        *reads,
    ]


def asking_reads(world: World) -> list[tuple[str, str, int, Handler]]:
    """Paths that only look."""
    return [
        ("GET", r"/app-instances/(?P<id>\w+)", 200, lambda _c, _r, one: world.instance(one)),
        ("GET", r"/operations/(?P<id>\w+)", 200, lambda _c, _r, one: world.operation(one)),
        (
            "GET",
            r"/app-instances/(?P<id>\w+)/members",
            200,
            lambda _c, _r, one: _page(reversed(world.live(one))),
        ),
        (
            "GET",
            r"/app-instances/(?P<id>\w+)/operations",
            200,
            lambda _c, _r, one: _page(
                row for row in reversed(world.operations.values()) if row.instance_id == one
            ),
        ),
    ]


class _Page(Page[Any]):
    """A page of anything."""


def _page(items: Any) -> BaseModel:  # noqa: ANN401 - any models
    found: Sequence[BaseModel] = list(items)
    return _Page(items=[json.loads(one.model_dump_json()) for one in found])


def _token(request: httpx2.Request) -> AccessToken:
    key = TokenExchange.model_validate_json(request.content).key
    return AccessToken(
        id="tok_memory",
        access_token=f"token-of-{key}",
        expires_in=900,
        expires_at=datetime.now(UTC) + timedelta(seconds=900),
        service_account_id=key,
        org_id="org_memory",
        project_id="proj_memory",
    )


def _answer(body: BaseModel, status: int, correlation_id: str) -> httpx2.Response:
    headers = {CORRELATION_HEADER: correlation_id, "Content-Type": "application/json"}
    return httpx2.Response(status, content=body.model_dump_json().encode(), headers=headers)


def _refusal(refused: Refused, correlation_id: str) -> httpx2.Response:
    kind = KINDS[refused.code]
    problem = Problem(
        title=kind.title,
        status=kind.status,
        detail=refused.detail,
        code=refused.code,
        correlation_id=correlation_id,
        retryable=kind.retryable,
        errors=refused.errors,
        next_actions=list(kind.next_actions),
    )
    return _answer(problem, kind.status, correlation_id)
