"""Real local machines for demos and system tests.

The public surface: everything else is private to the lab.
"""

from gpuaas_lab.errors import (
    BootFailed,
    CommandFailed,
    HostNotReady,
    LabBusy,
    LabError,
    LabNotFound,
    MachineNotFound,
    MachineOff,
    NoSource,
    NotSupported,
)
from gpuaas_lab.lab import Lab
from gpuaas_lab.machine import Machine
from gpuaas_lab.packages import PackageSet
from gpuaas_lab.settings import Settings
from gpuaas_lab.ssh import Result

__all__ = [
    "BootFailed",
    "CommandFailed",
    "HostNotReady",
    "Lab",
    "LabBusy",
    "LabError",
    "LabNotFound",
    "Machine",
    "MachineNotFound",
    "MachineOff",
    "NoSource",
    "NotSupported",
    "PackageSet",
    "Result",
    "Settings",
]
