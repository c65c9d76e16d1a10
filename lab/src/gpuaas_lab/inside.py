"""Run a script inside a running machine from the host, without its network or sshd.

Used for what the lab itself does to a machine (names, devices, clock), so that it also works on a
machine that is cut off. The script comes on standard input; its arguments are passed as they are.
"""

from __future__ import annotations

from gpuaas_lab import names, process, processes
from gpuaas_lab.errors import MachineOff


async def script(lab: str, machine: str, text: str, *arguments: str) -> str:
    """Run the shell script as root in the machine and return what it said."""
    leader = processes.leaders(names.machine_id(lab, machine)).get(names.machine_id(lab, machine))
    if leader is None:
        raise MachineOff(f"{machine} is off", f"gpuaas-lab boot {machine} --name {lab}")
    return await script_at(leader, text, *arguments)


async def script_at(leader: int, text: str, *arguments: str) -> str:
    """The same, when the machine's process 1 is already known."""
    return await process.output(
        *("nsenter", f"--target={leader}", "--mount", "--uts", "--ipc", "--net", "--pid"),
        *("--root", "--wd", "--", "/bin/sh", "-eu", "-s", "--", *arguments),
        stdin=text,
        env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
    )
