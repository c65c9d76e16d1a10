"""A task's folder tells after any interruption what was done; results have their room before."""

import os
from pathlib import Path
from typing import Any

import pytest

from gpuaas_agent.journal import Entry, Journal

TASK = "task_01kdvdna1g25c2ssjypwhwnf6v"
SPEC = {
    "script": "", "user": "root", "environment": {}, "timeout_seconds": 20, "output_bytes": 4096,
}  # fmt: skip


def direction(**more: Any) -> dict[str, Any]:
    return {"task_id": TASK, "kind": "run_script", "correlation_id": "c", "spec": SPEC, **more}


@pytest.fixture
def entry(tmp_path: Path) -> Entry:
    return Journal(tmp_path / "tasks").accept(direction(), 5000)


def test_a_task_is_known_again(tmp_path: Path, entry: Entry) -> None:
    assert entry.result() is None
    assert not entry.begun
    entry.begin()
    (again,) = Journal(tmp_path / "tasks").entries()
    assert (again.task_id, again.begun, again.begun_in_this_boot) == (TASK, True, True)
    assert again.direction == direction()
    again.drop()
    assert Journal(tmp_path / "tasks").entries() == []


def test_a_result_is_whole_or_not_there(entry: Entry) -> None:
    entry.result_put({"code": None})
    assert entry.result() == {"code": None}
    entry.result_put({"code": "ok", "message": "x" * 20_000})
    found = entry.result()
    assert found is not None
    assert (found["code"], len(found["message"])) == ("ok", 500)
    file = entry.folder / "result"
    torn = file.read_bytes()[:40]
    file.write_bytes(torn)
    assert entry.result() is None


def test_what_was_half_accepted_is_cleared_away(tmp_path: Path) -> None:
    folder = tmp_path / "tasks"
    (folder / f".{TASK}.new").mkdir(parents=True)
    (folder / "task_01kdvdna1g25c2ssjypwhwnf6w").mkdir()
    assert Journal(folder).entries() == []
    assert list(folder.iterdir()) == []


def test_an_id_is_no_path(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no task"):
        Journal(tmp_path / "tasks").accept(direction(task_id="../../etc/cron.d/x"), 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user; CI runs as root")
def test_the_room_is_taken_before_anything_begins(entry: Entry) -> None:
    assert (entry.folder / "output").stat().st_blocks * 512 >= 5000
    assert (entry.folder / "result").stat().st_blocks > 0
