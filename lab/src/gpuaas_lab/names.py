"""Names the kernel sees, derived from a lab's name alone.

Pure. Because everything is derived, `down` finds a lab's leftovers even when its state is gone.
Interface names may have 15 characters, so a lab is known to the kernel by a five-digit tag.
"""

from __future__ import annotations

import hashlib
import re

from gpuaas_lab.errors import LabError

HOST = "host"
"""The name under which machines know the host, and which `cut` understands."""

_LAB_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
_MACHINE_NAME = re.compile(r"n[1-9][0-9]{0,2}")


def lab_name(text: str) -> str:
    """Return the name, or refuse it with a sentence."""
    if not _LAB_NAME.fullmatch(text):
        raise LabError(
            f"{text!r} is not a lab name",
            "use up to 40 lower-case letters, digits and inner dashes",
        )
    return text


def machine_name(text: str) -> str:
    """Return the name, or refuse it with a sentence."""
    if not _MACHINE_NAME.fullmatch(text):
        raise LabError(f"{text!r} is not a machine name", "machines are called n1, n2, …")
    return text


def machine_number(name: str) -> int:
    """The number in a machine's name: 3 for n3."""
    return int(machine_name(name)[1:])


def tag(lab: str) -> str:
    """Five hexadecimal digits that stand for the lab in kernel names."""
    return hashlib.sha256(lab.encode()).hexdigest()[:5]


def bridge(lab: str) -> str:
    """The lab's bridge."""
    return f"glab-{tag(lab)}"


def machine_prefix(lab: str) -> str:
    """What every machine id of the lab starts with."""
    return f"gl{tag(lab)}-"


def machine_id(lab: str, machine: str) -> str:
    """The machine's name on the host: in process arguments, mounts, cgroups and interfaces."""
    return f"{machine_prefix(lab)}{machine}"


def in_scope(identity: str, scope: str) -> bool:
    """Whether a machine id is the one named, or of the lab whose prefix is named."""
    return identity == scope or (scope.endswith("-") and identity.startswith(scope))


def veth_prefix(lab: str) -> str:
    """What the host end of every machine's cable starts with."""
    return f"vb-{machine_prefix(lab)}"


def veth(lab: str, machine: str) -> str:
    """The host end of the machine's cable, as systemd-nspawn names it."""
    return f"vb-{machine_id(lab, machine)}"


def mount_source(identity: str) -> str:
    """The source shown for a machine's root in the mount table."""
    return f"gpuaas-lab:{identity}"


def mac(lab: str, member: str) -> str:
    """A locally administered hardware address, the same at every boot."""
    digest = hashlib.sha256(f"{lab}/{member}".encode()).digest()
    return ":".join(f"{byte:02x}" for byte in (0x02, *digest[:5]))
