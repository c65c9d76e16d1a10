"""`gpuaas-agent enroll`: this machine becomes a node, and says what already runs on it."""

import asyncio
import hashlib
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuaas_agent import __version__
from gpuaas_agent.config import Config, config_read, config_write
from gpuaas_agent.facts.collect import facts_collect, machine_reader
from gpuaas_agent.files import Owner, file_put, folder_own
from gpuaas_agent.identity import Keys
from gpuaas_agent.places import Places
from gpuaas_agent.trust import keys_keep
from gpuaas_agent.unit import unit_install
from gpuaas_agent.wire import API, Ask, Unreachable, Wire

_NEEDED = ("ssh-keygen", "sshd", "systemctl", "systemd-run")
_OUR_PORTS = {22}


class CannotEnrol(Exception):
    """This machine cannot become a node; the message says what to do."""


@dataclass(frozen=True)
class Wish:
    """What the command said."""

    url: str
    token: str
    ca_digest: str | None
    program: Path


async def machine_enrol(places: Places, wish: Wish) -> Config:
    """Make keys, tell the platform, start the agent. Can be repeated until it has succeeded."""
    _able_require(places)
    folder_own(places.state)
    wire = Wire(wish.url, _authority(places, wish))
    reader = await machine_reader(places.root)
    facts = facts_collect(reader)
    for line in already_there(facts):
        sys.stderr.write(f"{line}\n")
    keys = Keys(places.identity)
    if not keys.complete:
        keys = Keys.make(places.identity)
    body = {
        "token": wish.token,
        "agent_version": __version__,
        "host_keys": host_keys(places),
        "facts": facts,
        **keys.public(),
    }
    answer = await _told(wire, body)
    keys_keep(places, answer["signers"])
    config = Config(wish.url, answer["node_id"], answer["node_name"])
    config_write(places, config)
    unit_install(places, wish.program)
    return config


def already_there(facts: dict[str, Any]) -> list[str]:
    """What runs here besides the system itself, in words; nothing is touched."""
    activity = facts["activity"]
    services = [one for one in activity["services"] or () if not one["base"]]
    ports = sorted(
        {
            (one["port"], one["process"] or "somebody")
            for one in activity["listeners"] or ()
            if one["port"] not in _OUR_PORTS
            and not one["address"].startswith(("127.", "::1"))
            and not (one["process"] or "").startswith("systemd")
        }
    )
    said = [f"This host already runs {one['unit']} ({one['description']})." for one in services]
    said += [f"This host already listens on port {port} ({name})." for port, name in ports]
    busy = facts["gpus"].get("processes") or ()
    said += [f"A GPU is used by {one['name']} (process {one['pid']})." for one in busy]
    return said


def host_keys(places: Places) -> list[str]:
    """The keys this machine's sshd shows, without their comments."""
    found = []
    for path in sorted((places.root / "etc/ssh").glob("ssh_host_*_key.pub")):
        words = path.read_text().split()
        if words and words[0] != "ssh-dss":
            found.append(" ".join(words[:2]))
    if not found:
        raise CannotEnrol("this machine's sshd has no host keys; start sshd once, then repeat")
    return found[:8]


def _able_require(places: Places) -> None:
    if os.geteuid() != 0:
        raise CannotEnrol("this must be run as root")
    missing = [name for name in _NEEDED if shutil.which(name, path=_PATH) is None]
    if missing:
        raise CannotEnrol(f"this machine lacks {', '.join(missing)}; install them, then repeat")
    known = config_read(places)
    if known is not None:
        raise CannotEnrol(
            f"this machine is the node {known.node_name} of {known.url} already;"
            " un-enrol it first: gpuaas-agent unenroll"
        )


_PATH = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin"


def _authority(places: Places, wish: Wish) -> Path | None:
    """Fetch the authority to trust; the digest in the command decides whether it is the one."""
    if wish.ca_digest is None:
        return None
    text = _fetched_blindly(wish.url)
    if hashlib.sha256(text).hexdigest() != wish.ca_digest:
        raise CannotEnrol("the platform's authority is not the one the command names")
    file_put(places.authority, text, Owner(0, 0, 0o600))
    return places.authority


def _fetched_blindly(url: str) -> bytes:
    try:
        return Wire(url, None, verify=False).bytes_get(f"{API}/agent/ca.pem")
    except Unreachable as error:
        raise CannotEnrol(f"{url} does not answer: {error}") from error


async def _told(wire: Wire, body: dict[str, Any]) -> dict[str, Any]:
    """Send it; a lost answer is asked for again, which the platform allows the same keys."""
    for attempt in range(5):
        try:
            answer: dict[str, Any] = await asyncio.to_thread(
                wire.ask, Ask("/agent/enrol", body, seconds=60)
            )
        except Unreachable as error:
            if attempt == 4:
                raise CannotEnrol(f"the platform does not answer: {error}") from error
            await asyncio.sleep(1.0 + attempt)
        else:
            return answer
    raise RuntimeError("unreachable")
