"""What every operation and every look of one controller shares. Made by `controller.py`."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from gpuaas_sdk.app import App
from gpuaas_sdk.machines.machines import Machines
from gpuaas_sdk.runtime.calls import Calls
from gpuaas_sdk.state import StateStore
from gpuaas_sdk.telemetry import Log, Metrics, NoRecorder, Recorder


@dataclass(frozen=True)
class Surroundings:
    """What every operation of one controller shares."""

    app: App[Any]
    calls: Calls
    state: StateStore
    machines: Machines
    log: Log
    metrics: Metrics
    lease_seconds: int
    step_seconds: float
    recorder: Recorder = field(default_factory=NoRecorder)
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))
