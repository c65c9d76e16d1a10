"""Finds the route of a request by the words of its path, instead of asking every route in turn.

Put before all other routes by `http/app.py`. The framework keeps each room's router inside the
application's and asks their routes one after the other, once on every level; with this many routes
that costs more than most answers. What is not found here (another method, another path) the
framework answers as ever, so this must find exactly what the framework would have found first.
"""

from dataclasses import dataclass
from re import Pattern
from typing import Any, Final

from fastapi import FastAPI
from fastapi.routing import APIRoute, RouteContext, iter_route_contexts
from starlette.convertors import StringConvertor
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

_FOUND: Final = "gpuaas.route"
_Words = tuple[str, int, str]


def route_index_install(app: FastAPI) -> None:
    """Index all routes the application has by now."""
    app.router.routes.insert(0, _RouteIndex(app))


@dataclass(frozen=True, slots=True)
class _Entry:
    path: Pattern[str]
    route: BaseRoute
    endpoint: Any
    app: ASGIApp


class _RouteIndex(BaseRoute):
    """Routes by their method, the number of words in their path, and the first that differs."""

    def __init__(self, app: FastAPI) -> None:
        self._entries: dict[_Words, list[_Entry]] = {}
        for context in iter_route_contexts(app.routes):
            route = context.original_route
            if not isinstance(route, APIRoute):
                continue
            if not _plain(context):
                break  # it may stand for any number of words: what follows it is not ours to find
            entry = _Entry(context.path_regex, route, context.endpoint, context.app)
            for method in context.methods or ():
                self._entries.setdefault(_words(method, context.path or ""), []).append(entry)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """The first route that takes this path and method, if there is one."""
        if scope["type"] != "http" or scope.get("root_path"):
            return Match.NONE, {}
        path = scope["path"]
        for entry in self._entries.get(_words(scope["method"], path), ()):
            found = entry.path.match(path)
            if found is not None:
                return Match.FULL, {
                    "endpoint": entry.endpoint,
                    "path_params": found.groupdict(),
                    "route": entry.route,
                    _FOUND: entry,
                }
        return Match.NONE, {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request by the route that was found."""
        entry: _Entry = scope[_FOUND]
        await entry.app(scope, receive, send)


def _plain(context: RouteContext) -> bool:
    """Whether every parameter is one word, taken as it is, and none is the word looked up by."""
    _, _, word = _words("", context.path or "")
    convertors = context.param_convertors.values()
    return "{" not in word and all(type(one) is StringConvertor for one in convertors)


def _words(method: str, path: str) -> _Words:
    """What a path and its route have in common; the first word that differs is the third."""
    parts = path.split("/", 4)
    return method, path.count("/"), parts[3] if len(parts) > 3 else ""
