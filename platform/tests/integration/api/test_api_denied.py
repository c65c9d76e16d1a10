"""Every route of the API, asked with every wrong identity: refused, unseen, and on the record.

Generated from the OpenAPI document: a route without a case in `api_cases.py` fails here. Nothing
of a tenant is told to another, not even that it exists; a refusal changes nothing and a refused
mutation leaves exactly one audit row.
"""

import re

import httpx2
import pytest
from api_case import At
from api_cases import CASES
from api_references import BODIES, FILTERS, IN_CASES, NO_REFERENCE, body_fields, query_fields
from api_routes import Route, closed, document, routes_of
from api_scenario import Scenario
from api_witness import audit_faults, hidden_words, streamed, unchanged
from identity_fixtures import World, project_scope

from gpuaas_contract.common import CORRELATION_HEADER
from gpuaas_contract.errors import MEDIA_TYPE

DOCUMENT = document()
ROUTES = routes_of(DOCUMENT)
_STREAM = "event_stream"
_ID = re.compile(r"([a-z]+)_[0-7][0-9a-z]{25}")
# Refused to tokens, also to one's own.
_SESSION_ONLY = {
    "personal_token_create": 403,
    "recovery_codes_create": 403,
    "second_factor_confirm": 403,
    "second_factor_create": 403,
    "second_factor_remove": 403,
    "session_end_all": 403,
}
_JSON = {"application/json", MEDIA_TYPE}
_UNKNOWN_NAMES = {"correlation_id": "nobody-knows", "slug": "nothing", "version": "9.9.9"}


def test_every_route_has_a_case() -> None:
    told = {route.operation_id for route in ROUTES}
    missing = [
        f"{route.method} {route.path} ({route.operation_id}): add a Case to platform/tests/"
        "api_cases.py that says whose it is and what a valid request looks like"
        for route in ROUTES
        if route.operation_id not in CASES
    ]
    assert not missing, "\n".join(missing)
    assert set(CASES) == told, f"cases of routes that are gone: {sorted(set(CASES) - told)}"
    bodies = [r.operation_id for r in ROUTES if ("requestBody" in r.spec) != _sends(r)]
    assert not bodies, f"a body is missing in the case, or one too many: {bodies}"


def test_only_the_listed_routes_are_open() -> None:
    """The document says the same: every other route names the ways to be known."""
    said_open = {route.operation_id for route in ROUTES if not route.spec.get("security")}
    assert said_open == {route.operation_id for route in ROUTES if not closed(route)}
    assert all(route.case.why for route in ROUTES if not closed(route))


async def test_every_path_parameter_is_a_real_thing(scenario: Scenario) -> None:
    wanted = {route.case.params.get(n, n): route.path for route in ROUTES for n in route.names}
    missing = {name: path for name, path in wanted.items() if name not in scenario.params}
    assert not missing, f"make these in platform/tests/api_scenario.py: {missing}"


# The first that asks as the stranger: later, the stranger's own refusals are in their audit.
async def test_reads_show_a_stranger_nothing(world: World, scenario: Scenario) -> None:
    await _reads_show_nothing(world, scenario, "stranger")


async def test_reads_show_a_neighbour_nothing(world: World, scenario: Scenario) -> None:
    await _reads_show_nothing(world, scenario, "neighbour")


async def test_reads_need_a_role_that_reads(world: World, scenario: Scenario) -> None:
    """Somebody in the project itself, whose role reads nothing."""
    wrong = []
    async with unchanged(world.platform), _client(scenario) as client:
        for route in _reads():
            answer = await route.ask(client, scenario.params, scenario.headers("bystander"))
            lists = {At.REACH: (200, 403), At.OWN: _own(route), At.COMMON: (200, 403)}
            expected = lists.get(route.case.at, (403, 404))
            if route.case.at is At.TENANT:
                expected = (200, 403, 404)
            wrong += _judged(route, answer, expected)
            if answer.status_code == 200 and route.case.at is not At.OWN:
                wrong += _leaks(
                    route, answer.text, await hidden_words(world, scenario, "neighbour")
                )
        assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("kind", ["none", "expired", "revoked"])
async def test_nobody_is_let_in(world: World, scenario: Scenario, kind: str) -> None:
    tokens = {name: secret for name, secret in scenario.ended.items() if kind in name}
    offered: list[dict[str, str]] = [{"Authorization": f"Bearer {t}"} for t in tokens.values()]
    code = "token_expired" if kind == "expired" else "unauthenticated"
    wrong = []
    async with unchanged(world.platform), _client(scenario) as client:
        for route in filter(closed, ROUTES):
            for headers in offered or [{}]:
                answer = await route.ask(client, scenario.params, headers)
                wrong += _judged(route, answer, (401,), code)
                if "Bearer" not in answer.headers.get("www-authenticate", ""):
                    wrong.append(f"{route.operation_id}: no challenge")
        assert not wrong, "\n".join(wrong)


