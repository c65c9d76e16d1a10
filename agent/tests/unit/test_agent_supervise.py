"""The supervisor of a script: output bounded, time bounded, once."""

from pathlib import Path
from typing import Any

import pytest

from gpuaas_agent.journal import Entry, Journal
from gpuaas_agent.supervise import MARK_SPACE, supervise

TASK = "task_01kdvdna1g25c2ssjypwhwnf6v"


def made(tmp_path: Path, script: str, **spec: Any) -> tuple[Entry, Path]:
    given: dict[str, Any] = {"user": "root", "environment": {}, "timeout_seconds": 20}
    given |= {"output_bytes": 4096} | spec
    direction = {"task_id": TASK, "correlation_id": "story", "spec": given}
    entry = Journal(tmp_path / "tasks").accept(direction, given["output_bytes"] + MARK_SPACE)
    path = tmp_path / "script"
    path.write_text(script)
    return entry, path


def result_of(entry: Entry) -> dict[str, Any]:
    found = entry.result()
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("script", "code", "status"),
    [("true", "ok", 0), ("exit 3", "exit_status", 3), ("kill -TERM $$", "killed", 143)],
)
def test_how_it_ended(tmp_path: Path, script: str, code: str, status: int) -> None:
    entry, path = made(tmp_path, script)
    supervise(entry, path)
    found = result_of(entry)
    assert (found["code"], found["exit_status"]) == (code, status)


def test_it_runs_once(tmp_path: Path) -> None:
    entry, path = made(tmp_path, f"echo x >> {tmp_path}/count")
    supervise(entry, path)
    supervise(entry, path)
    assert (tmp_path / "count").read_text() == "x\n"


def test_one_that_was_begun_is_not_begun_again(tmp_path: Path) -> None:
    entry, path = made(tmp_path, f"echo x >> {tmp_path}/count")
    entry.result_put({"code": None})
    supervise(entry, path)
    assert not (tmp_path / "count").exists()


@pytest.mark.parametrize("size", [0, 10, 4096, 4097, 300_000])
def test_output_keeps_its_beginning_and_its_end(tmp_path: Path, size: int) -> None:
    entry, path = made(tmp_path, f"head -c {size} /dev/zero | tr '\\0' y")
    supervise(entry, path)
    output = entry.output(0, 1_000_000)
    cut = result_of(entry)["output_cut"]
    assert cut is (size > 4096)
    assert len(output) <= 4096 + MARK_SPACE
    if not cut:
        assert output == b"y" * size
    else:
        assert output.startswith(b"yyy")
        assert output.endswith(b"yyy")
        assert f"[... {size - 4096} bytes left out ...]".encode() in output


def test_time_is_over(tmp_path: Path) -> None:
    until_told = "trap 'exit 0' TERM; while :; do sleep 0.05; done"
    entry, path = made(tmp_path, until_told, timeout_seconds=0.05)
    supervise(entry, path)
    assert result_of(entry)["code"] == "timed_out"


def test_who_is_not_there_runs_nothing(tmp_path: Path) -> None:
    entry, path = made(tmp_path, "true", user="no-such-user-here")
    supervise(entry, path)
    assert result_of(entry)["code"] == "cannot_run"
