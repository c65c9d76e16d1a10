"""The route index finds what the framework would have found, for every route there is."""

import re

import pytest
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.routing import Match

from gpuaas_platform.http.app import app_make
from gpuaas_platform.http.routing import _RouteIndex

APP = app_make(None)
INDEX = APP.router.routes[0]
ROUTES = [
    context
    for context in iter_route_contexts(APP.routes)
    if isinstance(context.original_route, APIRoute)
]
CASES = [(method, context.path or "") for context in ROUTES for method in context.methods or ()]


def test_the_index_is_asked_first() -> None:
    assert isinstance(INDEX, _RouteIndex)
    assert len(CASES) > 100


@pytest.mark.parametrize(("method", "template"), CASES)
def test_a_path_leads_where_asking_all_routes_in_turn_leads(method: str, template: str) -> None:
    path = re.sub(r"\{\w+\}", "a.b-c_1", template)
    first = next(r for r in ROUTES if r.path_regex.match(path) and method in (r.methods or ()))

    match, child = INDEX.matches(_scope(method, path))

    assert match is Match.FULL
    assert child["endpoint"] is first.endpoint
    assert child["route"] is first.original_route
    assert child["path_params"] == first.path_regex.match(path).groupdict()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", "/api/v1/projects"),  # another method: the framework says which there are
        ("GET", "/api/v1/projects/"),
        ("GET", "/api/v1/no-such-thing"),
        ("GET", "/api/v1/projects/a/b/c/d/e"),
        ("GET", "/"),
        ("GET", "*"),
    ],
)
def test_what_is_not_there_is_left_to_the_framework(method: str, path: str) -> None:
    assert INDEX.matches(_scope(method, path)) == (Match.NONE, {})


def _scope(method: str, path: str) -> dict[str, str]:
    return {"type": "http", "method": method, "path": path, "root_path": ""}
