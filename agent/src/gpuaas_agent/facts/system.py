"""The operating system, its kernel, its name, and what it runs inside of."""

import shlex
from dataclasses import dataclass

from gpuaas_agent.facts.cpu import parse_cpuinfo
from gpuaas_agent.facts.reading import Notes, Reader, UnreadableError

NONE = "none"

HYPERVISORS = (
    ("KVM", "kvm"),
    ("QEMU", "qemu"),
    ("VMware", "vmware"),
    ("VirtualBox", "virtualbox"),
    ("Virtual Machine", "hyper-v"),
    ("Amazon EC2", "amazon"),
    ("Google", "google"),
    ("Xen", "xen"),
    ("OpenStack", "openstack"),
    ("HVM domU", "xen"),
)
"""What the firmware's vendor and product names say, in the order they are tried."""


@dataclass(frozen=True)
class SystemFacts:
    """What `facts` prints under `system`."""

    os_id: str | None
    os_like: list[str] | None
    os_version: str | None
    os_codename: str | None
    os_name: str | None
    kernel: str | None
    architecture: str | None
    hypervisor: str | None
    container: str | None
    hostname: str | None
    fqdn: str | None
    boot_id: str | None


def system_facts(reader: Reader, notes: Notes) -> SystemFacts:
    """Read the system."""
    release = notes.take("system.os", _os_release, reader) or {}
    hostname = notes.take("system.hostname", reader.word, "/proc/sys/kernel/hostname")
    return SystemFacts(
        os_id=release.get("ID"),
        os_like=release["ID_LIKE"].split() if "ID_LIKE" in release else None,
        os_version=release.get("VERSION_ID"),
        os_codename=release.get("VERSION_CODENAME"),
        os_name=release.get("PRETTY_NAME"),
        kernel=notes.take("system.kernel", reader.word, "/proc/sys/kernel/osrelease"),
        architecture=notes.take("system.architecture", _architecture, reader),
        hypervisor=notes.take("system.hypervisor", _hypervisor, reader),
        container=notes.take("system.container", _container, reader),
        hostname=hostname,
        fqdn=notes.take("system.fqdn", _fqdn, reader, hostname),
        boot_id=notes.take("system.boot_id", reader.word, "/proc/sys/kernel/random/boot_id"),
    )


def parse_os_release(text: str) -> dict[str, str]:
    """Return the assignments of os-release(5), unquoted."""
    found = {}
    for line in text.splitlines():
        name, separator, value = line.partition("=")
        if separator and not name.startswith("#"):
            found[name.strip()] = "".join(shlex.split(value)) if value else ""
    if "ID" not in found:
        raise ValueError("no line ID=")
    return found


def parse_hosts(text: str, hostname: str) -> list[str]:
    """Return the names with a domain that /etc/hosts gives this host, the canonical one first."""
    found = []
    for line in text.splitlines():
        names = line.partition("#")[0].split()[1:]
        full = [name for name in names if name.startswith(f"{hostname}.")]
        if hostname in names or full:
            found.extend(full)
    return found


def parse_hypervisor(vendor: str, product: str) -> str:
    """Return the hypervisor the firmware's names give away, or `none` for a make of hardware."""
    words = f"{vendor} {product}"
    return next((kind for mark, kind in HYPERVISORS if mark in words), NONE)


def parse_container_environment(text: str) -> str:
    """Return the container manager named in the environment of PID 1, or `none`."""
    pairs = (entry.partition("=") for entry in text.split("\0"))
    return next((value for name, _, value in pairs if name == "container" and value), NONE)


def _os_release(reader: Reader) -> dict[str, str]:
    own, vendor = "/etc/os-release", "/usr/lib/os-release"
    return reader.parsed(own if reader.exists(own) else vendor, parse_os_release)


def _architecture(reader: Reader) -> str:
    if reader.exists("/proc/sys/kernel/arch"):
        return reader.word("/proc/sys/kernel/arch")
    return reader.answer("uname-machine", bytes.decode)


def _hypervisor(reader: Reader) -> str:
    if reader.exists("/sys/hypervisor/type"):
        return reader.word("/sys/hypervisor/type")
    if reader.exists("/sys/class/dmi/id/product_name"):
        vendor = reader.word("/sys/class/dmi/id/sys_vendor")
        found = parse_hypervisor(vendor, reader.word("/sys/class/dmi/id/product_name"))
        if found != NONE:
            return found
    cpu = reader.parsed("/proc/cpuinfo", parse_cpuinfo)
    if "flags" not in cpu:
        raise UnreadableError("/proc/cpuinfo", "this architecture has no mark of a virtual machine")
    if "hypervisor" not in cpu["flags"].split():
        return NONE
    raise UnreadableError(
        "/sys/class/dmi/id", "a virtual machine (processor flag 'hypervisor') of a kind not named"
    )


def _container(reader: Reader) -> str:
    for path in ("/run/systemd/container", "/run/host/container-manager"):
        if reader.exists(path):
            return reader.word(path)
    if reader.exists("/run/.containerenv"):
        return "podman"
    if reader.exists("/.dockerenv"):
        return "docker"
    return reader.parsed("/proc/1/environ", parse_container_environment)


def _fqdn(reader: Reader, hostname: str | None) -> str:
    """Take the name from /etc/hosts: a question to DNS can hang, and answers for another day."""
    if hostname is None:
        raise UnreadableError("/proc/sys/kernel/hostname", "the host name is unknown")
    if "." in hostname:
        return hostname
    found = parse_hosts(reader.text("/etc/hosts"), hostname)
    if not found:
        raise UnreadableError("/etc/hosts", f"gives no name with a domain to {hostname}")
    return found[0]
