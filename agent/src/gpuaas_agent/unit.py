"""The agent's own systemd unit: as little power as its work leaves it."""

import contextlib
import shutil
import sys
from pathlib import Path

from gpuaas_agent.files import Owner, file_put, folder_make
from gpuaas_agent.places import PROGRAM, Places
from gpuaas_agent.programs import ProgramFailed, program_run

# Scripts run in units of their own, started by systemd. The agent itself reads any file that is
# collected and writes any file that is delivered, so the file system stays open to it; the rest of
# root's power it does without.
_UNIT = """\
[Unit]
Description=GPUaaS node agent
Wants=network-online.target
After=network-online.target ssh.service sshd.service
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart={python} -I {program} run
Restart=always
RestartSec=2
UMask=0077
OOMScoreAdjust=-500
MemoryMax=256M
TasksMax=64
CapabilityBoundingSet=CAP_CHOWN CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH CAP_FOWNER
CapabilityBoundingSet=CAP_KILL CAP_SYS_PTRACE
LockPersonality=yes
NoNewPrivileges=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service adjtimex
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
"""
_ENTRY = f"{PROGRAM}.service"


def unit_install(places: Places, program: Path) -> None:
    """Put the agent and its unit in place, and start it now and at every boot."""
    folder_make(places.program.parent, 0o755)
    if program.resolve() != places.program:
        file_put(places.program, program.read_bytes(), Owner(0, 0, 0o755))
    unit_refresh(places)
    program_run(["systemctl", "enable", "--quiet", _ENTRY])
    program_run(["systemctl", "restart", _ENTRY])


def unit_refresh(places: Places) -> None:
    """Write the unit as this release wants it; it counts from the next start on."""
    text = _UNIT.format(python=sys.executable, program=places.program).encode()
    with contextlib.suppress(FileNotFoundError):
        if places.unit.read_bytes() == text:
            return
    file_put(places.unit, text, Owner(0, 0, 0o644))
    program_run(["systemctl", "daemon-reload"])


def unit_stop() -> None:
    """Stop the agent, where it runs."""
    with contextlib.suppress(ProgramFailed):
        program_run(["systemctl", "stop", _ENTRY], seconds=60)


def unit_remove(places: Places) -> None:
    """Take the unit and the agent away; the process that does this may be the unit's own."""
    with contextlib.suppress(ProgramFailed):
        program_run(["systemctl", "disable", "--quiet", _ENTRY])
    places.unit.unlink(missing_ok=True)
    places.program.unlink(missing_ok=True)
    with contextlib.suppress(ProgramFailed):
        program_run(["systemctl", "daemon-reload"])


def unit_active() -> bool:
    """Whether the agent runs."""
    try:
        return program_run(["systemctl", "is-active", _ENTRY]).strip() == b"active"
    except ProgramFailed:
        return False


def state_remove(places: Places) -> None:
    """Forget everything this machine knew as a node."""
    shutil.rmtree(places.state, ignore_errors=True)
    shutil.rmtree(places.passing, ignore_errors=True)
