"""The only door for an app: client, controller runtime, machine sessions, testing kit.

What is named here is the public surface; everything else may change without notice.
"""

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

__all__ = [
    "Anonymous",
    "AuthenticationError",
    "BearerToken",
    "Client",
    "ConflictError",
    "Credentials",
    "GpuaasError",
    "NotFoundError",
    "PermanentError",
    "PermissionDeniedError",
    "ProblemError",
    "Request",
    "Retries",
    "ServiceAccountKey",
    "TemporaryError",
    "UnreachableError",
    "follow",
]
