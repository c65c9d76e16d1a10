"""A machine is let go: what the agent brought is taken back, and what could not be is said."""

from collections.abc import Iterable

from gpuaas_agent.access import AccessFailed, access_remove
from gpuaas_agent.places import Places
from gpuaas_agent.programs import ProgramFailed
from gpuaas_agent.scripts import script_forget, script_stop
from gpuaas_agent.unit import state_remove, unit_remove


def host_clean(places: Places, task_ids: Iterable[str]) -> list[str]:
    """Stop what runs and let nobody in any more; what is left, in words."""
    residue = []
    for task_id in task_ids:
        script_stop(task_id)
        script_forget(places, task_id)
    try:
        access_remove(places)
    except (AccessFailed, ProgramFailed, OSError) as error:
        residue.append(f"sshd was not set back: {error}")
    return residue


def host_forget(places: Places) -> None:
    """The last step, when the platform has heard: keys, state, unit and the agent itself."""
    state_remove(places)
    unit_remove(places)
