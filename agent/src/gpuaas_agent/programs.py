"""Runs the machine's own small programs: ssh-keygen, sshd, systemctl. Never a shell, never long."""

import os
import subprocess
from collections.abc import Sequence

SECONDS = 30.0


class ProgramFailed(Exception):
    """A program could not be run, or said no; the message is its last line."""


def program_run(argv: Sequence[str], given: bytes = b"", seconds: float = SECONDS) -> bytes:
    """What a program printed; its own words when it failed."""
    try:
        done = subprocess.run(
            argv,
            input=given,
            capture_output=True,
            timeout=seconds,
            check=False,
            env={**os.environ, "LC_ALL": "C", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
        )
    except FileNotFoundError:
        raise ProgramFailed(f"{argv[0]} is not installed") from None
    except subprocess.TimeoutExpired:
        raise ProgramFailed(f"{argv[0]} did not answer within {seconds:g} s") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip() or done.stdout.decode(errors="replace")
        last = said.strip().splitlines()[-1:] or ["it said nothing"]
        raise ProgramFailed(f"{argv[0]} ended with {done.returncode}: {last[0]}")
    return done.stdout
