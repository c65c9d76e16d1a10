"""How generated requests are sent and judged: the checks, what is spared, who asks.

Used by `test_api_fuzz.py`. Every answer must be one the route declares, in form and content, or a
problem document as the contract has it; no answer may be a 5xx.
"""

import copy
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import requests
import schemathesis
from api_routes import Route
from api_scenario import Scenario
from schemathesis import CheckContext
from schemathesis.checks import not_a_server_error
from schemathesis.generation.hypothesis.builder import HypothesisTestConfig, HypothesisTestMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.specs.openapi.schemas import OpenApiSchema

from gpuaas_contract.artifacts import CONTENT_MEDIA_TYPE
from gpuaas_contract.common import CORRELATION_HEADER
from gpuaas_contract.errors import KINDS, MEDIA_TYPE, ErrorCode
from gpuaas_contract.events import EVENT_STREAM_MEDIA_TYPE

Case: TypeAlias = schemathesis.Case[Any]
Operation: TypeAlias = schemathesis.APIOperation[Any, Any, Any, Any]

STREAM = "event_stream"
TIMEOUT = 60
# Headers that mean the same on every route are varied on these alone.
_HEADERS_VARIED = {"tenant_read", "gap_create", "gap_update"}
# What one request may not do to the others: shut somebody or everybody out.
_SPARED = {
    "tenant_update": "active",
    "project_update": "active",
    "user_update": "active",
    "service_account_update": "active",
}
# Answers of the 500s that are right here: nothing listens where the provider and the name server
# should be.
_UNREACHABLE = {"oidc_start": 503, "tenant_domain_verify": 503}
_CONFIG = {
    "seed": 20260101,
    "generation": {"deterministic": True, "max-examples": 5, "mode": "all"},
    "phases": {"coverage": {"unexpected-methods": []}},
}


@dataclass(frozen=True)
class Api:
    """The served platform and who asks it."""

    url: str
    scenario: Scenario
    session: requests.Session

    def ask(self, case: Case, who: str) -> None:
        """Send a generated request and judge the answer."""
        if _name(case) == STREAM:
            self._stream(case, who)
        else:
            case.validate_response(case.call(**self.call_kwargs(who)), checks=CHECKS)

    def call_kwargs(self, who: str) -> dict[str, Any]:
        """How a request goes out."""
        return {
            "base_url": self.url.removesuffix("/api/v1"),
            "session": self.session,
            "headers": self.scenario.headers(who),
            "timeout": TIMEOUT,
            "allow_redirects": False,
        }

    def _stream(self, case: Case, who: str) -> None:
        """The endless one: how it begins is enough, then the client goes away."""
        sent = case.as_transport_kwargs(
            base_url=self.url.removesuffix("/api/v1"), headers=self.scenario.headers(who)
        )
        with self.session.request(**sent, stream=True, timeout=TIMEOUT) as answer:
            if answer.status_code != 200:
                case.validate_response(answer, checks=CHECKS)
                return
            assert answer.headers["content-type"].startswith(EVENT_STREAM_MEDIA_TYPE)
            assert answer.headers[CORRELATION_HEADER]
            assert next(answer.iter_content(6)) == b"retry:"


@dataclass
class Told:
    """What sequences met: faults, and which routes succeeded how often."""

    faults: list[BaseException] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)

    def judge(self, response: schemathesis.Response, case: Case) -> None:
        """Check an answer."""
        try:
            case.validate_response(response, checks=CHECKS)
        except BaseException as fault:
            self.faults.append(fault)
            raise
        if response.status_code < 300:
            self.done[_name(case)] += 1


def schema_make(document: Mapping[str, Any]) -> OpenApiSchema:
    """The document as schemathesis reads it."""
    said = copy.deepcopy(dict(document))
    for item in said["paths"].values():
        for operation in item.values():
            if operation["operationId"] not in _HEADERS_VARIED:
                own = [one for one in operation["parameters"] if "$ref" not in one]
                operation["parameters"] = own
    return schemathesis.openapi.from_dict(said, config=schemathesis.Config.from_dict(_CONFIG))


def config_make(schema: OpenApiSchema, operation: Operation) -> HypothesisTestConfig:
    """Boundaries, broken values, examples and random requests, the same in each run."""
    config = schema.config
    return HypothesisTestConfig(
        settings=config.get_hypothesis_settings(operation=operation, phase="fuzzing"),
        modes=list(HypothesisTestMode),
        seed=config.seed,
        project=config,
    )


def valid_request(operation: Operation, route: Route, scenario: Scenario) -> Case:
    """The request that is known to be good."""
    made: dict[str, Any] = {"query": dict(route.case.query)}
    if route.names:
        made["path_parameters"] = route.filled(scenario.params)
    if route.case.body is not None:
        made |= {"body": route.case.body(scenario.params), "media_type": "application/json"}
    if route.case.content is not None:
        made |= {"body": route.case.content, "media_type": CONTENT_MEDIA_TYPE}
        made |= {"headers": dict(route.case.headers)}
    return operation.Case(**made)


def tamed(case: Case) -> None:
    """Nobody is shut out who is needed afterwards, and long polls are not for long."""
    query, body = case.query, case.body
    if str(query.get("wait", "")).endswith("s"):
        query["wait"] = "20ms"
    if not isinstance(body, dict):
        return
    body.pop(_SPARED.get(_name(case), ""), None)
    if "wait_seconds" in body:
        with suppress(TypeError, ValueError):  # a number in quotes is a number too
            body["wait_seconds"] = min(float(str(body["wait_seconds"])), 0.02)


def problems_are_told(_: CheckContext, response: schemathesis.Response, case: Case) -> None:
    """A success is one the route declares; all else is a problem as the contract has it."""
    status = response.status_code
    declared = str(status) in case.operation.definition.raw["responses"]
    assert declared or status >= 400, f"{status} is not declared"
    if declared:
        return
    told = response.json()
    assert response.headers["content-type"] == [MEDIA_TYPE]
    assert told["status"] == status == KINDS[ErrorCode(told["code"])].status
    assert [told["correlation_id"]] == response.headers[CORRELATION_HEADER.lower()]


def no_server_error(ctx: CheckContext, response: schemathesis.Response, case: Case) -> None:
    """No 5xx, but where something the platform needs is not there."""
    if _UNREACHABLE.get(_name(case)) != response.status_code:
        not_a_server_error(ctx, response, case)


CHECKS = [
    no_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    problems_are_told,
]


def _name(case: Case) -> str:
    return str(case.operation.definition.raw["operationId"])
