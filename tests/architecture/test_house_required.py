"""With GPUAAS_REQUIRE_LAB=1 a skipped test is a failed test; without it, a skip is a skip."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import house_tree as tree
import pytest

pytestmark = pytest.mark.slow

SKIPS = {
    "call": "import pytest\ndef test_it():\n    pytest.skip('no machines here')\n",
    "mark": "import pytest\n@pytest.mark.skip(reason='no machines here')\ndef test_it(): ...\n",
    "fixture": (
        "import pytest\n@pytest.fixture\ndef lab():\n    pytest.skip('no machines here')\n"
        "def test_it(lab): ...\n"
    ),
    "module": "import pytest\npytest.skip('no machines here', allow_module_level=True)\n",
}


@pytest.mark.parametrize("way", SKIPS)
def test_a_skip_fails_where_the_lab_is_required(way: str, tmp_path: Path) -> None:
    status, said = _run(tmp_path, SKIPS[way], required="1")

    assert status != 0, said
    assert "no machines here" in said
    assert "nothing may skip" in said


@pytest.mark.parametrize("way", SKIPS)
def test_a_skip_says_why_where_it_is_not(way: str, tmp_path: Path) -> None:
    status, said = _run(tmp_path, SKIPS[way], required="0")

    assert "1 skipped" in said
    assert "no machines here" in said
    assert status in {0, pytest.ExitCode.NO_TESTS_COLLECTED}


def test_a_passing_test_passes(tmp_path: Path) -> None:
    status, said = _run(tmp_path, "def test_it(): ...\n", required="1")

    assert status == 0, said


def _run(folder: Path, content: str, *, required: str) -> tuple[int, str]:
    shutil.copy(tree.ROOT / "conftest.py", folder)
    (folder / "test_planted.py").write_text(content)
    own = ("-p", "no:cacheprovider", "--basetemp", folder / "temporary", "--rootdir", folder)
    answer = subprocess.run(
        [sys.executable, "-m", "pytest", "-ra", *own],
        cwd=folder,
        env={**os.environ, "GPUAAS_REQUIRE_LAB": required},
        capture_output=True,
        text=True,
        check=False,
    )
    return answer.returncode, answer.stdout + answer.stderr
