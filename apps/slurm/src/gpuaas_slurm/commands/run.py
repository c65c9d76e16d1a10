"""Runs one command through the caller's runner and says plainly when it failed."""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from gpuaas_sdk import TemporaryFailure

T = TypeVar("T")
Rows = list[dict[str, Any]]

TAIL = 2000
"""How much of a failed command's output is kept: its end, which says why."""

SILENT = (
    "Unable to contact slurm controller",
    "Unable to contact Slurm controller",
    "Socket timed out on send/recv operation",
    "Connection refused",
    "Transport endpoint is not connected",
)


@dataclass(frozen=True)
class Result:
    """What a command did."""

    argv: tuple[str, ...]
    exit_code: int
    stdout: str
    stderr: str


Runner = Callable[[Sequence[str]], Awaitable[Result]]


class SlurmCommandError(TemporaryFailure):
    """A command of Slurm's ended with an error; a step that knows no better may let it pass."""

    told_as: ClassVar[str] = "command_failed"

    def __init__(self, result: Result, reason: str = "") -> None:
        self.result = result
        said = (result.stderr.strip() or result.stdout.strip())[-TAIL:]
        command = " ".join(result.argv)
        super().__init__(
            self.told_as,
            f"`{command}` ended with {result.exit_code}: {reason or said}",
            detail={"command": command, "exit_code": result.exit_code, "output": said},
        )


class ControllerSilentError(SlurmCommandError):
    """The controller or accounting does not answer; nothing can be said of the cluster."""

    told_as = "controller_silent"


class UnexpectedOutputError(SlurmCommandError):
    """A command succeeded with an output nobody here understands."""

    told_as = "answer_unreadable"


async def answer_json(run: Runner, argv: Sequence[str], key: str) -> tuple[Rows, Result]:
    """Run a command with a JSON output; return the list under `key`, and the result it is from.

    Slurm reports some failures inside the document and still ends with 0; those raise as well.
    """
    result = await run(argv)
    text = checked(result)
    try:
        document = json.loads(text)
        rows = document[key]
    except (ValueError, KeyError, TypeError) as error:
        raise UnexpectedOutputError(result, f"no JSON list {key!r}: {error}") from error
    if document.get("errors"):
        said = json.dumps(document["errors"])[-TAIL:]
        # All that 22.05 says of a controller that does not answer, and it calls that success.
        silent = "Unspecified error" in said
        raise (ControllerSilentError if silent else SlurmCommandError)(result, said)
    if not isinstance(rows, list):
        raise UnexpectedOutputError(result, f"{key!r} is no list")
    return rows, result


def checked(result: Result) -> str:
    """Return a result's output, or raise what its failure means."""
    if result.exit_code == 0:
        return result.stdout
    if any(mark in result.stderr for mark in SILENT):
        raise ControllerSilentError(result)
    raise SlurmCommandError(result)


def understood(result_of: Callable[[], T], result: Result) -> T:
    """Return what a parser makes of a result; what it cannot read raises with the command."""
    try:
        return result_of()
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise UnexpectedOutputError(result, f"{type(error).__name__}: {error}") from error
