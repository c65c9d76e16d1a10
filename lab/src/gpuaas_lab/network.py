"""The lab's bridge and the cables on it, through `ip` and `tc`.

Called by the lab. Everything it makes is named after the lab, and gone when the bridge and the
machines are.
"""

from __future__ import annotations

import json
from ipaddress import IPv4Network
from pathlib import Path

from gpuaas_lab import names, process
from gpuaas_lab.errors import CommandFailed, NotSupported
from gpuaas_lab.partition import Filters
from gpuaas_lab.store import LabRecord

_INTERFACES = Path("/sys/class/net")


async def networks_used() -> list[IPv4Network]:
    """Every IPv4 network the host has an address in or a route to."""
    routes = json.loads(await process.output("ip", "-json", "-4", "route", "show", "table", "all"))
    found = [route["dst"] for route in routes if route.get("dst", "default") != "default"]
    return [IPv4Network(text, strict=False) for text in found if _is_network(text)]


async def bridge_ensure(record: LabRecord) -> None:
    """The lab's bridge, up and with the host's address; harmless when it is already there."""
    bridge = names.bridge(record.name)
    if (_INTERFACES / bridge).exists():
        await process.output("ip", "link", "set", bridge, "up")
        return
    await process.output(
        *("ip", "-batch", "-"),
        stdin=(
            f"link add {bridge} address {names.mac(record.name, names.HOST)} type bridge "
            "forward_delay 0 stp_state 0 mcast_snooping 0\n"
            f"link set {bridge} alias gpuaas-lab:{record.name}\n"
            f"addr add {record.host_address}/{record.network.prefixlen} dev {bridge}\n"
            f"link set {bridge} up\n"
        ),
    )
    _tune(bridge)


def interfaces(lab: str) -> list[str]:
    """The lab's bridge and cables that exist now."""
    prefix = names.veth_prefix(lab)
    bridge = names.bridge(lab)
    present = (path.name for path in _INTERFACES.iterdir())
    return sorted(name for name in present if name == bridge or name.startswith(prefix))


async def interfaces_delete(lab: str) -> None:
    """Remove the lab's bridge and cables."""
    for name in interfaces(lab):
        await interface_delete(name)


async def interface_delete(name: str) -> None:
    """Remove an interface; none of that name is as good."""
    if not (_INTERFACES / name).exists():
        return
    try:
        await process.output("ip", "link", "delete", name)
    except CommandFailed:
        if (_INTERFACES / name).exists():
            raise


def cable_present(lab: str, machine: str) -> bool:
    """Whether the machine's cable is plugged in."""
    return (_INTERFACES / names.veth(lab, machine)).exists()


async def filters_apply(lab: str, machine: str, filters: Filters) -> None:
    """Make the cable drop exactly what the filters say."""
    cable = names.veth(lab, machine)
    # Taking the queue discipline away takes its filters too.
    listed = await process.output("tc", "qdisc", "show", "dev", cable, "clsact")
    script = f"qdisc del dev {cable} clsact\n" if listed.strip() else ""
    if filters.ingress or filters.egress:
        script += f"qdisc add dev {cable} clsact\n"
    for direction, program in (("ingress", filters.ingress), ("egress", filters.egress)):
        if program:
            script += (
                f"filter add dev {cable} {direction} protocol all bpf da bytecode '{program}'\n"
            )
    if not script:
        return
    try:
        await process.output("tc", "-batch", "-", stdin=script)
    except CommandFailed as error:
        raise NotSupported(
            f"this kernel cannot cut a lab machine: {error.message}",
            "it needs clsact and cls_bpf (modprobe sch_ingress cls_bpf)",
        ) from error


def _tune(bridge: str) -> None:
    # A machine that is still booting is asked for every 50 ms, not once a second.
    Path(f"/proc/sys/net/ipv4/neigh/{bridge}/retrans_time_ms").write_text("50")
    without = Path(f"/proc/sys/net/ipv6/conf/{bridge}/disable_ipv6")
    if without.exists():
        without.write_text("1")


def _is_network(text: str) -> bool:
    try:
        IPv4Network(text, strict=False)
    except ValueError:
        return False
    return True
