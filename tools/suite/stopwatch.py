"""Measures stages: their seconds, and how busy the host's processors were meanwhile."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

from tools.suite.report import Stage


class Stopwatch:
    """The stages measured so far, in order."""

    def __init__(self) -> None:
        self.stages: dict[str, Stage] = {}

    @property
    def seconds(self) -> float:
        """All stages together."""
        return sum(stage.seconds for stage in self.stages.values())

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure a block, also one that fails."""
        begun, before = time.monotonic(), _ticks()
        try:
            yield
        finally:
            idle, total = (now - then for now, then in zip(_ticks(), before, strict=True))
            busy = 1 - idle / total if total else 0.0
            self.stages[name] = Stage(time.monotonic() - begun, busy)


def _ticks() -> tuple[int, int]:
    """How long all processors were idle or waited for a disk, and the whole time, in ticks."""
    fields = [int(one) for one in Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    return fields[3] + fields[4], sum(fields)
