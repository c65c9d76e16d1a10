"""An app whose every step has something around it: how proofs see steps, fail them and kill them.

`Around` is a step that does what another does; a proof changes what it wants. Used by `proof.py`,
and by tests that run a whole controller.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from gpuaas_sdk.app import App, Context, Ordered, Procedure, Step, Together


class Around(Step):
    """As the step inside."""

    def __init__(self, inner: Step) -> None:
        self.inner = inner

    @property
    def title(self) -> str:
        """That of the step."""
        return self.inner.title

    @property
    def undoable(self) -> bool:
        """As the step."""
        return self.inner.undoable

    async def check(self, ctx: Context) -> bool:
        """As the step."""
        return await self.inner.check(ctx)

    async def do(self, ctx: Context) -> None:
        """As the step."""
        await self.inner.do(ctx)

    async def verify(self, ctx: Context) -> bool:
        """As the step."""
        return await self.inner.verify(ctx)

    async def undo(self, ctx: Context) -> None:
        """As the step."""
        await self.inner.undo(ctx)


def operations_around(app: App[Any], wrap: Callable[[Step], Step]) -> App[Any]:
    """The app with this around every step of its operations, those beside each other too."""

    def branch(steps: Sequence[Step]) -> tuple[Step, ...]:
        return tuple(wrap(step) for step in steps)

    def one(step: Step | Together) -> Step | Together:
        if isinstance(step, Together):
            return Together(*(branch(steps) for steps in step.branches))
        return wrap(step)

    def procedure(known: Procedure) -> Procedure:
        async def load(ctx: Context) -> Ordered:
            return [one(step) for step in await known.load(ctx)]

        return replace(known, steps=load)

    operations = {kind: procedure(known) for kind, known in app.operations.items()}
    return replace(app, operations=operations)
