"""Every route as the OpenAPI document tells it, and how a test asks it with a case's request."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx2
from api_case import At, Case
from api_cases import CASES

from gpuaas_contract.common import API_PREFIX
from gpuaas_platform.http.app import app_make

_METHODS = frozenset({"get", "put", "post", "delete", "patch"})


@dataclass(frozen=True)
class Route:
    """One operation of the document."""

    operation_id: str
    method: str
    path: str
    spec: Mapping[str, Any]

    @property
    def case(self) -> Case:
        """How the tests ask it."""
        return CASES[self.operation_id]

    @property
    def names(self) -> list[str]:
        """Its path parameters."""
        return re.findall(r"{(\w+)}", self.path)

    @property
    def changes(self) -> bool:
        """Whether it is a mutation."""
        return self.method != "GET" and not self.case.reads

    def filled(self, values: Mapping[str, str]) -> dict[str, str]:
        """Its path parameters with the things a scenario has for them."""
        return {name: values[self.case.params.get(name, name)] for name in self.names}

    async def ask(
        self, client: httpx2.AsyncClient, values: Mapping[str, str], headers: Mapping[str, str]
    ) -> httpx2.Response:
        """The case's request."""
        body = None if self.case.body is None else self.case.body(values)
        return await client.request(
            self.method,
            self.path.format(**self.filled(values)),
            params=dict(self.case.query),
            json=body,
            content=self.case.content,
            headers={**self.case.headers, **headers},
        )


def document() -> dict[str, Any]:
    """The OpenAPI document of the code as it is."""
    return app_make(None).openapi()


def routes_of(said: Mapping[str, Any]) -> list[Route]:
    """All routes: reads first, removals last, so that what is asked about exists."""
    found = [
        Route(spec["operationId"], method.upper(), path.removeprefix(API_PREFIX), spec)
        for path, item in said["paths"].items()
        for method, spec in item.items()
        if method in _METHODS
    ]
    order = {"GET": 0, "POST": 1, "PUT": 1, "PATCH": 1, "DELETE": 2}
    return sorted(found, key=lambda route: order[route.method])


def closed(route: Route) -> bool:
    """Whether a caller must be known."""
    return route.case.at is not At.OPEN
