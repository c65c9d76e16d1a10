"""The client: identity renewed, answers typed, repeats safe, errors by family."""

import json
from collections.abc import AsyncIterator, Callable, Iterator

import httpx2
import pytest

import gpuaas_sdk
from gpuaas_contract.errors import KINDS, ErrorCode
from gpuaas_contract.identity import Project, ProjectCreate
from gpuaas_contract.operate import Live
from gpuaas_sdk import (
    BearerToken,
    Client,
    ConflictError,
    GpuaasError,
    NotFoundError,
    Request,
    Retries,
    ServiceAccountKey,
    TemporaryError,
    UnreachableError,
)
from gpuaas_sdk.errors import problem_error
from gpuaas_sdk.events import frames

Handler = Callable[[httpx2.Request], httpx2.Response]
AT_ONCE = Retries(attempts=3, first_delay=0.0, longest_delay=0.0)
PROJECT = {
    "id": "proj_1",
    "org_id": "org_1",
    "name": "research",
    "display_name": "Research",
    "active": True,
    "revision": 1,
    "created_at": "2026-01-01T00:00:00Z",
    "a_field_added_later": True,
}


def client(handler: Handler, credentials: gpuaas_sdk.Credentials | None = None) -> Client:
    transport = httpx2.MockTransport(handler)
    return Client("http://platform", credentials, retries=AT_ONCE, transport=transport)


def problem(code: ErrorCode, **headers: str) -> httpx2.Response:
    kind = KINDS[code]
    body = {
        "title": kind.title,
        "status": kind.status,
        "detail": "because",
        "code": code,
        "correlation_id": "cor_1",
        "retryable": kind.retryable,
    }
    return httpx2.Response(kind.status, json=body, headers=headers)


async def test_answers_are_the_contracts_types() -> None:
    async with client(lambda _: httpx2.Response(200, json=PROJECT)) as platform:
        project = await platform.get("/projects/proj_1", Project)
    assert project.name == "research"


async def test_answer_of_another_shape_is_said_to_be_so() -> None:
    async with client(lambda _: httpx2.Response(200, json={"id": 1})) as platform:
        with pytest.raises(GpuaasError, match="may be older than the platform"):
            await platform.get("/projects/proj_1", Project)


async def test_mutation_repeats_with_one_key_and_one_correlation() -> None:
    seen: list[httpx2.Request] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        if len(seen) == 1:
            raise httpx2.ConnectError("reset")
        if len(seen) == 2:
            return problem(ErrorCode.UNAVAILABLE, **{"Retry-After": "0"})
        return httpx2.Response(201, json=PROJECT)

    async with client(handler) as platform:
        await platform.post("/tenants/org_1/projects", ProjectCreate(name="research"), Project)
    assert len({request.headers["Idempotency-Key"] for request in seen}) == 1
    assert len({request.headers["X-Correlation-ID"] for request in seen}) == 1
    assert json.loads(seen[-1].content) == {"name": "research"}


@pytest.mark.parametrize("token", ["gpk_one\ntwo", "gpk_schlüssel"])
async def test_a_token_no_header_can_carry_is_refused_and_never_said(token: str) -> None:
    def never(request: httpx2.Request) -> httpx2.Response:
        raise AssertionError(request.url)

    with pytest.raises(GpuaasError, match="Authorization") as refused:
        await client(never, BearerToken(token)).send(Request("GET", "/projects/proj_1"))
    assert "gpk_" not in str(refused.value)


async def test_reads_carry_no_idempotency_key() -> None:
    def handler(request: httpx2.Request) -> httpx2.Response:
        assert "Idempotency-Key" not in request.headers
        return httpx2.Response(200, json={"status": "live"})

    async with client(handler) as platform:
        await platform.get("/health/live", Live)


async def test_gives_up_after_its_attempts() -> None:
    calls = 0

    def handler(_: httpx2.Request) -> httpx2.Response:
        nonlocal calls
        calls += 1
        return problem(ErrorCode.RATE_LIMITED)

    async with client(handler) as platform:
        with pytest.raises(TemporaryError):
            await platform.get("/health/live", Live)
    assert calls == AT_ONCE.attempts


