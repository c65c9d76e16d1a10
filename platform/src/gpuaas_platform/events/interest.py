"""Which events somebody gets: what they asked for, within what they may read. Pure."""

from dataclasses import dataclass

from gpuaas_contract.events import EventFilter
from gpuaas_platform.events.envelope import Frame
from gpuaas_platform.kernel.caller import Reach


@dataclass(frozen=True, slots=True)
class Interest:
    """A filter within a reach. Asked for every event and subscriber, so it only compares."""

    wanted: EventFilter
    reach: Reach
    above: bool = False
    """With a project: what is of no project too."""

    def takes(self, frame: Frame) -> bool:
        """Whether this event is wanted and may be seen."""
        reach = self.reach
        if not (
            reach.everywhere
            or frame.org_id in reach.org_ids
            or frame.project_id in reach.project_ids
        ):
            return False
        wanted = self.wanted
        if wanted.type and not type_taken(wanted.type, frame.type):
            return False
        return (
            self._of_project(frame.project_id)
            and (wanted.org_id is None or wanted.org_id == frame.org_id)
            and (wanted.app_slug is None or wanted.app_slug == frame.app_slug)
            and (wanted.app_instance_id is None or wanted.app_instance_id == frame.app_instance_id)
            and (wanted.correlation_id is None or wanted.correlation_id == frame.correlation_id)
        )

    def _of_project(self, project_id: str | None) -> bool:
        wanted = self.wanted.project_id
        return wanted is None or wanted == project_id or (self.above and project_id is None)


def type_taken(prefixes: list[str], event_type: str) -> bool:
    """Whether a type is one of these, or lies below one of them."""
    return any(event_type == p or event_type.startswith(f"{p}.") for p in prefixes)
