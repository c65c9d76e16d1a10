"""A newer agent takes over: fetched, known by its digest, tried, and put in place whole.

Scripts run on meanwhile, in units of their own; what else was under way goes on from the journal.
"""

import hashlib
import sys
from typing import Any

from gpuaas_agent.files import Owner, file_put
from gpuaas_agent.places import PROGRAM, Places
from gpuaas_agent.programs import ProgramFailed, program_run
from gpuaas_agent.wire import API, Wire

_TRIAL_SECONDS = 60.0


class NotUpdated(Exception):
    """The present agent stays; the message says why."""


def agent_update(places: Places, wire: Wire, direction: dict[str, Any]) -> None:
    """Put the agent the platform serves in place of the present one, if it runs here."""
    content = wire.bytes_get(f"{API}/agent/{PROGRAM}.pyz")
    if hashlib.sha256(content).hexdigest() != direction["digest"]:
        raise NotUpdated("what came is not the agent the platform named")
    try:
        file_put(places.update, content)
        trial = [sys.executable, "-I", str(places.update), "facts", "--section", "cpu"]
        program_run(trial, seconds=_TRIAL_SECONDS)
        file_put(places.program, content, Owner(0, 0, 0o755))
    except (ProgramFailed, OSError) as error:
        raise NotUpdated(str(error)) from error
    finally:
        places.update.unlink(missing_ok=True)