async def test_open_doors_are_shut_to_ended_keys(world: World, scenario: Scenario) -> None:
    async with unchanged(world.platform), _client(scenario) as client:
        for key in scenario.ended_keys.values():
            answer = await client.post("/tokens", json={"key": key})
            assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")


@pytest.mark.parametrize("who", ["stranger", "neighbour", "viewer"])
async def test_changes_are_refused(world: World, scenario: Scenario, who: str) -> None:
    """404 where the caller may not know of the place, 403 where they do; one audit row each."""
    wrong = []
    audited = {}
    changes = [route for route in ROUTES if closed(route) and route.changes]
    async with unchanged(world.platform), _client(scenario) as client:
        for route in changes:
            mark = f"denied.{who}.{route.operation_id}"
            headers = scenario.headers(who) | {CORRELATION_HEADER: mark}
            answer = await route.ask(client, scenario.params, headers)
            wrong += _judged(route, answer, (_refusal(route, who),))
            audited[mark] = int(route.case.at is not At.OWN or route.operation_id in _SESSION_ONLY)
        wrong += await audit_faults(world.platform, audited)
        assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("who", ["stranger", "neighbour"])
async def test_hidden_reads_like_unknown(world: World, scenario: Scenario, who: str) -> None:
    """Whether an id exists cannot be told from the refusal of it."""
    unknown = {name: _unknown(value) for name, value in scenario.params.items()} | _UNKNOWN_NAMES
    wrong, compared = [], 0
    async with unchanged(world.platform), _client(scenario) as client:
        for route in filter(closed, ROUTES):
            if not _names_something(route) or route.operation_id == _STREAM:
                continue
            headers = scenario.headers(who)
            hidden = await route.ask(client, scenario.params, headers)
            if hidden.status_code != 404:
                continue
            missing = await route.ask(client, unknown, headers)
            compared += 1
            if _told(hidden) != _told(missing):
                wrong.append(f"{route.operation_id}: {hidden.text} is not {missing.text}")
        assert not wrong, "\n".join(wrong)
    assert compared > len(ROUTES) / 3


def test_every_reference_is_known() -> None:
    known = set(BODIES) | IN_CASES | set(NO_REFERENCE)
    missing = set(body_fields(ROUTES, DOCUMENT["components"]["schemas"])) - known
    assert not missing, f"add these to platform/tests/api_references.py: {sorted(missing)}"
    filters = {name for _, name in query_fields(ROUTES)} - set(FILTERS)
    assert not filters, f"add these filters to platform/tests/api_references.py: {filters}"


async def test_a_body_cannot_find_out_what_exists(world: World, scenario: Scenario) -> None:
    own = {
        "own_scope": project_scope(scenario.strangers["org_id"], scenario.strangers["project_id"])
    }
    wrong = []
    async with unchanged(world.platform), _client(scenario) as client:
        for (operation_id, field), reference in BODIES.items():
            route = next(r for r in ROUTES if r.operation_id == operation_id)
            mine = scenario.params | (scenario.strangers if reference.by != "lead" else {})
            path = route.path.format(**route.filled(mine))
            told = []
            for ref in (
                scenario.params[reference.hidden],
                _unknown(scenario.params[reference.hidden]),
            ):
                body = reference.body(ref, own)
                if reference.by.endswith("session"):
                    answer = await scenario.people["stranger"].post(path, body)
                else:
                    headers = scenario.headers(reference.by)
                    answer = await client.request(route.method, path, json=body, headers=headers)
                told.append((answer.status_code, _told(answer)[1].replace(ref, "?")))
            if told[0] != told[1] or told[0][0] < 400:
                wrong.append(f"{operation_id} {field}: {told[0]} is not {told[1]}")
        assert not wrong, "\n".join(wrong)


async def test_a_filter_cannot_find_out_what_exists(world: World, scenario: Scenario) -> None:
    wrong = []
    async with unchanged(world.platform), _client(scenario) as client:
        for route, name in query_fields(ROUTES):
            if route.operation_id == _STREAM:
                continue
            hidden = scenario.params[FILTERS[name]]
            mine = scenario.params | scenario.strangers
            told = []
            for ref in (hidden, _unknown(hidden) if _ID.fullmatch(hidden) else "nobody-knows"):
                answer = await client.get(
                    route.path.format(**route.filled(mine)),
                    params={name: ref},
                    headers=scenario.headers("stranger"),
                )
                told.append((answer.status_code, _bare(answer).replace(ref, "?")))
            if told[0] != told[1]:
                wrong.append(f"{route.operation_id} ?{name}: {told[0]} is not {told[1]}")
        assert not wrong, "\n".join(wrong)


