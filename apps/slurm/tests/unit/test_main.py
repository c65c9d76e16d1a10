"""`gpuaas-slurm render`, as somebody at a terminal uses it."""

import json
import re
from pathlib import Path

import pytest

from gpuaas_slurm.command.render import EXAMPLES
from gpuaas_slurm.main import main


def example() -> str:
    """Return the description printed by --help: it must work as it stands there."""
    return EXAMPLES.partition("<<'END'\n")[2].partition("\n  END")[0]


def test_the_example_of_the_help_renders(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cluster.json").write_text(example())
    out = tmp_path / "rendered"
    assert main(["render", str(tmp_path / "cluster.json"), "--out", str(out)]) == 0
    assert "files in" in capsys.readouterr().out
    assert "Gres=gpu:h100:2" in (out / "n2/etc/slurm/slurmd.gpuaas.env").read_text()
    manifest = json.loads((out / "n1/manifest.json").read_text())
    dbd = next(entry for entry in manifest if entry["path"].endswith("slurmdbd.conf"))
    assert (dbd["owner"], dbd["mode"]) == ("slurm", "0600")
    assert not (out / "n2/etc/slurm/slurmdbd.conf").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"generation": "one"}, r"\$\.generation"),
        ({"generation": 0}, "generation must be at least 1"),
        ({"partitons": []}, r"\$\.partitons: there is no such field"),
        ({"build": {"version": "nonsense"}}, "no Slurm version"),
        ({"build": {"version": "20.11.9"}}, "older than"),
        ({"name": "a b"}, "cluster name"),
    ],
)
def test_a_wrong_description_says_where(
    change: dict[str, object], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(json.loads(example()) | change))
    assert main(["render", str(path), "--out", str(tmp_path / "out")]) == 1
    assert re.search(said, capsys.readouterr().err)
    assert not (tmp_path / "out").exists()


def test_no_such_file_and_no_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", str(tmp_path / "none.json"), "--out", str(tmp_path)]) == 1
    (tmp_path / "broken.json").write_text("{")
    assert main(["render", str(tmp_path / "broken.json"), "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err.count("gpuaas-slurm: ") == 2
