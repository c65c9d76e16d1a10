"""Runs the machine's own small programs: ssh-keygen, sshd, systemctl. Never a shell, never long."""

import contextlib
import os
import select
import subprocess
from collections.abc import Iterator, Sequence

SECONDS = 30.0
_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


class ProgramFailed(Exception):
    """A program could not be run, or said no; the message is its last line."""


def program_run(argv: Sequence[str], given: bytes = b"", seconds: float = SECONDS) -> bytes:
    """What a program printed; its own words when it failed."""
    with _scratch(given) as asked, _scratch() as out, _scratch() as err:
        try:
            process = subprocess.Popen(
                argv,
                stdin=asked,
                stdout=out,
                stderr=err,
                env={**os.environ, "LC_ALL": "C", "PATH": _PATH},
            )
        except FileNotFoundError:
            raise ProgramFailed(f"{argv[0]} is not installed") from None
        if not process_await(process.pid, seconds):
            process.kill()
            process.wait()
            raise ProgramFailed(f"{argv[0]} did not answer within {seconds:g} s")
        if process.wait():
            said = (_read(err) or _read(out)).decode(errors="replace").strip()
            last = said.splitlines()[-1:] or ["it said nothing"]
            raise ProgramFailed(f"{argv[0]} ended with {process.returncode}: {last[0]}")
        return _read(out)


def process_await(pid: int, seconds: float) -> bool:
    """Whether a child has ended within this time; waits without waking up in between."""
    with process_watched(pid) as watch:
        poller = select.poll()
        poller.register(watch, select.POLLIN)
        return bool(poller.poll(seconds * 1000))


@contextlib.contextmanager
def process_watched(pid: int) -> Iterator[int]:
    """A descriptor that can be read once a child has ended."""
    watch = os.pidfd_open(pid)
    try:
        yield watch
    finally:
        os.close(watch)


@contextlib.contextmanager
def _scratch(content: bytes = b"") -> Iterator[int]:
    """A file in memory, so that no program waits for another to read."""
    descriptor = os.memfd_create("gpuaas-agent", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


def _read(descriptor: int) -> bytes:
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0)
