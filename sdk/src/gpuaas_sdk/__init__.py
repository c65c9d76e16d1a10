"""The only door for an app: client, controller runtime, machine sessions, testing kit.

What is named here is the public surface, with `gpuaas_sdk.contract` (the contract's names),
`gpuaas_sdk.machines` and `gpuaas_sdk.testing`; everything else may change without notice.

A name is loaded when it is first used: a command line that only calls the platform does not wait
for the runtime, machine sessions and the contract's types behind them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpuaas_sdk.app import App, Context, Facts, Look, Plan, Procedure, Step, Target, Together
    from gpuaas_sdk.brief import BriefClient
    from gpuaas_sdk.calls import Request, Retries
    from gpuaas_sdk.client import Client
    from gpuaas_sdk.credentials import Anonymous, BearerToken, Credentials, ServiceAccountKey
    from gpuaas_sdk.errors import (
        AuthenticationError,
        ConflictError,
        GpuaasError,
        NotFoundError,
        PermanentError,
        PermissionDeniedError,
        ProblemError,
        TemporaryError,
        UnreachableError,
    )
    from gpuaas_sdk.events import follow
    from gpuaas_sdk.failures import (
        ConflictFailure,
        PermanentFailure,
        StepFailure,
        StopRequested,
        TemporaryFailure,
    )
    from gpuaas_sdk.machines import (
        AccessRefused,
        File,
        Machine,
        MachineFailure,
        Machines,
        MachineUnreachable,
        Ran,
        ScriptFailed,
        ScriptTimedOut,
        Unit,
    )
    from gpuaas_sdk.runtime.controller import Controller, Options
    from gpuaas_sdk.runtime.watch import Schedule
    from gpuaas_sdk.sealing import SealingKey
    from gpuaas_sdk.state import FolderState, MemoryState, StateStore
    from gpuaas_sdk.telemetry import JsonLines, Log, Metrics, NoMetrics

__all__ = [
    "AccessRefused",
    "Anonymous",
    "App",
    "AuthenticationError",
    "BearerToken",
    "BriefClient",
    "Client",
    "ConflictError",
    "ConflictFailure",
    "Context",
    "Controller",
    "Credentials",
    "Facts",
    "File",
    "FolderState",
    "GpuaasError",
    "JsonLines",
    "Log",
    "Look",
    "Machine",
    "MachineFailure",
    "MachineUnreachable",
    "Machines",
    "MemoryState",
    "Metrics",
    "NoMetrics",
    "NotFoundError",
    "Options",
    "PermanentError",
    "PermanentFailure",
    "PermissionDeniedError",
    "Plan",
    "ProblemError",
    "Procedure",
    "Ran",
    "Request",
    "Retries",
    "Schedule",
    "ScriptFailed",
    "ScriptTimedOut",
    "SealingKey",
    "ServiceAccountKey",
    "StateStore",
    "Step",
    "StepFailure",
    "StopRequested",
    "Target",
    "TemporaryError",
    "TemporaryFailure",
    "Together",
    "Unit",
    "UnreachableError",
    "follow",
]

_HOMES = {
    "app": "App Context Facts Look Plan Procedure Step Target Together",
    "brief": "BriefClient",
    "calls": "Request Retries",
    "client": "Client",
    "credentials": "Anonymous BearerToken Credentials ServiceAccountKey",
    "errors": (
        "AuthenticationError ConflictError GpuaasError NotFoundError PermanentError"
        " PermissionDeniedError ProblemError TemporaryError UnreachableError"
    ),
    "events": "follow",
    "failures": "ConflictFailure PermanentFailure StepFailure StopRequested TemporaryFailure",
    "machines": (
        "AccessRefused File Machine MachineFailure MachineUnreachable Machines Ran ScriptFailed"
        " ScriptTimedOut Unit"
    ),
    "runtime.controller": "Controller Options",
    "runtime.watch": "Schedule",
    "sealing": "SealingKey",
    "state": "FolderState MemoryState StateStore",
    "telemetry": "JsonLines Log Metrics NoMetrics",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public name
    """Load the module a public name lives in."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return found


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted({*globals(), *__all__})
