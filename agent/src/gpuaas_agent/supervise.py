"""Runs one script under its limits: `gpuaas-agent exec TASK`, in a systemd unit of its own.

The unit outlives the agent: a script goes on when the agent is killed or restarted, and its result
waits on disk. Everything it needs to write has its space already. When this process ends, systemd
ends whatever the script left running.
"""

import os
import pwd
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from gpuaas_agent.journal import Entry
from gpuaas_agent.places import Places
from gpuaas_agent.programs import process_watched

_GRACE = 5.0
_LINGER = 1.0
_TAIL = 16 * 1024
_READ = 64 * 1024
_MARK = b"\n[... %d bytes left out ...]\n"
MARK_SPACE = 64
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def main(words: Sequence[str]) -> int:
    """`exec TASK`: started by systemd; loads nothing that a script does not need beside it."""
    places = Places()
    _, task_id = words
    return supervise(Entry(places.tasks / task_id), places.passing / task_id / "script")


def supervise(entry: Entry, script: Path) -> int:
    """Run the script of a task and leave its result; once, whatever happens."""
    if entry.result() is not None:
        return 0  # it has been begun before, by whomever: never twice
    entry.result_put({"code": None})
    direction = entry.direction
    spec = direction["spec"]
    sys.stdout.write(f"task {entry.task_id} begins, correlation {direction['correlation_id']}\n")
    sys.stdout.flush()
    started = time.monotonic()
    output = _Output(entry.folder, int(spec["output_bytes"]))
    try:
        process = _started(script, direction)
    except (OSError, KeyError) as error:
        result: dict[str, Any] = {"code": "cannot_run", "message": str(error)}
    else:
        result = _watched(process, output, started + float(spec["timeout_seconds"]))
    output.close()
    result["output_cut"] = output.left_out > 0
    result["seconds"] = round(time.monotonic() - started, 3)
    entry.result_put(result)
    sys.stdout.write(f"task {entry.task_id} ended: {result['code']}\n")
    return 0


def _started(script: Path, direction: dict[str, Any]) -> "subprocess.Popen[bytes]":
    spec = direction["spec"]
    user = pwd.getpwnam(spec["user"])
    environment = {
        "PATH": _PATH,
        "HOME": user.pw_dir,
        "USER": user.pw_name,
        "LOGNAME": user.pw_name,
        "LANG": "C.UTF-8",
        **spec["environment"],
        "GPUAAS_CORRELATION_ID": direction["correlation_id"],
        "GPUAAS_TASK_ID": direction["task_id"],
    }
    whole = user.pw_uid == 0
    return subprocess.Popen(
        [*_limits(spec), "/bin/sh", str(script)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd="/",
        env=environment,
        start_new_session=True,
        user=None if whole else user.pw_uid,
        group=None if whole else user.pw_gid,
        extra_groups=None if whole else os.getgrouplist(user.pw_name, user.pw_gid),
        umask=0o022,
    )


def _limits(spec: dict[str, Any]) -> list[str]:
    """Bound each process of the script by itself too.

    systemd bounds them together, but not on a machine that has no memory control group for it.
    """
    given = spec.get("memory_mib")
    if given is None:
        return []
    kibibytes = int(given) * 1024
    return ["/bin/sh", "-c", f'ulimit -d {kibibytes} && exec "$@"', "sh"]


class _Stop:
    """Whether we were told to stop: systemd's way of saying that the task is cancelled."""

    asked = False

    def __enter__(self) -> "_Stop":
        self._before = signal.signal(signal.SIGTERM, self._heard)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGTERM, self._before)

    def _heard(self, _number: int, _frame: FrameType | None) -> None:
        self.asked = True


def _watched(
    process: "subprocess.Popen[bytes]", output: "_Output", deadline: float
) -> dict[str, Any]:
    """Read until the script has ended and nobody holds its output, or its time is over."""
    ending, why = 0.0, ""
    pipe = process.stdout
    if pipe is None:
        raise RuntimeError("a pipe was asked for")
    watching = process_watched(process.pid)
    with _Stop() as stop, pipe, watching as watch, selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        selector.register(watch, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select(0.2):
                piece = os.read(pipe.fileno(), _READ) if key.fileobj is pipe else b""
                output.add(piece)
                if not piece:
                    selector.unregister(key.fileobj)
            now, ended = time.monotonic(), process.poll() is not None
            if not ending and not ended and (stop.asked or now >= deadline):
                why, ending = ("stopped" if stop.asked else "timed_out"), now + _GRACE
                _signal(process, signal.SIGTERM)
            if ended:  # what it left running may hold the pipe for a moment longer
                ending = min(ending or now + _LINGER, now + _LINGER)
            if ending and now >= ending:
                _signal(process, signal.SIGKILL)
                ending = now + _GRACE
                if ended:
                    break
        status = process.wait()
    if stop.asked and status != 0:  # systemd tells the script at the same moment as us
        why = why or "stopped"
    return _told(status, why)


def _told(status: int, why: str) -> dict[str, Any]:
    if why == "timed_out":
        return {"code": why, "message": "It did not end in time and was stopped."}
    if why == "stopped":
        return {"code": why, "message": "It was stopped."}
    if status == 0:
        return {"code": "ok", "message": "", "exit_status": 0}
    if status < 0:
        name = signal.Signals(-status).name
        return {
            "code": "killed",
            "message": f"It was ended by {name}.",
            "exit_status": 128 - status,
        }
    return {
        "code": "exit_status",
        "message": f"It ended with exit status {status}.",
        "exit_status": status,
    }


def _signal(process: "subprocess.Popen[bytes]", number: int) -> None:
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return


class _Output:
    """The beginning and the end of what a script writes, in the space that was kept for it."""

    def __init__(self, folder: Path, limit: int) -> None:
        self._file = os.open(folder / "output", os.O_WRONLY | os.O_CLOEXEC)
        self._length = os.open(folder / "written", os.O_WRONLY | os.O_CLOEXEC)
        self._head = limit - min(_TAIL, limit // 2)
        self._tail_most = limit - self._head
        self._tail = bytearray()
        self._at = 0
        self.left_out = 0

    def add(self, piece: bytes) -> None:
        """More of it; the first part is there to be read at once."""
        room = self._head - self._at
        if room > 0 and not self._tail:
            self._write(piece[:room])
            piece = piece[room:]
        self._tail += piece
        over = len(self._tail) - self._tail_most
        if over > 0:
            self.left_out += over
            del self._tail[:over]

    def close(self) -> None:
        """Nothing more comes: the end is written behind the beginning."""
        if self.left_out:
            self._write(_MARK % self.left_out)
        self._write(bytes(self._tail))
        os.fsync(self._file)
        os.close(self._file)
        os.close(self._length)

    def _write(self, data: bytes) -> None:
        if not data:
            return
        os.pwrite(self._file, data, self._at)
        self._at += len(data)
        os.pwrite(self._length, b"%-31d\n" % self._at, 0)
