"""Whether lists, reads and claims of operations cost the same at 10^3 and at 10^6 operations.

The whole application in process on a real embedded PostgreSQL; every figure is one request from
the caller's side. The operations are copies of one that was really requested. Run it with
`python -m bench.apps`, or through `make bench`.
"""

from __future__ import annotations

import asyncio
import dataclasses
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
from fastapi import Request

from gpuaas_platform.http.app import app_make
from gpuaas_platform.http.edge import Edge
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.caller import SYSTEM, Caller
from gpuaas_platform.kernel.embedded import EmbeddedPostgres
from gpuaas_platform.kernel.logs import logs_configure
from gpuaas_platform.kernel.migrate import migrate
from gpuaas_platform.kernel.settings import Settings
from gpuaas_platform.main import platform_make

SIZES = (1_000, 1_000_000)
LIMIT = 1.5
_ROUNDS = 200
_WARM = 20  # the first ones fill caches and plans
_INSTANCES = 20
_PAGE = {"limit": "50"}
_CLAIM = {
    "app_slug": "bench",
    "controller": {"replica": "bench-0"},
    "capacity": 10,
    "lease_seconds": 600,
}


@dataclass(frozen=True)
class Row:
    """One figure."""

    name: str
    value: float
    unit: str
    note: str = ""


@dataclass(frozen=True)
class Side:
    """One platform with so many operations."""

    size: int
    platform: Platform
    client: httpx2.AsyncClient
    project_id: str
    operation_id: str

    async def project_list(self) -> httpx2.Response:
        """A page of 50 of a project's operations."""
        return await self.client.get(f"/projects/{self.project_id}/operations", params=_PAGE)

    async def instance_list(self) -> httpx2.Response:
        """A page of 50 of an instance's operations."""
        return await self.client.get("/app-instances/inst_7/operations", params=_PAGE)

    async def read(self) -> httpx2.Response:
        """One operation."""
        return await self.client.get(f"/operations/{self.operation_id}")

    async def timeline(self) -> httpx2.Response:
        """Everything that carries one correlation id: a request, an audit entry, an event, …"""
        return await self.client.get("/correlations/cor-500")

    async def claim(self) -> httpx2.Response:
        """Ten operations claimed at once."""
        return await self.client.post("/operations/claim", json=_CLAIM)

    async def put_back(self) -> None:
        """Let what was claimed be claimed again."""
        await self.platform.db.execute(
            "UPDATE operations SET status = 'requested', ready = true, lease_token_hash = NULL,"
            " lease_holder = NULL, lease_replica = NULL, lease_until = NULL"
            " WHERE status = 'accepted'"
        )


async def measure(sizes: tuple[int, int] = SIZES) -> list[Row]:
    """Two platforms, few and many operations, asked in turn so that noise falls on both."""
    async with AsyncExitStack() as stack:
        server = stack.enter_context(_server())
        sides = [await _side(stack, server, size) for size in sizes]
        figures = {
            "list of a project, 50 of them": await _medians(sides, Side.project_list),
            "list of an instance, 50 of them": await _medians(sides, Side.instance_list),
            "read of one": await _medians(sides, Side.read),
            "timeline of one correlation id": await _medians(sides, Side.timeline),
            "claim of 10": await _medians(sides, Side.claim, Side.put_back),
        }
    rows = []
    for name, medians in figures.items():
        for size, milliseconds in zip(sizes, medians, strict=True):
            rows.append(Row(f"{name} at {size:,} operations", milliseconds, "ms", "median"))
        growth = medians[1] / medians[0]
        note = "within" if growth <= LIMIT else "OVER"
        rows.append(Row(f"{name}: growth", growth, "x", f"{note} the limit of {LIMIT}"))
    return rows


async def _medians(
    sides: Sequence[Side],
    ask: Callable[[Side], Awaitable[httpx2.Response]],
    after: Callable[[Side], Awaitable[None]] | None = None,
) -> list[float]:
    taken: list[list[float]] = [[] for _ in sides]
    for number in range(_ROUNDS + _WARM):
        for side, times in zip(sides, taken, strict=True):
            begun = time.perf_counter()
            answer = await ask(side)
            if number >= _WARM:
                times.append((time.perf_counter() - begun) * 1000)
            answer.raise_for_status()
            if after is not None:
                await after(side)
    return [statistics.median(times) for times in taken]


async def _side(stack: AsyncExitStack, server: str, size: int) -> Side:
    name = f"bench_{size}"
    admin = await asyncpg.connect(server)
    await admin.execute(f"CREATE DATABASE {name}")
    await admin.close()
    url = server.replace("/gpuaas?", f"/{name}?")
    await migrate(url)
    platform, client = await stack.enter_async_context(_platform(url))
    seed = await _seed(platform, client)
    await _fill(platform, seed, size)
    return Side(size, platform, client, seed["project_id"], seed["operation_id"])


async def _fill(platform: Platform, seed: dict[str, str], size: int) -> None:
    """Operations up to this many: nearly all at their end, 200 to be claimed at any size."""
    async with platform.db.connection() as conn:
        for start in range(0, size, 50_000):
            await conn.execute(
                "INSERT INTO operations SELECT r.* FROM operations o, generate_series($2::int, $3)"
                " n, LATERAL jsonb_populate_record(o, jsonb_build_object('id', 'op_' ||"
                " lpad(n::text, 26, '0'), 'instance_id', 'inst_' || (n % 20),"
                " 'exclusive', false, 'status', CASE"
                " WHEN n < 200 THEN 'requested' ELSE 'succeeded' END, 'ready', n < 200,"
                " 'correlation_id', 'cor-' || n, 'position', 1000 + n)) r WHERE o.id = $1",
                seed["operation_id"],
                start,
                min(start + 50_000, size) - 1,
                timeout=600,
            )
        for sql in _JOURNAL:
            await conn.execute(sql, seed["project_id"], platform.clock.now(), size, timeout=900)
        await conn.execute("SET ROLE NONE")
        for table in ("operations", "requests", "audit_entries", "events"):
            await conn.execute(f"VACUUM (ANALYZE) {table}", timeout=600)
        await conn.execute("SET ROLE gpuaas_app")


