"""What tests of the runtime share: a step they say the work of."""

from collections.abc import Callable
from typing import Any

from gpuaas_sdk import Context, Step


class Act(Step):
    """A step that is what a test makes of it."""

    def __init__(self, name: str, act: Callable[[Context], Any] | None = None) -> None:
        self._title = name
        self._act = act
        self.done = False
        self.undone = False

    @property
    def title(self) -> str:
        return self._title

    async def check(self, ctx: Context) -> bool:
        del ctx
        return self.done

    async def do(self, ctx: Context) -> None:
        if self._act is not None:
            await self._act(ctx)
        self.done = True

    async def undo(self, ctx: Context) -> None:
        del ctx
        self.done, self.undone = False, True
