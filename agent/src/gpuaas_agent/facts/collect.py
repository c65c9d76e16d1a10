"""Puts the sections together. The command line calls it, and whatever reports facts later."""

import time
from collections.abc import Callable, Collection
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gpuaas_agent.facts.activity import activity_facts
from gpuaas_agent.facts.cgroups import cgroup_facts
from gpuaas_agent.facts.clock import clock_facts
from gpuaas_agent.facts.cpu import cpu_facts
from gpuaas_agent.facts.gpus import gpu_facts
from gpuaas_agent.facts.kernel import kernel_answer
from gpuaas_agent.facts.memory import memory_facts
from gpuaas_agent.facts.network import network_facts
from gpuaas_agent.facts.programs import programs_run
from gpuaas_agent.facts.reading import Notes, Reader
from gpuaas_agent.facts.storage import storage_facts
from gpuaas_agent.facts.system import system_facts

FORMAT = 1
"""Raised when a field changes its meaning or goes; a new field does not raise it."""

READERS: dict[str, Callable[[Reader, Notes], Any]] = {
    "system": system_facts,
    "cpu": cpu_facts,
    "memory": memory_facts,
    "storage": storage_facts,
    "cgroups": cgroup_facts,
    "network": network_facts,
    "gpus": gpu_facts,
    "activity": activity_facts,
}

SECTIONS = (*READERS, "time")


async def machine_reader(root: Path) -> Reader:
    """Return a reader of the running machine, or of the system's files under another root."""
    if root != Path("/"):
        return Reader(root)
    return Reader(root, outputs=await programs_run(), kernel=kernel_answer)


def facts_collect(
    reader: Reader,
    sections: Collection[str] = SECTIONS,
    now: Callable[[], float] = time.time,
    reference: float | None = None,
) -> dict[str, Any]:
    """Return the facts as plain data; `unknown` lists what could not be read, and why."""
    notes = Notes()
    facts: dict[str, Any] = {"format": FORMAT}
    # The clock first: a reference given by a caller ages while the rest is read.
    if "time" in sections:
        facts["time"] = asdict(clock_facts(reader, notes, now(), reference))
    for name, read in READERS.items():
        if name in sections:
            facts[name] = asdict(read(reader, notes))
    facts["unknown"] = [asdict(entry) for entry in notes.unknown]
    return facts
