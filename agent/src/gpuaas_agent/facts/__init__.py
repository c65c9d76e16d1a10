"""Facts of the machine the agent runs on: read, never guessed."""

from gpuaas_agent.facts.collect import SECTIONS, facts_collect
from gpuaas_agent.facts.reading import Reader, UnreadableError

__all__ = ["SECTIONS", "Reader", "UnreadableError", "facts_collect"]
