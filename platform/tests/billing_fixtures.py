"""What tests of the billing room share: events told without the rooms below, and waiting."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
from eventually import eventually

from gpuaas_platform.billing.recording import recording_turn
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.caller import SYSTEM, Caller
from gpuaas_platform.kernel.clock import Clock
from gpuaas_platform.kernel.database import Database, prepare_connection
from gpuaas_platform.kernel.limits import RateLimiter
from gpuaas_platform.kernel.settings import Settings
from gpuaas_platform.kernel.signals import Signals

T0 = datetime(2026, 3, 1, 23, tzinfo=UTC)


@dataclass(frozen=True)
class Fact:
    """An event as the rooms below would tell it."""

    type: str
    subject: str
    at: float
    data: dict[str, Any]
    correlation_id: str = "cor-1"


def machine(subject: str, at: float, status: str, sku: str = "small") -> Fact:
    """An allocation changed its state, so many seconds after the beginning."""
    data = {"allocation_id": subject, "name": subject.removeprefix("alloc_"), "sku": sku}
    return Fact(f"capacity.allocation.{status}", subject, at, data, f"cor-{status}-{at}")


def instance(subject: str, at: float, status: str) -> Fact:
    """An instance changed its state."""
    data = {"app_instance_id": subject, "resource_name": subject, "status": status}
    return Fact(f"apps.instance.{status}", subject, at, data, f"cor-{status}-{at}")


def priced(sku: str, at: float, price: str, gpus: int = 0) -> Fact:
    """A kind of machine got a price."""
    data = {"name": sku, "price_per_hour": price, "currency": "EUR", "gpus": gpus}
    return Fact("capacity.sku.updated", f"sku_{sku}", at, data, f"price-{price}")


class Ledger:
    """A database with nothing in it but events, and the room that reads them on."""

    def __init__(self, platform: Platform, admin: "asyncpg.Connection[asyncpg.Record]") -> None:
        self.platform = platform
        self.admin = admin

    async def tell(self, facts: Sequence[Fact]) -> None:
        """Number events."""
        head = await self.admin.fetchval("SELECT seq FROM event_head")
        rows = [
            (head + n, f"evt_{head + n}", one.type, one.subject, T0 + timedelta(seconds=one.at),
             None if one.type.startswith("capacity.sku") else "org_1",
             None if one.type.startswith("capacity.sku") else "proj_1",
             one.correlation_id, one.data)
            for n, one in enumerate(facts, 1)
        ]  # fmt: skip
        async with self.admin.transaction():
            await self.admin.executemany(
                "INSERT INTO events (seq, id, type, subject, at, org_id, project_id,"
                " correlation_id, data) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
                rows,
            )
            await self.admin.execute("UPDATE event_head SET seq = $1", head + len(facts))

    async def record(self) -> None:
        """One turn of the loop."""
        await recording_turn(self.platform)

    async def records(self) -> list[asyncpg.Record]:
        """Everything written down, in order of time."""
        return await self.admin.fetch(
            "SELECT * FROM usage_records ORDER BY subject_id, unit, started_at"
        )

    async def clear(self) -> None:
        """As if nothing had ever happened."""
        await self.admin.execute(
            "TRUNCATE events, usage_records, usage_prices;"
            "UPDATE event_head SET seq = 0; UPDATE usage_watermark SET seq = 0, gap_since = NULL"
        )


@asynccontextmanager
async def ledger_open(url: str, data_dir: Path) -> AsyncIterator[Ledger]:
    """The room on a database, without the rest of a platform."""
    platform = Platform(
        Settings(data_dir=data_dir), Database(url, size=4), Clock(), Signals(url),
        RateLimiter(1, 1), _nobody_calls,
    )  # fmt: skip
    await platform.db.open()
    admin = await asyncpg.connect(url, server_settings={"search_path": "gpuaas"})
    try:
        await prepare_connection(admin)
        yield Ledger(platform, admin)
    finally:
        await admin.close()
        await platform.db.close()


async def _nobody_calls(*_: object) -> Caller:
    return SYSTEM


async def usage_settled(platform: Platform) -> None:
    """Wait until everything that has happened so far is counted."""

    async def counted() -> bool:
        await recording_turn(platform)
        return bool(
            await platform.db.fetchval(
                "SELECT w.seq = h.seq AND NOT EXISTS (SELECT FROM outbox)"
                " FROM usage_watermark w, event_head h"
            )
        )

    await eventually(counted, within=60)
