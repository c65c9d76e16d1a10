"""The agent as one file: always the same bytes, and newer only than what is older."""

import subprocess
import sys
from pathlib import Path

import pytest

from gpuaas_platform.fleet import agent_file
from gpuaas_platform.fleet.agent_file import AgentFile


def test_the_same_package_makes_the_same_bytes_and_runs(tmp_path: Path) -> None:
    folder = agent_file._folder()
    first, second = agent_file._made(folder), agent_file._made(folder)
    assert (first.digest, first.content) == (second.digest, second.content)
    program = tmp_path / "agent.pyz"
    program.write_bytes(first.content)
    said = subprocess.run(
        [sys.executable, "-I", program, "--help"], check=True, capture_output=True, text=True
    )
    assert "enroll" in said.stdout


@pytest.mark.parametrize(
    ("theirs", "newer"),
    [
        ("0.9.9", True),
        ("1.2", True),
        ("1.2.3", False),
        ("1.10.0", False),
        ("odd", False),
        ("", False),
    ],
)
def test_only_an_older_agent_is_replaced(theirs: str, *, newer: bool) -> None:
    assert AgentFile(b"", "", "1.2.3").newer_than(theirs) is newer
