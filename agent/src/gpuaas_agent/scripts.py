"""Starts, watches and stops the units in which scripts run. Blocking calls to systemd only."""

import contextlib
import pwd
import shutil
import sys
from typing import Any

from gpuaas_agent.files import Owner, file_put, folder_make
from gpuaas_agent.journal import Entry
from gpuaas_agent.places import Places
from gpuaas_agent.programs import ProgramFailed, program_run

_STOP_SECONDS = 15
_BACKSTOP = 60  # the supervisor keeps the time; systemd ends what the supervisor did not


class CannotStart(Exception):
    """The script could not be started; nothing was done."""


def unit_name(task_id: str) -> str:
    """The unit of a task."""
    return f"gpuaas-{task_id.replace('_', '-')}.service"


def script_start(places: Places, entry: Entry) -> None:
    """Let systemd run a task's script; one that runs already is left alone."""
    direction = entry.direction
    spec = direction["spec"]
    folder = places.passing / entry.task_id
    try:
        user = pwd.getpwnam(spec["user"])
        folder_make(places.passing, 0o711)
        folder_make(folder, 0o711)
        file_put(folder / "script", spec["script"].encode(), Owner(user.pw_uid, user.pw_gid, 0o400))
    except KeyError:
        raise CannotStart(f"there is no user {spec['user']}") from None
    except OSError as error:
        raise CannotStart(f"{error.filename}: {error.strerror}") from error
    command = [sys.executable, "-I", str(places.program), "exec", entry.task_id]
    try:
        program_run([*_systemd_run(entry.task_id, direction), "--", *command])
    except ProgramFailed as error:
        if not unit_alive(entry.task_id):
            raise CannotStart(str(error)) from error


def unit_alive(task_id: str) -> bool:
    """Whether the unit of a task runs, or is about to."""
    said = program_run(["systemctl", "show", "-p", "ActiveState", "--value", unit_name(task_id)])
    return said.decode().strip() in {"active", "activating", "deactivating", "reloading"}


def script_stop(task_id: str) -> None:
    """Stop a task with everything it started; returns once nothing of it runs."""
    with contextlib.suppress(ProgramFailed):
        program_run(["systemctl", "stop", unit_name(task_id)], seconds=_STOP_SECONDS + 30)


def script_forget(places: Places, task_id: str) -> None:
    """Remove what a script needed while it ran."""
    shutil.rmtree(places.passing / task_id, ignore_errors=True)


def _systemd_run(task_id: str, direction: dict[str, Any]) -> list[str]:
    spec = direction["spec"]
    story = direction["correlation_id"]
    properties = [
        "Type=exec",
        "KillMode=control-group",
        f"TimeoutStopSec={_STOP_SECONDS}",
        f"RuntimeMaxSec={int(spec['timeout_seconds']) + _BACKSTOP}",
        "TasksMax=4096",
        "OOMPolicy=kill",
        "StandardInput=null",
        f"LogExtraFields=GPUAAS_CORRELATION_ID={story}",
    ]
    if spec["memory_mib"] is not None:
        properties += [f"MemoryMax={int(spec['memory_mib'])}M", "MemorySwapMax=0"]
    argv = ["systemd-run", "--quiet", "--collect", f"--unit={unit_name(task_id)}"]
    argv.append(f"--description=GPUaaS {task_id}, correlation {story}")
    return argv + [word for one in properties for word in ("-p", one)]
