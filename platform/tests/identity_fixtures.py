"""A platform with its real authenticator and real people in it, for tests of the identity room."""

import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, Protocol

import httpx2
from app_pool import app_running

from gpuaas_contract.identity import CSRF_COOKIE
from gpuaas_platform.http.edge import Edge
from gpuaas_platform.identity.bootstrap import AdminWish, admin_create
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.clock import Clock
from gpuaas_platform.kernel.settings import Settings
from gpuaas_platform.main import platform_make

PASSWORD = "correct horse battery"
ADMIN = "root@example.org"
_numbers = count(1)


class MovingClock(Protocol):
    """The tests' clock, as these tests use it."""

    def advance(self, **how_long: float) -> None: ...


class World:
    """A served platform, and hands to reach it with."""

    def __init__(self, platform: Platform, edge: Edge) -> None:
        self.platform = platform
        self.edge = edge

    def browser(self, address: str = "127.0.0.1", url: str = "http://test") -> "Browser":
        """A client that keeps cookies, as somebody at this address."""
        transport = httpx2.ASGITransport(self.edge, client=(address, 12345))
        return Browser(httpx2.AsyncClient(transport=transport, base_url=f"{url}/api/v1"))

    async def admin(self) -> "Browser":
        """The platform's administrator, signed in."""
        await admin_create(self.platform, AdminWish(ADMIN, password=PASSWORD), "test")
        return await self.signed_in(ADMIN)

    async def signed_in(self, email: str) -> "Browser":
        """Somebody, signed in with the password everybody has here."""
        browser = self.browser()
        answer = await browser.post("/sessions", {"email": email, "password": PASSWORD})
        assert answer.status_code == 201, answer.text
        return browser

    async def person(self, admin: "Browser", role: str, scope: dict[str, Any]) -> "Browser":
        """A new person with a role at a place, signed in."""
        email = f"person{next(_numbers)}@example.org"
        org = scope.get("org_id")
        path = "/users" if org is None else f"/tenants/{org}/users"
        made = await admin.made(path, {"email": email, "password": PASSWORD})
        await admin.made(
            "/role-bindings", {"principal_id": made["id"], "role": role, "scope": scope}
        )
        browser = await self.signed_in(email)
        browser.user_id = made["id"]
        return browser


class Browser:
    """A client with cookies that sends the CSRF token along, as the console does."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self.client = client
        self.user_id = ""
        self.token: str | None = None

    def with_token(self, token: str) -> "Browser":
        """The same platform, but with a bearer token and no cookies."""
        made = Browser(
            httpx2.AsyncClient(transport=self.client._transport, base_url=self.client.base_url)
        )
        made.token = token
        return made

    async def get(self, path: str, **params: Any) -> httpx2.Response:
        return await self.client.get(path, params=params, headers=self._headers())

    async def post(self, path: str, body: Any, **headers: str) -> httpx2.Response:
        return await self.client.post(path, json=body, headers=self._headers(headers))

    async def patch(self, path: str, body: Any, **headers: str) -> httpx2.Response:
        return await self.client.patch(path, json=body, headers=self._headers(headers))

    async def put(self, path: str, body: Any) -> httpx2.Response:
        return await self.client.put(path, json=body, headers=self._headers())

    async def delete(self, path: str) -> httpx2.Response:
        return await self.client.delete(path, headers=self._headers())

    async def made(self, path: str, body: Any) -> dict[str, Any]:
        """Post what must succeed, and what it made."""
        answer = await self.post(path, body)
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def seen(self, path: str, **params: Any) -> dict[str, Any]:
        """Get what must be there."""
        answer = await self.get(path, **params)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def _headers(self, given: dict[str, str] | None = None) -> dict[str, str]:
        headers = {name.replace("_", "-"): value for name, value in (given or {}).items()}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        csrf = self.client.cookies.get(CSRF_COOKIE)
        if csrf is not None:
            headers.setdefault("X-CSRF-Token", csrf)
        return headers


@asynccontextmanager
async def world_running(
    database_url: str, settings: Settings, clock: Clock
) -> AsyncIterator[World]:
    """A platform on a database, with its own authenticator."""
    platform = dataclasses.replace(platform_make(settings, database_url), clock=clock)
    async with app_running(platform) as app:
        yield World(platform, Edge(app, max_body_bytes=settings.max_body_bytes))


def platform_scope() -> dict[str, Any]:
    return {"kind": "platform"}


def tenant_scope(org_id: str) -> dict[str, Any]:
    return {"kind": "tenant", "org_id": org_id}


def project_scope(org_id: str, project_id: str) -> dict[str, Any]:
    return {"kind": "project", "org_id": org_id, "project_id": project_id}


async def tenant_made(admin: Browser, name: str) -> tuple[str, str]:
    """A tenant with one project, and their ids."""
    tenant = await admin.made("/tenants", {"name": name})
    project = await admin.made(f"/tenants/{tenant['id']}/projects", {"name": "research"})
    return tenant["id"], project["id"]


async def operator_made(boss: Browser, project_id: str, name: str = "operator") -> dict[str, Any]:
    """A service account that operates apps in a project."""
    return await boss.made(
        f"/projects/{project_id}/service-accounts", {"name": name, "roles": ["app_operator"]}
    )


async def key_exchanged(boss: Browser, secret: str) -> httpx2.Response:
    """What a key is exchanged for."""
    nobody = boss.with_token("")
    nobody.token = None
    return await nobody.post("/tokens", {"grant_type": "service_account_key", "key": secret})
