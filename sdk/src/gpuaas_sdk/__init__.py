"""The only door for an app: client, controller runtime, machine sessions, testing kit.

What is named here is the public surface, with `gpuaas_sdk.contract` (the contract's names) and
`gpuaas_sdk.testing`; everything else may change without notice.
"""

from gpuaas_sdk.app import App, Context, Facts, Look, Plan, Procedure, Step, Target
from gpuaas_sdk.client import Client, Request, Retries
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
from gpuaas_sdk.runtime.controller import Controller, Options
from gpuaas_sdk.runtime.watch import Schedule
from gpuaas_sdk.state import FolderState, MemoryState, StateStore
from gpuaas_sdk.telemetry import JsonLines, Log, Metrics, NoMetrics

__all__ = [
    "Anonymous",
    "App",
    "AuthenticationError",
    "BearerToken",
    "Client",
    "ConflictError",
    "ConflictFailure",
    "Context",
    "Controller",
    "Credentials",
    "Facts",
    "FolderState",
    "GpuaasError",
    "JsonLines",
    "Log",
    "Look",
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
    "Request",
    "Retries",
    "Schedule",
    "ServiceAccountKey",
    "StateStore",
    "Step",
    "StepFailure",
    "StopRequested",
    "Target",
    "TemporaryError",
    "TemporaryFailure",
    "UnreachableError",
    "follow",
]
