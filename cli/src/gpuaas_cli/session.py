"""One run of a command: which platform, as whom, and how errors become words and exit codes."""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gpuaas_sdk
from gpuaas_cli.config import (
    ConfigError,
    Context,
    config_path,
    config_read,
    context_chosen,
)
from gpuaas_cli.options import Changing, Connection
from gpuaas_cli.output import FIELD
from gpuaas_sdk import (
    Anonymous,
    AuthenticationError,
    BearerToken,
    BriefClient,
    ConflictError,
    Credentials,
    GpuaasError,
    NotFoundError,
    PermissionDeniedError,
    ProblemError,
    Request,
    Retries,
    ServiceAccountKey,
    UnreachableError,
)
from gpuaas_sdk.brief import brief_will_do

if TYPE_CHECKING:
    from gpuaas_sdk import Client

OPERATION_FAILED = 6
_NAME = "gpuaas-cli"
_RETRIES = Retries(attempts=3, longest_delay=2.0)
_INTERRUPTED = 130
_EXIT_CODES: tuple[tuple[type[GpuaasError], int], ...] = (
    (AuthenticationError, 3),
    (PermissionDeniedError, 3),
    (NotFoundError, 4),
    (ConflictError, 5),
    (UnreachableError, 2),
)
_NOWHERE = (
    "which {}? Give --{}, set GPUAAS_{}, or `gpuaas context set --{} NAME`."
    " `gpuaas {} list` shows those there are."
)


class Stop(GpuaasError):
    """A command cannot go on, for a reason of the caller's own; said in one sentence."""


class Clients:
    """The clients of one run, each made when something needs it."""

    def __init__(self, context: Context) -> None:
        self._url = context.url
        self._identity = credentials(context)

    @cached_property
    def whole(self) -> "Client":
        """For what the SDK itself does with a client: typed answers, streams, machines."""
        return gpuaas_sdk.Client(self._url, self._identity, retries=_RETRIES, user_agent=_NAME)

    @cached_property
    def calls(self) -> "BriefClient | Client":
        """For plain calls: there at once, where that will do."""
        if not brief_will_do():
            return self.whole
        return BriefClient(self._url, self._identity, retries=_RETRIES, user_agent=_NAME)

    async def close(self) -> None:
        """Close those that were made."""
        for made in {"whole", "calls"} & self.__dict__.keys():
            await self.__dict__[made].close()


@dataclass(frozen=True)
class Session:
    """A run of a command: who asks which platform, and where in it."""

    clients: Clients
    context: Context
    options: Connection

    @property
    def client(self) -> "Client":
        """The SDK's whole client."""
        return self.clients.whole

    async def read(self, path: str, **params: str | int | bool | list[str] | None) -> Any:  # noqa: ANN401 - JSON
        """Read one thing, as plain JSON."""
        return (await self.send(Request("GET", path, params=params))).json()

    async def ask(self, method: str, path: str, body: Any, changing: Changing | None) -> Any:  # noqa: ANN401 - JSON
        """Change something, and answer what the platform said; None when it said nothing."""
        request = Request(
            method,
            path,
            body=body,
            idempotency_key=changing.idempotency_key if changing else None,
        )
        response = await self.send(request)
        return response.json() if response.content else None

    async def send(self, request: Request) -> Any:  # noqa: ANN401 - a response of the HTTP client
        """Make a call under the command's correlation id."""
        correlation = request.correlation_id or self.options.correlation_id
        return await self.clients.calls.send(replace(request, correlation_id=correlation))

    def scope(self, word: str) -> str:
        """The tenant or project to work in, as it was named."""
        named: str | None = getattr(self.options, word) or getattr(self.context, word)
        if not named:
            raise Stop(_NOWHERE.format(word, word, word.upper(), word, word))
        return named


Command = Callable[[Session], Awaitable[int]]


def run(connection: Connection | None, command: Command) -> int:
    """Run a command against the platform and return its exit code."""
    try:
        return asyncio.run(_run(connection or Connection(), command))
    except (GpuaasError, ConfigError) as error:
        sys.stderr.write(explain(error) + "\n")
        return exit_code(error)
    except BrokenPipeError:
        # Whoever read us has gone; nothing more can be said, also not at the interpreter's end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return _INTERRUPTED


def credentials(context: Context) -> Credentials:
    """Who we are in a context."""
    if context.token:
        return BearerToken(context.token)
    if not context.key_file:
        return Anonymous()
    try:
        return ServiceAccountKey(Path(context.key_file).read_text().strip())
    except OSError as error:
        raise Stop(f"the key file {context.key_file} cannot be read ({error.strerror})") from error


def explain(error: Exception) -> str:
    """An error in words: code, sentence, fields, next action, correlation id."""
    if not isinstance(error, ProblemError):
        return f"error: {error}"
    said = error.said
    lines = [f"error: {said['code']}: {said['detail']}"]
    lines += [f"  {field['pointer']}: {field['message']}" for field in said.get("errors", [])]
    if ways := said.get("next_actions"):
        lines.append(f"  next: {', '.join(way.replace('_', ' ') for way in ways)}")
    lines.append(f"  correlation id: {said['correlation_id']}")
    if said["status"] == 401:
        lines.append("  `gpuaas login` signs in; `gpuaas context list` shows who you are where")
    return "\n".join(lines)


def exit_code(error: Exception) -> int:
    """The exit code for an error."""
    for kind, code in _EXIT_CODES:
        if isinstance(error, kind):
            return code
    if not isinstance(error, ProblemError):
        return 1
    if error.said["status"] == 409:  # also one that may succeed later
        return 5
    return 2 if error.said["status"] >= 500 else 1


def confirmed(question: str, changing: Changing | None) -> None:
    """Ask before something is destroyed; whoever cannot be asked must have said --yes."""
    given = changing or Changing()
    if given.yes or given.dry_run:
        return
    if given.no_input or not sys.stdin.isatty():
        raise Stop(f"{question} Nobody can be asked here: say --yes.")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise Stop("nothing was changed.")


def dry_run_show(method: str, path: str, body: Any) -> int:  # noqa: ANN401 - JSON
    """What would be asked."""
    sys.stdout.write(f"{method} /api/v1{path}\n")
    if body is not None:
        sys.stdout.write(json.dumps(body, indent=2, ensure_ascii=False) + "\n")
    return 0


async def _run(options: Connection, command: Command) -> int:
    context = context_chosen(config_read(config_path()), options.context, options.url)
    FIELD.set(options.field)
    clients = Clients(context)
    try:
        return await command(Session(clients, context, options))
    finally:
        await clients.close()