async def test_silence_is_unreachable_not_gone() -> None:
    def handler(_: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    async with client(handler) as platform:
        with pytest.raises(UnreachableError, match="refused"):
            await platform.get("/health/live", Live)


async def test_proxy_error_is_told_from_the_platforms() -> None:
    async with client(lambda _: httpx2.Response(502, text="<html>")) as platform:
        with pytest.raises(TemporaryError, match="did not come from the platform"):
            await platform.get("/health/live", Live)


class Tokens:
    """A platform that exchanges keys and accepts only its newest token."""

    def __init__(self) -> None:
        self.issued = 0

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.path == "/api/v1/tokens":
            self.issued += 1
            return httpx2.Response(
                200,
                json={
                    "id": "tok_1",
                    "access_token": f"gpt_{self.issued}",
                    "expires_in": 900,
                    "expires_at": "2026-01-01T00:15:00Z",
                    "service_account_id": "sa_1",
                    "org_id": "org_1",
                    "project_id": "proj_1",
                },
            )
        if request.headers["Authorization"] != f"Bearer gpt_{self.issued}":
            return problem(ErrorCode.TOKEN_EXPIRED)
        return httpx2.Response(200, json={"status": "live"})


async def test_key_is_exchanged_once_and_renewed_before_the_end() -> None:
    now = [0.0]
    platform = Tokens()
    async with client(platform, ServiceAccountKey("gpk_x", lambda: now[0])) as made:
        await made.get("/health/live", Live)
        await made.get("/health/live", Live)
        assert platform.issued == 1
        now[0] = 800.0
        await made.get("/health/live", Live)
        assert platform.issued == 2


async def test_refused_token_is_renewed_once() -> None:
    platform = Tokens()
    async with client(platform, ServiceAccountKey("gpk_x")) as made:
        await made.get("/health/live", Live)
        platform.issued += 1  # somebody else's exchange: ours is no longer the newest
        await made.get("/health/live", Live)


async def test_dead_token_fails_without_a_loop() -> None:
    async with client(
        lambda _: problem(ErrorCode.UNAUTHENTICATED), BearerToken("gpp_x")
    ) as platform:
        with pytest.raises(gpuaas_sdk.AuthenticationError):
            await platform.get("/health/live", Live)


async def test_pages_are_fetched_as_they_are_read() -> None:
    asked: list[str | None] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        asked.append(request.url.params.get("cursor"))
        last = asked[-1] == "c2"
        return httpx2.Response(
            200, json={"items": [PROJECT], "next_cursor": None if last else f"c{len(asked)}"}
        )

    async with client(handler) as platform:
        found = [project.id async for project in platform.pages("/projects", Project)]
    assert (len(found), asked) == (3, [None, "c1", "c2"])


@pytest.mark.parametrize("code", ErrorCode)
def test_every_code_has_its_family(code: ErrorCode) -> None:
    response = problem(code)
    error = problem_error(json.loads(response.content))
    assert isinstance(error, TemporaryError) == KINDS[code].retryable
    if not KINDS[code].retryable and KINDS[code].status == 409:
        assert isinstance(error, ConflictError)
    if code is ErrorCode.NOT_FOUND:
        assert isinstance(error, NotFoundError)
    assert error.code is code


def test_a_code_newer_than_this_sdk_is_told_as_it_came() -> None:
    said = json.loads(problem(ErrorCode.NOT_FOUND).content) | {"code": "gone_for_good"}
    error = problem_error(said)
    assert isinstance(error, NotFoundError)
    assert str(error) == "gone_for_good: because (correlation id cor_1)"
    assert (error.code, error.problem.status) == (ErrorCode.INVALID_REQUEST, 404)
    assert "cor_1" in str(error)


def test_delay_grows_within_its_bounds() -> None:
    retries = Retries(first_delay=1.0, longest_delay=8.0)
    for attempt, ceiling in enumerate([1.0, 2.0, 4.0, 8.0, 8.0]):
        assert ceiling / 2 <= retries.delay(attempt, None) <= ceiling
    assert retries.delay(0, asked=3.0) == 3.0
    assert retries.delay(0, asked=60.0) == 8.0


async def test_stream_frames() -> None:
    text = (
        ": ping\nid: 6\n\nid: 7\nevent: apps.instance.running\ndata: {\ndata: }\n\n"
        "event: stream.gap\ndata: x\n\ndata: last\n\n"
    )

    async def lines() -> AsyncIterator[str]:
        for line in _lines(text):
            yield line

    assert [data async for data in frames(lines())] == ["{\n}", "last"]


def _lines(text: str) -> Iterator[str]:
    yield from text.splitlines()


def test_public_surface_is_what_it_says() -> None:
    assert sorted(gpuaas_sdk.__all__) == gpuaas_sdk.__all__
    assert all(hasattr(gpuaas_sdk, name) for name in gpuaas_sdk.__all__)


async def test_request_keeps_a_given_key() -> None:
    def handler(request: httpx2.Request) -> httpx2.Response:
        assert request.headers["Idempotency-Key"] == "mine"
        assert request.headers["If-Match"] == '"3"'
        return httpx2.Response(200, json=PROJECT)

    async with client(handler) as platform:
        request = Request("PATCH", "/projects/proj_1", idempotency_key="mine", if_match='"3"')
        await platform.call(request, Project)
