"""Runs the few programs the facts need, all at once, each under a deadline.

Called once before the facts are read. A driver's tool can hang on a broken card: it is ended, and
its facts become unknown.
"""

import asyncio
import os
import shutil
from collections.abc import Iterable

from gpuaas_agent.facts.activity import UNITS
from gpuaas_agent.facts.nvidia import SMI_GPUS, SMI_PROCESSES, SMI_TOPOLOGY
from gpuaas_agent.facts.reading import UnreadableError

PROGRAMS: tuple[tuple[str, ...], ...] = (SMI_GPUS, SMI_PROCESSES, SMI_TOPOLOGY, UNITS)

DEADLINE = 20.0
OUTPUT_LIMIT = 1024 * 1024


async def programs_run(
    programs: Iterable[tuple[str, ...]] = PROGRAMS, deadline: float = DEADLINE
) -> dict[tuple[str, ...], str | UnreadableError]:
    """Return what each program printed, or why it printed nothing."""
    wanted = list(programs)
    answers = await asyncio.gather(*(_run(argv, deadline) for argv in wanted))
    return dict(zip(wanted, answers, strict=True))


async def _run(argv: tuple[str, ...], deadline: float) -> str | UnreadableError:
    name = " ".join(argv)
    program = shutil.which(argv[0])
    if program is None:
        return UnreadableError(name, "is not installed")
    process = await asyncio.create_subprocess_exec(
        program,
        *argv[1:],
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "LC_ALL": "C"},
        limit=OUTPUT_LIMIT,
    )
    try:
        async with asyncio.timeout(deadline):
            out, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return UnreadableError(name, f"did not answer within {deadline:g} s")
    text = out.decode(errors="replace")
    if process.returncode:
        last = text.strip().splitlines()[-1:] or [""]
        return UnreadableError(name, f"exit code {process.returncode}: {last[0]}")
    return text
