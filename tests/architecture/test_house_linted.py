"""The linter and the formatter see every file of ours; a name in an exclusion may fit too much."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import house_tree as tree

RUFF = Path(sys.executable).with_name("ruff")


def test_no_source_is_left_out() -> None:
    shown = subprocess.run(
        [RUFF, "check", "--show-files"], cwd=tree.ROOT, capture_output=True, text=True, check=True
    )
    seen = {Path(line) for line in shown.stdout.splitlines()}
    assert {path for path in tree.files() if path.suffix == ".py"} - seen == set()
