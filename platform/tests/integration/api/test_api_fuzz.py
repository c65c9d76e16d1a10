"""Whatever is sent to any route, by an operator or a project's admin: no 5xx, nothing undocumented.

schemathesis makes the requests from the OpenAPI document: values at every boundary, values that
break the schema, and sequences in which one answer feeds the next request. The platform is a real
process on loopback with the scenario of `api_scenario.py` in it; each request is also sent about
the things that exist there, or nearly every answer would be a 404.
"""

import asyncio
import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
import pytest
import requests
from api_fuzzing import (
    STREAM,
    TIMEOUT,
    Api,
    Case,
    Told,
    config_make,
    schema_make,
    tamed,
    valid_request,
)
from api_routes import document, routes_of
from api_scenario import CLOSED_PORT, Scenario, scenario_build
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.errors import FlakyStrategyDefinition
from identity_fixtures import ADMIN, PASSWORD, Browser
from schemathesis.generation.hypothesis.builder import create_test
from schemathesis.specs.openapi.schemas import OpenApiSchema
from served_platform import served

from tools.suite.rotation import on_turn

DOCUMENT = document()
ROUTES = {route.operation_id: route for route in routes_of(DOCUMENT)}
# Every so many of the thousands of requests that the widest schemas give rise to; the others whole.
SAMPLED = {
    "manifest_validate": 60,
    "app_version_create": 60,
    "operation_report": 10,
    "operation_complete": 10,
    "operation_stopped": 10,
    "operation_fail": 10,
    "app_instance_report": 10,
    "user_create": 4,  # a password takes a while to hash, as it should
    "tenant_user_create": 4,
    "user_password_set": 4,
    "personal_token_create": 4,  # which tokens may not do
}
ROUNDS = 5
SEQUENCES = settings(
    max_examples=8,
    stateful_step_count=10,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def schema() -> OpenApiSchema:
    return schema_make(DOCUMENT)


@pytest.fixture(scope="module")
def api(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A platform process on a database of its own, with the scenario in it."""
    name = f"fuzz_{os.getpid()}"
    asyncio.run(_sql(postgres_url, f"CREATE DATABASE {name}"))
    password: Path = tmp_path_factory.mktemp("fuzz") / "password"
    password.write_text(PASSWORD)
    environment = {
        "DATABASE_URL": postgres_url.replace("/gpuaas?", f"/{name}?"),
        "BOOTSTRAP_ADMIN_EMAIL": ADMIN,
        "BOOTSTRAP_ADMIN_PASSWORD_FILE": str(password),
        "RATE_LIMIT_PER_SECOND": "1e6",
        "RATE_LIMIT_BURST": "1000000",
        "WEBHOOK_ALLOWED_NETWORKS": '["127.0.0.0/8"]',
        "WEBHOOK_ATTEMPTS": "1",
        "OIDC_ISSUER": CLOSED_PORT,
        "OIDC_CLIENT_ID": "gpuaas",
        "DNS_SERVERS": '["127.0.0.1:9"]',
    }
    with served(**environment) as platform, requests.Session() as session:
        url = platform.await_listening()
        scenario = asyncio.run(_scenario(url))
        yield Api(url, scenario, session)
        for who, path in (("root", "nodes"), ("lead", f"projects/{scenario.params['project_id']}")):
            told = session.get(f"{url}/{path}", headers=scenario.headers(who), timeout=TIMEOUT)
            assert told.status_code == 200, f"{who} was shut out: {told.text}"
    asyncio.run(_sql(postgres_url, f"DROP DATABASE {name} WITH (FORCE)"))


def test_good_requests_get_what_is_documented(api: Api, schema: OpenApiSchema) -> None:
    """Each route once as it is meant, before anything odd was sent. Removals come last of all."""
    for route in ROUTES.values():
        if route.method != "DELETE":
            operation = schema.find_operation_by_id(route.operation_id)
            api.ask(valid_request(operation, route, api.scenario), route.case.by)


# `schema.parametrize()` would make all requests while tests are collected, each time.
@pytest.mark.parametrize("operation_id", on_turn("each route fuzzed", list(ROUTES)))
def test_no_answer_is_undocumented(operation_id: str, api: Api, schema: OpenApiSchema) -> None:
    route, numbers, turns = ROUTES[operation_id], count(1), count()

    def asked(case: Case) -> None:
        if next(numbers) % SAMPLED.get(operation_id, 1):
            return
        tamed(case)
        turn = next(turns)
        if route.method == "DELETE":  # others still ask about what there is
            api.ask(case, "root")
            return
        if route.names:
            if turn % 4 == 0:
                api.ask(case, "root")
            case.path_parameters = route.filled(api.scenario.params)
        api.ask(case, "lead" if turn % 2 else "root")

    operation = schema.find_operation_by_id(operation_id)
    create_test(operation=operation, test_func=asked, config=config_make(schema, operation))()


def test_sequences_of_requests_hold_too(api: Api, schema: OpenApiSchema) -> None:
    """What one request made is read, changed and removed by the next ones."""
    told = Told()
    machine: Any = schema.exclude(operation_id=STREAM).as_state_machine()

    class Sequence(machine):  # type: ignore[misc] # a class made at run time
        def before_call(self, case: Case) -> None:
            tamed(case)

        def get_call_kwargs(self, _: Case) -> dict[str, Any]:
            return api.call_kwargs("root")

        def validate_response(self, response: Any, case: Case, **_: Any) -> None:
            told.judge(response, case)

    for number in range(ROUNDS):
        # A sequence that is tried again meets what it left before; that ends a round, no more.
        with suppress(FlakyStrategyDefinition):
            seed(number)(Sequence).run(settings=SEQUENCES)
        assert not told.faults, told.faults[0]
    assert len(told.done) > 25, f"the sequences led nowhere: {told.done}"


def test_good_removals_get_what_is_documented(api: Api, schema: OpenApiSchema) -> None:
    for route in ROUTES.values():
        if route.method == "DELETE":
            operation = schema.find_operation_by_id(route.operation_id)
            api.ask(valid_request(operation, route, api.scenario), route.case.by)


async def _scenario(url: str) -> Scenario:
    async with httpx2.AsyncHTTPTransport() as transport:

        def browser() -> Browser:
            client = httpx2.AsyncClient(base_url=url, timeout=TIMEOUT, transport=transport)
            return Browser(client)

        root = browser()
        answer = await root.post("/sessions", {"email": ADMIN, "password": PASSWORD})
        assert answer.status_code == 201, answer.text
        return await scenario_build(browser, root)


async def _sql(url: str, statement: str) -> None:
    connection: Any = await asyncpg.connect(url)
    await connection.execute(statement)
    await connection.close()
