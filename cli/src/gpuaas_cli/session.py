"""One run of a command: which platform, as whom, and how errors become words and exit codes."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gpuaas_sdk import (
    Anonymous,
    AuthenticationError,
    BearerToken,
    Client,
    ConflictError,
    Credentials,
    GpuaasError,
    NotFoundError,
    PermissionDeniedError,
    ProblemError,
    Retries,
    ServiceAccountKey,
    UnreachableError,
)

DEFAULT_URL = "http://127.0.0.1:8470"
_EXIT_CODES: tuple[tuple[type[GpuaasError], int], ...] = (
    (AuthenticationError, 3),
    (PermissionDeniedError, 3),
    (NotFoundError, 4),
    (ConflictError, 5),
    (UnreachableError, 2),
)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Connection:
    """Which platform, under which correlation; every command takes these options."""

    url: Annotated[str | None, Parameter(help="address of the platform (GPUAAS_URL)")] = None
    correlation_id: Annotated[
        str | None, Parameter(help="id to find everything about this call by later")
    ] = None


def run(connection: Connection | None, command: Callable[[Client], Awaitable[int]]) -> int:
    """Run a command against the platform and return its exit code."""
    try:
        given = connection.url if connection is not None else None
        return asyncio.run(_run(given or os.environ.get("GPUAAS_URL", DEFAULT_URL), command))
    except GpuaasError as error:
        sys.stderr.write(explain(error) + "\n")
        return exit_code(error)
    except KeyboardInterrupt:
        return 130


def credentials() -> Credentials:
    """Who we are, from the environment."""
    token = os.environ.get("GPUAAS_TOKEN")
    if token:
        return BearerToken(token)
    key_file = os.environ.get("GPUAAS_KEY_FILE")
    if not key_file:
        return Anonymous()
    try:
        return ServiceAccountKey(Path(key_file).read_text().strip())
    except OSError as error:
        raise GpuaasError(
            f"GPUAAS_KEY_FILE: {key_file} cannot be read ({error.strerror})"
        ) from error


def explain(error: GpuaasError) -> str:
    """An error in words: code, sentence, fields, next action, correlation id."""
    if not isinstance(error, ProblemError):
        return f"error: {error}"
    problem = error.problem
    lines = [f"error: {problem.code}: {problem.detail}"]
    lines += [f"  {field.pointer}: {field.message}" for field in problem.errors]
    if problem.next_actions:
        lines.append(
            f"  next: {', '.join(action.replace('_', ' ') for action in problem.next_actions)}"
        )
    lines.append(f"  correlation id: {problem.correlation_id}")
    return "\n".join(lines)


def exit_code(error: GpuaasError) -> int:
    """The exit code for an error."""
    for kind, code in _EXIT_CODES:
        if isinstance(error, kind):
            return code
    return 2 if isinstance(error, ProblemError) and error.problem.status >= 500 else 1


async def _run(url: str, command: Callable[[Client], Awaitable[int]]) -> int:
    retries = Retries(attempts=3, longest_delay=2.0)
    async with Client(url, credentials(), retries=retries, user_agent="gpuaas-cli") as client:
        return await command(client)
