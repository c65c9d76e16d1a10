"""The fake nvidia-smi answers in the shapes programs parse, and says that it is fake."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuaas_lab import fake_nvidia_smi as smi


@pytest.fixture(autouse=True)
def facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with two fake GPUs."""
    (tmp_path / "facts").write_text("2 demo/n1\n")
    monkeypatch.setattr(smi, "FACTS", tmp_path / "facts")


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str]]:
    """Run it and return the exit code and the lines."""
    code = smi.main(list(arguments))
    return code, capsys.readouterr().out.splitlines()


def test_listing_names_every_gpu_with_a_stable_identity(
    capsys: pytest.CaptureFixture[str],
) -> None:
    first = answer(capsys, "-L")
    assert first == answer(capsys, "--list-gpus")
    assert len(first[1]) == len(set(first[1])) == 2


def test_csv_with_and_without_header_and_units(capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = answer(capsys, "--query-gpu=index,memory.used,name", "--format=csv")
    assert (code, lines[0]) == (0, "index, memory.used [MiB], name")
    assert lines[1] == f"0, 0 MiB, {smi.NAME}"
    query = ("--query-gpu", "memory.total,utilization.gpu", "--format=csv,noheader,nounits")
    assert answer(capsys, *query) == (0, ["81559, 0", "81559, 0"])


def test_one_gpu_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    query = ("--query-gpu=index", "--format=csv,noheader")
    assert answer(capsys, *query, "-i", "1") == (0, ["1"])
    assert answer(capsys, *query, "--id=7")[0] == 6


def test_an_unknown_field_or_option_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(capsys, "--query-gpu=colour", "--format=csv")[0] == 2
    assert answer(capsys, "--reset")[0] == 1


def test_people_are_told_it_is_fake(capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is no GPU here" in "\n".join(answer(capsys)[1])
    assert "Lab only" in "\n".join(answer(capsys, "--help")[1])


def test_topology_and_processes_have_their_shape(capsys: pytest.CaptureFixture[str]) -> None:
    _, rows = answer(capsys, "topo", "-m")
    assert rows[1].split("\t")[:3] == ["GPU0", " X ", "NV1"]
    apps = answer(capsys, "--query-compute-apps=pid,used_memory", "--format=csv")
    assert apps == (0, ["pid, used_memory"])
