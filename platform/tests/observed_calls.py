"""Calls of a method as they begin and end, so that a test goes on when one has happened."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from eventually import eventually

from gpuaas_platform.events.following import Following
from gpuaas_platform.kernel.signals import Expectation


@dataclass
class Calls:
    """The objects a method was called on, in order."""

    begun: list[Any] = field(default_factory=list)
    ended: list[Any] = field(default_factory=list)


def observe_calls(patch: pytest.MonkeyPatch, owner: type, method: str) -> Calls:
    """Record the calls of an async method, which runs as before."""
    calls, original = Calls(), getattr(owner, method)

    async def observed(self: Any, *args: Any, **kwargs: Any) -> Any:
        calls.begun.append(self)
        try:
            return await original(self, *args, **kwargs)
        finally:
            calls.ended.append(self)

    patch.setattr(owner, method, observed)
    return calls


class Waits:
    """Waits in this process: whoever waits has read the state and found nothing new in it."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._signals = observe_calls(patch, Expectation, "wait")
        self._events = observe_calls(patch, Following, "wait")

    async def begun(self, topic: str) -> None:
        """Return once one has waited for this topic, or for events of this correlation id."""
        await eventually(lambda: topic in self.topics, what=f"a wait for {topic}")

    def forget(self) -> None:
        """Look at later waits alone."""
        self._signals.begun.clear()
        self._events.begun.clear()

    @property
    def topics(self) -> set[str]:
        """All that has been waited for."""
        followed = [one._subscription.interest.wanted.correlation_id for one in self._events.begun]
        return {topic for one in self._signals.begun for topic in one._topics}.union(followed)
