"""Sessions on machines: how an app reaches a machine it may touch.

    machine = await ctx.machines.open(allocation_id)
    await machine.put(File("/etc/motd", b"hello"))
    await machine.run("systemctl restart thing", timeout=30)

What is named here is public; the modules behind it are not.
"""

from gpuaas_sdk.machines.access import SshAccess, ssh_access
from gpuaas_sdk.machines.agent_wire import AgentAccess
from gpuaas_sdk.machines.certificate import CertificateAccess
from gpuaas_sdk.machines.failures import (
    AccessRefused,
    MachineFailure,
    MachineUnreachable,
    ScriptFailed,
    ScriptTimedOut,
)
from gpuaas_sdk.machines.machine import Machine
from gpuaas_sdk.machines.machines import Machines
from gpuaas_sdk.machines.scripts import About, Order
from gpuaas_sdk.machines.sealed_key import SealedKeyAccess
from gpuaas_sdk.machines.ssh_wire import Patience
from gpuaas_sdk.machines.values import File, Ran, Unit
from gpuaas_sdk.machines.wire import Access, Output, Wire

__all__ = [
    "About",
    "Access",
    "AccessRefused",
    "AgentAccess",
    "CertificateAccess",
    "File",
    "Machine",
    "MachineFailure",
    "MachineUnreachable",
    "Machines",
    "Order",
    "Output",
    "Patience",
    "Ran",
    "ScriptFailed",
    "ScriptTimedOut",
    "SealedKeyAccess",
    "SshAccess",
    "Unit",
    "Wire",
    "ssh_access",
]
