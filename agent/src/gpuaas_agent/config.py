"""Which platform this machine belongs to, and as which node."""

from dataclasses import asdict, dataclass

from gpuaas_agent.files import json_get, json_put
from gpuaas_agent.places import Places


@dataclass(frozen=True)
class Config:
    """Written when a machine enrols; nothing in it is secret."""

    url: str
    node_id: str
    node_name: str


def config_read(places: Places) -> Config | None:
    """What was written, or None on a machine that is not enrolled."""
    found = json_get(places.config)
    return None if found is None else Config(**found)


def config_write(places: Places, config: Config) -> None:
    """Remember it."""
    json_put(places.config, asdict(config))
