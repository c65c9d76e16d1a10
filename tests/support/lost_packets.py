"""Whether the packets of a machine that is cut off are lost: TCP says how often it sent them."""

import asyncio
import re

from gpuaas_lab import Machine, inside

_AGAIN = re.compile(r"timer:\(on,[^,]*,(?:[2-9]|\d\d)")
"""A retransmission timer that has run out twice."""


async def sent_in_vain(lab: str, machine: Machine, of: str) -> bool:
    """Whether a connection of the machine, chosen by a filter of `ss`, gets no answer."""
    return _lost(await inside.script(lab, machine.name, f"ss -Htno state connected '{of}'"))


async def sent_in_vain_to(machine: Machine) -> bool:
    """Whether something this host sends to the machine, but over its sshd, gets no answer."""
    of = f"dst {machine.address} and not dport = :22"
    ss = await asyncio.create_subprocess_exec(
        *("ss", "-Htno", "state", "connected", of), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await ss.communicate()
    assert ss.returncode == 0
    return _lost(out.decode())


def _lost(connections: str) -> bool:
    return _AGAIN.search(connections) is not None
