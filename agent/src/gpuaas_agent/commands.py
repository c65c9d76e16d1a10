"""What `gpuaas-agent enroll`, `run`, `status` and `unenroll` do. Called by `command_line.py`."""

import asyncio
import json
import sys
from pathlib import Path

from gpuaas_agent import __version__
from gpuaas_agent.access import access_revision
from gpuaas_agent.config import config_read
from gpuaas_agent.daemon import Agent
from gpuaas_agent.enrolling import CannotEnrol, Wish, machine_enrol
from gpuaas_agent.identity import Identity
from gpuaas_agent.journal import Journal
from gpuaas_agent.leaving import host_clean, host_forget
from gpuaas_agent.places import Places
from gpuaas_agent.programs import ProgramFailed
from gpuaas_agent.unit import state_remove, unit_active, unit_stop
from gpuaas_agent.wire import Ask, Refused, Unreachable, Wire

OK, FAILED, NOT_ENROLLED = 0, 1, 4
_BROUGHT = Path("/run")  # where the printed command puts what it fetched


def enroll(places: Places, url: str, ca_digest: str | None, program: Path) -> int:
    """Become a node; the token comes by standard input."""
    token = sys.stdin.read().strip()
    if not token:
        return _no("the enrolment token is expected on standard input")
    wish = Wish(url.rstrip("/"), token, ca_digest, program)
    try:
        config = asyncio.run(machine_enrol(places, wish))
    except Refused as error:
        state_remove(places)  # it is nobody's node: nothing is kept
        return _no(str(error))
    except (CannotEnrol, ProgramFailed, OSError, ValueError) as error:
        return _no(str(error))
    finally:
        if program.parent == _BROUGHT:
            program.unlink(missing_ok=True)
    sys.stdout.write(f"This machine is the node {config.node_name} ({config.node_id}).\n")
    return OK


def run(places: Places) -> int:
    """Work for the platform."""
    config = config_read(places)
    if config is None:
        return _not_enrolled()
    return asyncio.run(Agent(places, config).run())


def status(places: Places) -> int:
    """Say what this machine is to whom."""
    config = config_read(places)
    if config is None:
        return _not_enrolled()
    told = {
        "platform": config.url,
        "node_id": config.node_id,
        "node_name": config.node_name,
        "agent_version": __version__,
        "running": unit_active(),
        "access_revision": access_revision(places),
        "tasks": [entry.task_id for entry in Journal(places.tasks).entries()],
    }
    sys.stdout.write(json.dumps(told, indent=2) + "\n")
    return OK


def unenroll(places: Places, reason: str, *, force: bool, offline: bool) -> int:
    """Leave: ask the platform, clean the host, say so, forget."""
    config = config_read(places)
    if config is None:
        return _not_enrolled()
    authority = places.authority if places.authority.exists() else None
    wire = Wire(config.url, authority)
    identity = Identity(places, wire, config.node_id)
    try:
        if not offline:
            wire.ask(Ask("/agent/leaving", {"reason": reason, "force": force}, identity.token()))
        unit_stop()
        held = [entry.task_id for entry in Journal(places.tasks).entries()]
        residue = host_clean(places, held)
        if not offline:
            wire.ask(Ask("/agent/left", {"residue": residue}, identity.token()))
    except (Refused, ProgramFailed) as error:
        return _no(str(error))
    except Unreachable as error:
        return _no(f"the platform does not answer ({error}); --offline leaves without telling it")
    host_forget(places)
    for line in residue:
        sys.stderr.write(f"{line}\n")
    told = " The platform does not know; un-enrol the node there by force." if offline else ""
    sys.stdout.write(f"This machine is no longer the node {config.node_name}.{told}\n")
    return OK


def _not_enrolled() -> int:
    sys.stderr.write("gpuaas-agent: this machine is not enrolled\n")
    return NOT_ENROLLED


def _no(why: str) -> int:
    sys.stderr.write(f"gpuaas-agent: {why}\n")
    return FAILED