async def test_an_update_of_what_has_changed_is_refused(world: World, scenario: Scenario) -> None:
    """Whatever the document says takes an `If-Match` heeds it."""
    wrong = []
    async with unchanged(world.platform), _client(scenario) as client:
        for route in ROUTES:
            if {"$ref": "#/components/parameters/IfMatch"} not in route.spec["parameters"]:
                continue
            headers = scenario.headers(route.case.by) | {"If-Match": '"999999"'}
            answer = await route.ask(client, scenario.params, headers)
            wrong += _judged(route, answer, (412,))
        assert not wrong, "\n".join(wrong)


async def test_those_who_may_are_not_refused(scenario: Scenario) -> None:
    """The cases are good requests: what was refused above is granted here. Comes last."""
    wrong = []
    async with _client(scenario) as client:
        for route in filter(closed, ROUTES):
            if route.operation_id == _STREAM:
                continue
            if "session" in route.case.why or route.operation_id in _SESSION_ONLY:
                continue
            answer = await route.ask(client, scenario.params, scenario.headers(route.case.by))
            if answer.status_code in {401, 403, 404, 405, 415, 422} or answer.is_server_error:
                wrong.append(f"{route.operation_id}: {answer.status_code} {answer.text}")
    assert not wrong, "\n".join(wrong)


async def _reads_show_nothing(world: World, scenario: Scenario, who: str) -> None:
    hidden = await hidden_words(world, scenario, who)
    wrong = []
    async with unchanged(world.platform), _client(scenario) as client:
        for route in _reads():
            answer = await route.ask(client, scenario.params, scenario.headers(who))
            wrong += _judged(route, answer, _read_expected(route, who))
            wrong += _leaks(route, answer.text, hidden)
        shown = await streamed(world, scenario.headers(who))
        assert "200" in shown.split("\n")[0], shown
        wrong += _leaks(next(r for r in ROUTES if r.operation_id == _STREAM), shown, hidden)
        assert not wrong, "\n".join(wrong)


def _reads() -> list[Route]:
    """Routes that change nothing, the endless one aside."""
    found = [r for r in ROUTES if closed(r) and not r.changes]
    return [route for route in found if route.operation_id != _STREAM]


def _read_expected(route: Route, who: str) -> tuple[int, ...]:
    if route.case.at is At.OWN:
        return _own(route)
    if route.case.at in {At.REACH, At.COMMON}:
        return (200, 403)
    if route.case.at is At.PLATFORM:
        return (403,)
    if route.case.at is At.TENANT and who == "neighbour":
        return (200, 403)  # of their own tenant; nothing of the project may be in it
    return (404,)


def _own(route: Route) -> tuple[int, ...]:
    return (404,) if route.names else (200,)


def _refusal(route: Route, who: str) -> int:
    if route.operation_id in _SESSION_ONLY:
        return _SESSION_ONLY[route.operation_id]
    home = route.case.at
    if home is At.OWN:
        return 404
    unseen = {"stranger": {At.TENANT, At.PROJECT}, "neighbour": {At.PROJECT}}
    return 404 if home in unseen.get(who, set()) else 403


def _judged(
    route: Route, answer: httpx2.Response, expected: tuple[int, ...], code: str | None = None
) -> list[str]:
    told = answer.json() if answer.headers.get("content-type") in _JSON else {}
    right = answer.status_code in expected and code in {None, told.get("code")}
    if right:
        return []
    wanted = " or ".join(str(status) for status in expected)
    named = f"{route.method} {route.path} ({route.operation_id})"
    return [f"{named}: {answer.status_code}, not {wanted}: {answer.text[:300]}"]


def _leaks(route: Route, text: str, hidden: set[str]) -> list[str]:
    found = sorted(word for word in hidden if word in text)
    return [f"{route.operation_id} tells {found[:5]}"] if found else []


def _sends(route: Route) -> bool:
    return route.case.body is not None or route.case.content is not None


def _names_something(route: Route) -> bool:
    return bool(route.names) or route.case.body is not None


def _unknown(value: str) -> str:
    """An id of the same kind that nothing has."""
    match = _ID.fullmatch(value)
    return value if match is None else f"{match[1]}_{'0' * 24}zz"


def _told(answer: httpx2.Response) -> tuple[int, str, list[str]]:
    return answer.status_code, _bare(answer), sorted(answer.headers)


def _bare(answer: httpx2.Response) -> str:
    """An answer without the id that is new each time."""
    return answer.text.replace(answer.headers[CORRELATION_HEADER], "")


def _client(scenario: Scenario) -> httpx2.AsyncClient:
    return scenario.root.with_token("").client
