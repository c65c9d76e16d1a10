"""openapi/v1.json is what the code says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import house_tree as tree


def test_the_committed_contract_is_up_to_date() -> None:
    command = Path(sys.executable).parent / "gpuaas-platform"
    said = subprocess.run([command, "openapi"], capture_output=True, text=True, check=True).stdout

    written = (tree.ROOT / "openapi" / "v1.json").read_text()
    assert written == said, "run make openapi"
