"""Commands on the host: run one, get its output, or an error that says what failed.

Argument lists only, never a shell string built from data.
"""

from __future__ import annotations

import asyncio
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import Mapping
from pathlib import Path

from gpuaas_lab.errors import CommandFailed, HostNotReady


async def output(
    *argv: str | Path, stdin: str | None = None, env: Mapping[str, str] | None = None
) -> str:
    """Run a command and return its standard output; a failure carries the end of its errors."""
    process = await _start(argv, PIPE if stdin is not None else DEVNULL, env)
    try:
        out, err = await process.communicate(stdin.encode() if stdin is not None else None)
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    if process.returncode:
        raise _failure(argv, process.returncode, err.decode(errors="replace"))
    return out.decode(errors="replace")


async def logged(log: Path, *argv: str | Path, env: Mapping[str, str] | None = None) -> None:
    """Run a long command with everything it says in a file; a failure carries its end."""
    with log.open("ab") as sink:
        process = await asyncio.create_subprocess_exec(
            *map(str, argv), stdin=DEVNULL, stdout=sink, stderr=STDOUT, env=env
        )
        try:
            code = await process.wait()
        except asyncio.CancelledError:
            process.terminate()
            await process.wait()
            raise
    if code:
        raise _failure(argv, code, tail(log))


def tail(log: Path, lines: int = 6) -> str:
    """The last lines of a text file, or nothing where there is none."""
    try:
        text = log.read_text(errors="replace")
    except FileNotFoundError:
        return ""
    return "\n".join([line for line in text.splitlines() if line.strip()][-lines:])


async def _start(
    argv: tuple[str | Path, ...], stdin: int, env: Mapping[str, str] | None
) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *map(str, argv), stdin=stdin, stdout=PIPE, stderr=PIPE, env=env
        )
    except FileNotFoundError as error:
        raise HostNotReady(
            f"the command {argv[0]} is missing on this host", "run `gpuaas-lab doctor`"
        ) from error


def _failure(argv: tuple[str | Path, ...], code: int, text: str) -> CommandFailed:
    words = " ".join(map(str, argv))
    shown = words if len(words) < 160 else words[:157] + "…"
    return CommandFailed(f"{shown} ended with {code}: {text.strip()[-800:]}")