# As many requests, audit entries and events as operations, each with one of their correlation ids.
_JOURNAL = (
    (
        "INSERT INTO requests (id, at, correlation_id, method, path, status, actor_id, org_id,"
        " project_id) SELECT 'req_' || n, $2, 'cor-' || n, 'POST', '/x', 202, 'u', 'org_bench', $1"
        " FROM generate_series(1, $3::int) n"
    ),
    (
        "INSERT INTO audit_entries (id, at, action, outcome, actor_kind, actor_id, org_id,"
        " project_id, target_kind, target_id, correlation_id, source) SELECT 'aud_' || n, $2,"
        " 'a.b', 'allowed', 'user', 'u', 'org_bench', $1, 't', 'x', 'cor-' || n, 'local'"
        " FROM generate_series(1, $3::int) n"
    ),
    (
        "INSERT INTO events (seq, id, type, subject, at, org_id, project_id, correlation_id, data)"
        " SELECT 1000000 + n, 'evt_' || n, 'a.b', 's', $2, 'org_bench', $1, 'cor-' || n, '{}'"
        " FROM generate_series(1, $3::int) n"
    ),
)


async def _seed(platform: Platform, client: httpx2.AsyncClient) -> dict[str, str]:
    """One project with one deployed instance, and its operation."""
    org_id, project_id = "org_bench", "proj_bench"
    now = platform.clock.now()
    await platform.db.execute(
        "INSERT INTO tenants (id, name, display_name, created_at) VALUES ($1, 'bench', '', $2)",
        org_id, now,
    )  # fmt: skip
    await platform.db.execute(
        "INSERT INTO projects (id, org_id, name, display_name, created_at)"
        " VALUES ($1, $2, 'bench', '', $3)",
        project_id, org_id, now,
    )  # fmt: skip
    for path, body in (
        ("/apps", {"slug": "bench", "display_name": "Bench", "publisher": "Bench"}),
        ("/apps/bench/versions", {"version": "1.0.0", "manifest": _manifest(), "publish": True}),
        (f"/tenants/{org_id}/entitlements", {"app_slug": "bench"}),
        (f"/projects/{project_id}/entitlements", {"app_slug": "bench"}),
    ):
        answer = await client.post(path, json=body)
        if answer.is_error:
            raise RuntimeError(answer.text)
    made = await client.post(
        f"/projects/{project_id}/app-instances", json={"app_slug": "bench", "name": "bench"}
    )
    requested = made.raise_for_status().json()
    await platform.db.execute(
        "INSERT INTO app_instances SELECT r.* FROM app_instances i, generate_series(0, $2) n,"
        " LATERAL jsonb_populate_record(i, jsonb_build_object('id', 'inst_' || n,"
        " 'resource_name', 'i' || n)) r WHERE i.id = $1",
        requested["instance"]["id"], _INSTANCES - 1,
    )  # fmt: skip
    return {"project_id": project_id, "operation_id": requested["operation"]["id"]}


def _manifest() -> dict[str, Any]:
    """The smallest app: nothing to place, nothing to set."""

    deploy = {"kind": "deploy", "title": "Deploy", "purpose": "deploy", "target": "instance"}
    asked = {"title": "Delete?", "text": "Everything is lost."}
    delete = {"kind": "delete", "title": "Delete", "purpose": "delete", "target": "instance"}
    return {
        "manifest_version": 1,
        "runtime_backend": "none",
        "operating_modes": ["tenant_dedicated"],
        "control_plane_scopes": ["project"],
        "machine_access": ["agent"],
        "components": [{"key": "part", "title": "Part"}],
        "topologies": [{"key": "any", "title": "Any", "min_allocations": 0}],
        "operations": [deploy, delete | {"destructive": True, "confirmation": asked}],
        "health": [{"word": "fine", "health": "healthy"}],
        "lifecycle": {"delete": {"destroys": "Nothing.", "verifies_absence": True}},
        "runbook_url": "https://example.test/bench",
    }


@contextmanager
def _server() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="gpuaas-bench-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # the database runs as a user of its own
        server = EmbeddedPostgres(folder)
        try:
            yield server.start()
        finally:
            server.stop()


@asynccontextmanager
async def _platform(url: str) -> AsyncIterator[tuple[Platform, httpx2.AsyncClient]]:
    async def authenticate(_: Platform, __: Request) -> Caller:
        return SYSTEM

    with tempfile.TemporaryDirectory(prefix="gpuaas-bench-") as folder:
        settings = Settings(
            data_dir=Path(folder), rate_limit_per_second=1e6, rate_limit_burst=1_000_000,
            log_level="error",
        )  # fmt: skip
        logs_configure(settings)
        platform = dataclasses.replace(platform_make(settings, url), authenticate=authenticate)
        app = app_make(platform)
        edge = Edge(app, max_body_bytes=settings.max_body_bytes)
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(
                transport=httpx2.ASGITransport(edge),
                base_url="http://bench/api/v1",
                timeout=60,
            ) as client,
        ):
            yield platform, client


if __name__ == "__main__":
    for row in asyncio.run(measure()):
        print(f"{row.name:54} {row.value:8.2f} {row.unit:3} {row.note}")
