"""Which part of a large matrix a run covers: all of it, or a slice that changes with the commit.

    SUITES = on_turn("distribution", suites())
    pytestmark = pytest.mark.rotates("every step killed and failed")   # files take turns

A matrix repeats one mechanism (each step killed, each distribution). `make test` runs one slice of
each matrix, and any ten commits in a row cover it whole; `make soak`, and pytest called by hand,
run everything. Only matrices belong here: a behaviour that one test proves always runs.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeVar

SLICES: Final = 10
SLICE_VARIABLE: Final = "SUITE_SLICE"
FOLDER_VARIABLE: Final = "SUITE_FOLDER"

T = TypeVar("T")


def on_turn(matrix: str, items: Sequence[T]) -> list[T]:
    """The items of a matrix that this run covers, in their order; at least one."""
    slot = os.environ.get(SLICE_VARIABLE)
    if not slot or not items:
        return list(items)
    turn = indexes_on_turn(int(slot), len(items))
    chosen = [item for index, item in enumerate(items) if index in turn]
    _record(matrix, [str(item) for item in chosen], len(items))
    return chosen


def indexes_on_turn(slot: int, count: int) -> set[int]:
    """The indexes of a matrix of `count` items that belong to a slot, counted in commits."""
    if count < SLICES:
        return {slot % count}
    return {index for index in range(count) if index % SLICES == slot % SLICES}


def slot_of_commit(root: Path) -> int:
    """The slot of the commit that is checked out: neighbours in history have neighbouring slots."""
    command = ("git", "-C", str(root), "rev-list", "--count", "HEAD")
    counted = subprocess.run(command, capture_output=True, text=True, check=False)
    return int(counted.stdout) if counted.returncode == 0 else 0


def slices_seen(folder: Path) -> dict[str, str]:
    """What the tests of a run took of each matrix, as one line each."""
    file = folder / "slices.jsonl"
    lines = file.read_text().splitlines() if file.exists() else []
    seen: dict[str, set[str]] = {}
    sizes: dict[str, int] = {}
    for line in lines:
        matrix, items, size = json.loads(line)
        seen.setdefault(matrix, set()).update(items)
        sizes[matrix] = size
    return {
        matrix: f"{len(items)} of {sizes[matrix]}: {', '.join(sorted(items))}"
        for matrix, items in sorted(seen.items())
    }


def _record(matrix: str, items: list[str], size: int) -> None:
    folder = os.environ.get(FOLDER_VARIABLE)
    if folder:
        # One short line per write: processes that append at the same time do not mix theirs.
        with (Path(folder) / "slices.jsonl").open("a") as file:
            file.write(json.dumps([matrix, items, size]) + "\n")
