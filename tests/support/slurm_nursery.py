"""Processes of one program, forked from one that has loaded it: each is new but for its imports.

    nursery = await stack.enter_async_context(nursery_up(Path("program.py"), "what it is given"))
    process = await nursery.born(["words", "of", "its", "line"], log)

For tests that start a program a hundred times: loading it takes longer than most of what it then
does. The program calls `nursery_serve` with what it would do with a command line. Requests come on
its standard input, and it tells there who was born and who ended; when the input ends, it ends all.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import selectors
import signal
import sys
import traceback
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path


class Spawned:
    """One of them, in the hands of whoever asked for it."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._over = asyncio.Event()

    async def wait(self) -> int:
        """Wait for its end; minus the signal, where that was one."""
        await self._over.wait()
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it is still there."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill -9: no handler of it runs."""
        self.send_signal(signal.SIGKILL)

    def end(self, code: int) -> None:
        """It has ended."""
        self.returncode = code
        self._over.set()


class Nursery:
    """The process they are forked from."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._born: asyncio.Queue[Spawned | None] = asyncio.Queue()
        self._alive: dict[int, Spawned] = {}

    async def born(self, words: Sequence[str], log: Path) -> Spawned:
        """Start one with these words; what it says goes to the file."""
        request = {"words": list(words), "log": str(log)}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        born = await self._born.get()
        assert born is not None, "the program ended"
        return born

    async def listen(self) -> None:
        """Learn who was born and who ended, until it ends itself."""
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            what, pid, *code = line.split()
            if what == b"born":
                self._alive[int(pid)] = Spawned(int(pid))
                self._born.put_nowait(self._alive[int(pid)])
            else:
                self._alive.pop(int(pid)).end(int(code[0]))
        self._born.put_nowait(None)

    async def close(self) -> None:
        """End all of them."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()


@asynccontextmanager
async def nursery_up(program: Path, *words: str | Path) -> AsyncIterator[Nursery]:
    """Load a program for the length of a block; those born of it end with it."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, program, *words),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    nursery = Nursery(process)
    listening = asyncio.create_task(nursery.listen())
    try:
        yield nursery
    finally:
        await nursery.close()
        await listening


def nursery_serve(run: Callable[[Sequence[str]], int]) -> None:
    """In the program: have what is asked for born, until nobody can ask any more."""
    alive: dict[int, int] = {}
    with selectors.DefaultSelector() as news:
        news.register(0, selectors.EVENT_READ)
        asked = b""
        while True:
            for key, _ in news.select():
                if key.fd != 0:
                    _buried(news, alive, key.fd)
                elif more := os.read(0, 1 << 16):
                    *lines, asked = (asked + more).split(b"\n")
                    for line in lines:
                        pid = _forked(run, json.loads(line))
                        alive[news.register(os.pidfd_open(pid), selectors.EVENT_READ).fd] = pid
                        _tell(f"born {pid}")
                else:
                    _all_ended(alive)
                    return


def _forked(run: Callable[[Sequence[str]], int], request: dict[str, object]) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.setsid()
        log = os.open(str(request["log"]), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for given, place in ((nothing, 0), (log, 1), (log, 2)):
            os.dup2(given, place)
        os.closerange(3, 1 << 16)
        words = request["words"]
        assert isinstance(words, list)
        code = run(words)
    except BaseException:  # noqa: BLE001 - whatever it is, the process ends here and says so
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # Not by an exception: the frames above are those of who asks.
        os._exit(code)


def _buried(news: selectors.BaseSelector, alive: dict[int, int], fd: int) -> None:
    pid = alive.pop(fd)
    _, status = os.waitpid(pid, 0)
    news.unregister(fd)
    os.close(fd)
    _tell(f"ended {pid} {os.waitstatus_to_exitcode(status)}")


def _all_ended(alive: dict[int, int]) -> None:
    for pid in alive.values():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    for pid in alive.values():
        os.waitpid(pid, 0)


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
