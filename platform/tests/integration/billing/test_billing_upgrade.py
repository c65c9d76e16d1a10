"""The schema of the release before, with things in it: their usage is made from what was kept."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import asyncpg
import pytest

from gpuaas_platform.kernel.database import prepare_connection
from gpuaas_platform.kernel.migrate import migrate

BEFORE = 18
DAY0 = datetime(2026, 1, 1, tzinfo=UTC)


def day(number: float) -> datetime:
    return DAY0 + timedelta(days=number)


class Old:
    """A database before usage was recorded, filled by hand as the rooms then filled it."""

    def __init__(self, admin: "asyncpg.Connection[asyncpg.Record]", url: str) -> None:
        self.admin = admin
        self.url = url
        self._numbers = iter(range(1, 10_000))

    async def put(self, table: str, **values: Any) -> None:
        names = ", ".join(f'"{name}"' for name in values)
        marks = ", ".join(f"${n}" for n in range(1, len(values) + 1))
        await self.admin.execute(
            f"INSERT INTO {table} ({names}) VALUES ({marks})",  # noqa: S608 - names in this file
            *values.values(),
        )

    async def audited(self, action: str, kind: str, target: str, at: datetime) -> None:
        await self.put(
            "audit_entries", id=f"aud_{next(self._numbers):05}", at=at, action=action,
            outcome="allowed", actor_kind="user", actor_id="user_1", target_kind=kind,
            target_id=target, correlation_id=f"audit-{action}-{target}", source="local",
        )  # fmt: skip

    async def told(self, type_: str, subject: str, at: datetime, **data: Any) -> None:
        seq = next(self._numbers)
        await self.put(
            "events", seq=seq, id=f"evt_{seq}", type=type_, subject=subject, at=at,
            org_id="org_1", project_id="proj_1", correlation_id=f"event-{type_}", data=data,
        )  # fmt: skip
        await self.admin.execute("UPDATE event_head SET seq = $1", seq)

    async def allocation(self, name: str, status: str, sku: str, born: datetime) -> None:
        await self.put(
            "allocations", id=f"alloc_{name}", name=name, org_id="org_1", project_id="proj_1",
            sku=sku, region="north", status=status, correlation_id=f"row-{name}", created_at=born,
        )  # fmt: skip

    async def instance(self, name: str, status: str, born: datetime) -> None:
        await self.put(
            "app_instances", id=f"inst_{name}", org_id="org_1", project_id="proj_1",
            resource_name=name, display_name=name, app_slug="echo", app_version="1.0.0",
            operating_mode="tenant_dedicated", control_plane_scope="project",
            runtime_backend="process", topology="single_node", placement_intent={}, settings={},
            status=status, health="healthy", correlation_id=f"row-{name}", created_by="user_1",
            created_at=born, updated_at=born,
        )  # fmt: skip

    async def operation(self, name: str, purpose: str, began: datetime, ended: datetime) -> None:
        number = next(self._numbers)
        await self.put(
            "operations", id=f"op_{number}", instance_id=f"inst_{name}", org_id="org_1",
            project_id="proj_1", app_slug="echo", kind=purpose, purpose=purpose, exclusive=True,
            input={}, status="succeeded", not_before=began, max_attempts=3,
            retry_after_seconds=1.0, attempt_seconds=1.0, cancellable=True,
            correlation_id=f"op-{purpose}", requested_by="user_1", requested_at=began,
            started_at=began, ended_at=ended,
        )  # fmt: skip

    async def upgraded(self) -> dict[str, list[asyncpg.Record]]:
        """Bring the schema up; records by subject and unit."""
        await migrate(self.url)
        found: dict[str, list[asyncpg.Record]] = {}
        rows = await self.admin.fetch("SELECT * FROM usage_records ORDER BY started_at")
        for row in rows:
            found.setdefault(f"{row['subject_id']} {row['unit']}", []).append(row)
        return found


@pytest.fixture
async def old(postgres_url: str) -> AsyncIterator[Old]:
    server = await asyncpg.connect(postgres_url)
    await server.execute("DROP DATABASE IF EXISTS billing_upgrade WITH (FORCE)")
    await server.execute("CREATE DATABASE billing_upgrade")
    url = postgres_url.replace("/gpuaas?", "/billing_upgrade?")
    await migrate(url, up_to=BEFORE)
    admin = await asyncpg.connect(url, server_settings={"search_path": "gpuaas"})
    await prepare_connection(admin)
    made = Old(admin, url)
    await made.put("tenants", id="org_1", name="acme", display_name="Acme", created_at=DAY0)
    await made.put(
        "projects", id="proj_1", org_id="org_1", name="lab", display_name="Lab", created_at=DAY0
    )
    await made.put("regions", id="reg_1", name="north", display_name="North", created_at=DAY0)
    for name, gpus, revision in (("small", 0, 1), ("large", 8, 3)):
        await made.put(
            "skus", id=f"sku_{name}", name=name, display_name=name, cpus=2, memory_mib=1024,
            gpus=gpus, gpu_model="", price_per_hour=Decimal("0.5"), currency="EUR",
            revision=revision, created_at=DAY0,
        )  # fmt: skip
    yield made
    await admin.close()
    await server.execute("DROP DATABASE billing_upgrade WITH (FORCE)")
    await server.close()


async def test_machines_are_counted_from_the_audit_at_prices_that_are_known(old: Old) -> None:
    await old.allocation("held", "active", "small", day(1))
    await old.audited("capacity.allocation.create", "allocation", "alloc_held", day(1))
    await old.allocation("back", "released", "small", day(2))
    await old.audited("capacity.allocation.create", "allocation", "alloc_back", day(2))
    await old.audited("capacity.allocation.release", "allocation", "alloc_back", day(4))
    await old.told("capacity.allocation.released", "alloc_back", day(4), sku="small")
    await old.audited("capacity.sku.update", "sku", "sku_large", day(5))
    await old.allocation("gpus", "active", "large", day(3))
    await old.audited("capacity.allocation.create", "allocation", "alloc_gpus", day(3))
    await old.allocation("nobody-knows", "active", "small", day(3))
    await old.allocation("vanished", "cleanup_blocked", "small", day(3))
    await old.audited("capacity.allocation.create", "allocation", "alloc_vanished", day(3))
    found = await old.upgraded()

    [held] = found["alloc_held node_hour"]
    assert (held["started_at"], held["ended_at"], held["basis"]) == (day(1), None, "observed")
    assert held["price_per_hour"] == Decimal("0.5")
    [back] = found["alloc_back node_hour"]
    assert (back["started_at"], back["ended_at"]) == (day(2), day(4))
    assert back["ended_correlation_id"].startswith("audit-capacity.allocation.release")

    before, after = found["alloc_gpus node_hour"]
    assert (before["pricing"], before["price_per_hour"]) == ("unknown", None)
    assert (before["started_at"], before["ended_at"]) == (day(3), day(5))
    assert (after["pricing"], after["started_at"], after["ended_at"]) == ("charged", day(5), None)
    assert after["began_correlation_id"] == "audit-capacity.sku.update-sku_large"
    [gpus] = found["alloc_gpus gpu_hour"]
    assert (gpus["count"], gpus["started_at"], gpus["ended_at"]) == (8, day(3), None)

    [unknown] = found["alloc_nobody-knows node_hour"]
    assert unknown["basis"] == "reconstructed"
    assert unknown["started_at"] > day(30), "from the upgrade on: nothing says since when"
    assert "alloc_vanished node_hour" not in found, "it ended, and nobody knows when"


async def test_apps_are_counted_from_events_and_before_them_from_operations(old: Old) -> None:
    await old.instance("first", "running", day(0))
    await old.operation("first", "deploy", day(1), day(1.5))
    await old.operation("first", "stop", day(3), day(3.1))
    await old.operation("first", "start", day(4), day(4.2))
    await old.told("apps.instance.stopping", "inst_first", day(20), status="stopping")
    await old.told("apps.instance.stopped", "inst_first", day(20.1), status="stopped")
    await old.told("apps.instance.running", "inst_first", day(21), status="running")
    await old.instance("gone", "deleted", day(0))
    await old.operation("gone", "deploy", day(1), day(2))
    await old.operation("gone", "delete", day(5), day(6))
    found = await old.upgraded()
    spans = [(r["started_at"], r["ended_at"], r["basis"]) for r in found["inst_first runtime_hour"]]
    assert spans == [
        (day(1.5), day(3), "reconstructed"),
        (day(4.2), day(20), "reconstructed"),
        (day(21), None, "observed"),
    ]
    [gone] = found["inst_gone runtime_hour"]
    assert (gone["started_at"], gone["ended_at"]) == (day(2), day(5))
    head = await old.admin.fetchval("SELECT seq FROM event_head")
    assert await old.admin.fetchval("SELECT seq FROM usage_watermark") == head, "read up to here"
