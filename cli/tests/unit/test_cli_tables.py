"""Tables as text: whole where nobody looks, folded and coloured on a terminal."""

import sys
from typing import Any

import pytest

from gpuaas_cli.tables import answer_print, facts_text, list_text
from gpuaas_cli.views import steps_text

ROWS: list[dict[str, Any]] = [
    {"name": "n1", "status": "active", "note": None, "keys": ["a", "b"]},
    {"name": "a-long-name", "status": "failed", "note": "", "keys": []},
]
OPERATION = {
    "kind": "deploy", "id": "op_1", "status": "running", "attempt": 2, "max_attempts": 3,
    "progress": [{"name": "install", "state": "succeeded", "message": "done"}],
    "conditions": [{"type": "stuck", "message": "no controller", "next_action": "start one"}],
}  # fmt: skip


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody looks, at twenty columns."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


def test_lines_stay_whole_where_nobody_looks() -> None:
    said = list_text(ROWS, ("name", "status", "note", "keys"), wide=False)
    assert said.splitlines() == [
        "NAME         STATUS  KEYS",
        "n1           active  a, b",
        "a-long-name  failed  []",
    ]


def test_a_condition_is_shown_in_words_with_what_to_do() -> None:
    left = {
        "type": "agent_left", "since": "2026-01-01T00:00:00Z", "reason": "left",
        "message": "The machine's own root took its agent away by force." + " More." * 80,
        "next_action": "Enrol the machine again, or release the allocation.",
    }  # fmt: skip
    said = facts_text({"name": "n1", "conditions": [left]}, wide=False).splitlines()
    assert said[1].startswith("conditions  agent_left: The machine's own root took its agent away")
    assert said[1].endswith("Enrol the machine again, or release the allocation.")


def test_wide_shows_also_what_nobody_says() -> None:
    said = list_text(ROWS, ("name", "note"), wide=True)
    assert said.splitlines() == ["NAME         NOTE", "n1           -", "a-long-name  -"]


def test_a_terminal_gets_colours_and_what_it_has_room_for(terminal: None) -> None:
    said = list_text(ROWS, ("name", "status", "keys"), wide=False)
    assert "\x1b[32mactive\x1b[0m" in said
    assert "\x1b[31mfailed\x1b[0m" in said
    assert "a-long" in said
    assert "a-long-name" not in said


def test_a_narrow_terminal_gets_fewer_columns_and_no_folded_words(
    terminal: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("NO_COLOR", "1")
    rows = [{"id": "a_1", "name": "n1", "status": "active", "sku": "small", "note": "x" * 20}]
    said = list_text(rows, tuple(rows[0]), wide=False)
    assert said.splitlines() == ["ID   NAME  STATUS  SKU", "a_1  n1    active  small"]
    assert "NOTE" in list_text(rows, tuple(rows[0]), wide=True)


def test_a_table_has_times_to_the_second_and_the_beginning_of_what_is_long() -> None:
    rows = [{"at": "2026-11-16T06:30:04.967823Z", "keys": ["k" * 200]}]
    line = list_text(rows, ("at", "keys"), wide=False).splitlines()[1]
    assert line.startswith("2026-11-16T06:30:04Z  kkk")
    assert line.endswith("k…")
    assert len(line) < 100
    assert "k" * 200 in list_text(rows, ("at", "keys"), wide=True)


def test_colours_can_be_refused(terminal: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in list_text(ROWS, ("name", "status"), wide=False)


def test_what_somebody_wrote_cannot_move_the_cursor() -> None:
    said = facts_text({"name": "\x1b[2Jgone\a", "two": "one\nline"}, wide=False)
    assert said.splitlines() == ["name  [2Jgone", "two   one", "      line"]


def test_nothing_is_a_heading_or_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    answer_print([], ("name",), wide=False)
    answer_print({}, (), wide=False)
    assert capsys.readouterr().out == "NAME\n"


def test_an_operation_has_its_steps_and_what_is_wrong() -> None:
    assert steps_text(OPERATION).splitlines() == [
        "deploy op_1 running attempt 2 of 3",
        "  ✓  install  succeeded      done",
        "  !  stuck    no controller  start one",
    ]
