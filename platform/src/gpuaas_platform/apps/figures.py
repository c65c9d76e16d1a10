"""Figures of this room for the platform's operators. Called by the operate room; tell no tenant."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from gpuaas_contract.operate import ControllerCount
from gpuaas_contract.states import OperationStatus
from gpuaas_platform.apps.store import figures
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.database import Connection


@dataclass(frozen=True)
class AppFigures:
    """How much work is open, since when the oldest waits, who is there to do it."""

    operations: dict[OperationStatus, int]
    claimable_since: datetime | None
    controllers: list[ControllerCount]


async def figures_read(platform: Platform, conn: Connection) -> AppFigures:
    """The figures of this moment."""
    now = platform.clock.now()
    since = now - timedelta(seconds=platform.settings.controller_absent_seconds)
    return AppFigures(
        operations={
            OperationStatus(row["status"]): row["number"]
            for row in await figures.operations_open(conn)
        },
        claimable_since=await figures.claimable_oldest(conn, now),
        controllers=[
            ControllerCount(**dict(row)) for row in await figures.controllers_count(conn, since)
        ],
    )
