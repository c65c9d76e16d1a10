"""The app's controller, killed (-9) when a step has ended and nobody was told of it.

    python mortal_slurm.py LEDGER

A nursery (`slurm_nursery.py`): there each controller is given the rest of its line, `controller
--config FILE …`. It is the command as it is, except that each step of each kind of operation kills
its process the first time it ends: its `do` is over, or its `check` found nothing to do. Nothing
was verified or reported then. Of steps that run beside each other one acts at a time, until each
has killed: what one did stays the only thing that was done. The ledger remembers across these
deaths what happened, one line each (`done`, `died` or `spared`, operation, kind, step), so that a
test can count effects.
"""

import asyncio
import os
import signal
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from slurm_nursery import nursery_serve

from gpuaas_sdk import Context, Step
from gpuaas_sdk.testing.around import Around, operations_around
from gpuaas_slurm.app import slurm_app
from gpuaas_slurm.command import controller
from gpuaas_slurm.main import main


@dataclass(frozen=True)
class Entry:
    """One line: what happened to which step of which operation."""

    what: str
    operation_id: str
    kind: str
    step: str


@dataclass(frozen=True)
class Ledger:
    """What steps did, whoever ran them."""

    path: Path

    def entries(self) -> list[Entry]:
        """Everything so far."""
        if not self.path.exists():
            return []
        return [Entry(*line.split()) for line in self.path.read_text().splitlines()]

    def write(self, entry: Entry) -> None:
        """Write one line; what was written outlives the process."""
        with self.path.open("a") as file:
            file.write(f"{entry.what} {entry.operation_id} {entry.kind} {entry.step}\n")

    def died(self, kind: str) -> set[str]:
        """The steps of a kind that kill nobody any more."""
        over = {"died", "spared"}
        return {one.step for one in self.entries() if one.kind == kind and one.what in over}


@dataclass(frozen=True)
class Fate:
    """What the steps of one process share: the ledger, and whose turn it is in each operation."""

    ledger: Ledger
    turns: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))


class Mortal(Around):
    """A step whose first end is its process's too."""

    def __init__(self, inner: Step, fate: Fate) -> None:
        super().__init__(inner)
        self._fate = fate

    async def check(self, ctx: Context) -> bool:
        """As the step; one with nothing to do ends here."""
        there = await super().check(ctx)
        if there and self._deadly(ctx):
            async with self._fate.turns[ctx.operation.id]:
                self._die(ctx)
        return there

    async def do(self, ctx: Context) -> None:
        """As the step; the first time it ends there is nobody left to say so."""
        if not self._deadly(ctx):
            await super().do(ctx)
            self._note("done", ctx)
            return
        async with self._fate.turns[ctx.operation.id]:
            await super().do(ctx)
            self._note("done", ctx)
            self._die(ctx)

    def _deadly(self, ctx: Context) -> bool:
        return self.title not in self._fate.ledger.died(ctx.operation.kind)

    def _die(self, ctx: Context) -> None:
        self._note("died", ctx)
        os.kill(os.getpid(), signal.SIGKILL)

    def _note(self, what: str, ctx: Context) -> None:
        self._fate.ledger.write(Entry(what, ctx.operation.id, ctx.operation.kind, self.title))


if __name__ == "__main__":
    fate = Fate(Ledger(Path(sys.argv[1])))
    # The command makes its app by this name; nothing else of it is changed.
    vars(controller)["slurm_app"] = lambda *given: operations_around(
        slurm_app(*given), lambda step: Mortal(step, fate)
    )
    nursery_serve(main)
