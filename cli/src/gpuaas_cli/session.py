"""One run of a command: which platform, as whom, and how errors become words and exit codes."""

import asyncio
import re
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
from gpuaas_cli.options import PROGRAMS, Changing, Connection, Format
from gpuaas_cli.output import FIELD, show
from gpuaas_cli.prompts import line_read
from gpuaas_contract.headers import API_PREFIX, CORRELATION_PATTERN
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
_EXIT_CODES: tuple[tuple[type[GpuaasError], int], ...] = (
    (AuthenticationError, 3),
    (PermissionDeniedError, 3),
    (NotFoundError, 4),
    (ConflictError, 5),
    (UnreachableError, 2),
)
_UNREACHABLE_NEXT = (
    "see that the address is right and the platform runs: `gpuaas context show`, `gpuaas status`"
)
# What the contract's next actions are here, where they are something to type or to look at.
_NEXT = {
    "check_address": "check the name or id; `gpuaas context show` tells where you are",
    "sign_in": "sign in: `gpuaas login`; `gpuaas context list` shows who you are where",
    "renew_token": "sign in again: `gpuaas login`",
    "give_code": "give the code too: `gpuaas login --code CODE`",
    "set_up_second_factor": "set up a second factor on your account's page in the console",
    "report_correlation_id": "report the correlation id",
    "read_policy": "see which rule forbids it: `gpuaas effective-policy show`",
}
_NOWHERE = (
    "which {}? Give --{}, set GPUAAS_{}, or `gpuaas context set --{} NAME`."
    " `gpuaas {} list` shows those there are."
)


class Stop(GpuaasError):
    """A command cannot go on, for a reason of the caller's own; said in one sentence."""


class NoSuchName(GpuaasError):
    """Nothing in reach has this name."""

    def __init__(self, noun: str, named: str) -> None:
        super().__init__(f"not_found: there is no {noun} {named!r} in your reach")
        self.noun = noun


class Clients:
    """The clients of one run, each made when something needs it."""

    def __init__(self, context: Context) -> None:
        self.url = context.url
        self._identity = credentials(context)

    @cached_property
    def whole(self) -> "Client":
        """For what the SDK itself does with a client: typed answers, streams, machines."""
        return gpuaas_sdk.Client(self.url, self._identity, retries=_RETRIES, user_agent=_NAME)

    @cached_property
    def calls(self) -> "BriefClient | Client":
        """For plain calls: there at once, where that will do."""
        if not brief_will_do():
            return self.whole
        return BriefClient(self.url, self._identity, retries=_RETRIES, user_agent=_NAME)

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


def credentials(context: Context) -> Credentials:
    """Who we are in a context."""
    if context.token:
        return BearerToken(context.token)
    if not context.key_file:
        return Anonymous()
    try:
        return ServiceAccountKey(Path(context.key_file).read_text(encoding="utf-8").strip())
    except OSError as error:
        raise Stop(f"the key file {context.key_file} cannot be read ({error.strerror})") from error


def explain(error: Exception) -> str:
    """An error in words: code, sentence, fields, next action, correlation id."""
    lines = [f"error: {error}"]
    if isinstance(error, NoSuchName):
        lines.append(f"  next: `gpuaas {error.noun} list` shows those there are")
    elif isinstance(error, UnreachableError):
        lines = [f"error: unreachable: {error}", f"  next: {_UNREACHABLE_NEXT}"]
        if error.correlation_id:
            lines.append(f"  correlation id: {error.correlation_id}")
    elif isinstance(error, ProblemError):
        lines = _problem_lines(error.said)
    return "\n".join(lines)


def _problem_lines(said: dict[str, Any]) -> list[str]:
    lines = [f"error: {said['code']}: {said['detail']}"]
    wrong = [f"{field['pointer']}: {field['message']}" for field in said.get("errors", [])]
    lines += [f"  {one}" for one in wrong if one not in said["detail"]]
    if ways := said.get("next_actions"):
        lines.append(f"  next: {', '.join(_NEXT.get(way, way.replace('_', ' ')) for way in ways)}")
    return [*lines, f"  correlation id: {said['correlation_id']}"]


def exit_code(error: Exception) -> int:
    """The exit code for an error."""
    if isinstance(error, NoSuchName):
        return 4
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
    if line_read(f"{question} [y/N] ").strip().lower() not in {"y", "yes"}:
        raise Stop("nothing was changed.")


def dry_run_show(request: Request, form: Format) -> int:
    """What would be asked."""
    path = f"{API_PREFIX}{request.path}"
    if form in PROGRAMS:
        show({"method": request.method, "path": path, "body": request.body}, form)
        return 0
    sys.stdout.write(f"{request.method} {path}\n")
    if request.body is not None:
        show(request.body, "json")
    return 0


async def _run(options: Connection, command: Command) -> int:
    if options.correlation_id and not re.match(CORRELATION_PATTERN, options.correlation_id):
        raise Stop("--correlation-id takes letters, digits and . _ : - (at most 128)")
    context = context_chosen(config_read(config_path()), options.context, options.url)
    FIELD.set(options.field)
    clients = Clients(context)
    try:
        return await command(Session(clients, context, options))
    finally:
        await clients.close()
