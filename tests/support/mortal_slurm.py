"""The app's controller, killed (-9) when a step's effect is there and nobody was told of it.

    python mortal_slurm.py LEDGER controller --config FILE …

The command as it is, except that each step kills its process the first time its `do` has ended:
before it is verified, reported, or anything else. The ledger remembers across these deaths what was
done, one line each (`done` or `died`, operation, kind, step), so that a test can count effects.
"""

import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

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


class Mortal(Around):
    """A step whose first end is its process's too."""

    def __init__(self, inner: Step, ledger: Ledger) -> None:
        super().__init__(inner)
        self._ledger = ledger

    async def do(self, ctx: Context) -> None:
        """As the step; the first time it ends there is nobody left to say so."""
        await super().do(ctx)
        own = ctx.operation.id, ctx.operation.kind, self.title
        self._ledger.write(Entry("done", *own))
        died = {(one.kind, one.step) for one in self._ledger.entries() if one.what == "died"}
        if (ctx.operation.kind, self.title) not in died:
            self._ledger.write(Entry("died", *own))
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    book = Ledger(Path(sys.argv[1]))
    # The command makes its app by this name; nothing else of it is changed.
    vars(controller)["slurm_app"] = lambda *given: operations_around(
        slurm_app(*given), lambda step: Mortal(step, book)
    )
    sys.exit(main(sys.argv[2:]))
