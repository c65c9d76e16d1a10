"""No scheduler's word stands in a scheduler-agnostic package: not in code, comments or docs."""

from __future__ import annotations

import re
from pathlib import Path

import house_tree as tree
import pytest

AGNOSTIC = ("contract", "platform", "sdk", "agent", "cli", "console", "openapi")
ANYWHERE = ("slurm", "munge")
WHOLE = (
    *("sbatch", "srun", "sinfo", "squeue", "scontrol", "sacct", "sacctmgr", "scancel"),
    *("salloc", "sprio", "sstat", "sshare", "sdiag"),
)
_COMMANDS = "|".join(WHOLE)
_CAPITAL = "|".join(word.capitalize() for word in WHOLE)
# A command's name counts as a word of its own, also inside snake_case and camelCase: `run_srun`
# and `runSrun` do, `isCancelled` and `accessControl` do not.
_PATTERN = re.compile(
    rf"(?i:{'|'.join(ANYWHERE)})"
    rf"|(?<![A-Za-z])(?:{_COMMANDS}|{_COMMANDS.upper()})(?![a-z])"
    rf"|(?<=[a-z])(?:{_CAPITAL})(?![a-z])|(?<![A-Za-z])(?:{_CAPITAL})(?![a-z])"
)
_INTEGRITY = re.compile(r'"integrity": "[^"]+"')


def test_no_scheduler_is_named() -> None:
    agnostic = [path for path in tree.files() if tree.name(path).split("/")[0] in AGNOSTIC]

    assert agnostic
    assert [line for path in agnostic for line in _named(path)] == []


@pytest.mark.parametrize(
    "planted",
    [
        "import gpuaas_slurm",
        "# as SLURM does",
        "the munge key",
        "def run_srun() -> None: ...",
        "const runSbatch = 1",
        "SINFO = 1",
        "`sacctmgr show`",
        "slurmctldHost",
    ],
)
def test_a_planted_word_is_found(planted: str, tmp_path: Path) -> None:
    file = tmp_path / "planted.py"
    file.write_text(f"# fine\n{planted}\n")

    assert _named(file) == [f"{file}:2: {planted}"]


@pytest.mark.parametrize(
    "innocent",
    ["isCancelled", "accessControl", "jobsQueue", "job.instances_batch", "a scheduler", "srunning"],
)
def test_an_innocent_word_is_left_alone(innocent: str, tmp_path: Path) -> None:
    file = tmp_path / "innocent.ts"
    file.write_text(innocent)

    assert _named(file) == []


def test_a_file_is_judged_by_its_name_too(tmp_path: Path) -> None:
    file = tmp_path / "slurm_client.py"
    file.write_text("")

    assert _named(file) == [f"{file}: its name"]


def _named(path: Path) -> list[str]:
    lines = _INTEGRITY.sub("", tree.text(path)).splitlines()
    found = [
        f"{path}:{number}: {line.strip()}"
        for number, line in enumerate(lines, 1)
        if _PATTERN.search(line)
    ]
    return found or ([f"{path}: its name"] if _PATTERN.search(path.name) else [])
