"""`gpuaas trace`: which kinds are asked for, and spans as a tree with bars."""

from typing import Any

import pytest
from rich.text import Text

from gpuaas_cli.session import Stop
from gpuaas_cli.trace import _entry, kinds_of
from gpuaas_cli.waterfall import BAR, length_told, waterfall
from gpuaas_contract.operate import TimelineKind

NOON = "2026-01-01T12:00:"


def test_kinds_are_named_in_the_singular_or_the_plural() -> None:
    assert kinds_of("logs, Span") == {"log", "span"}
    assert kinds_of("artifact-deliveries,step") == {"artifact_delivery", "step"}
    assert kinds_of(None) == {str(kind) for kind in TimelineKind}
    for wrong in ("", "words", "logs,words"):
        with pytest.raises(Stop, match="request, audit"):
            kinds_of(wrong)


def test_spans_stand_below_what_they_were_part_of() -> None:
    lines = waterfall(
        [
            _span("op", None, "00", 10.0, kind="operation"),
            _span("op/second", "op", "05", 5.0, kind="step"),
            _span("op/first", "op", "00", 5.0, kind="step"),
            _span("run", "op/first", "01", 2.0),
            _span("alone", "never told", "09", None),
            {"at": f"{NOON}12+00:00", "kind": "log", "span": None},
        ]
    )
    assert [(line.name, line.depth) for line in lines] == [
        ("op", 0), ("op/first", 1), ("run", 2), ("op/second", 1), ("alone", 0),
    ]  # fmt: skip
    assert all(len(line.bar) == BAR for line in lines)
    assert lines[1].bar == ("━" * 10).ljust(BAR)
    assert lines[3].bar.startswith(" " * 10 + "━")
    assert lines[4].seconds is None
    assert waterfall([]) == []


def test_spans_that_name_each_other_are_each_shown_once() -> None:
    lines = waterfall([_span("a", "b", "00", 1.0), _span("b", "a", "01", 1.0)])
    assert sorted(line.name for line in lines) == ["a", "b"]
    same = waterfall([_span("a", None, "00", 1.0), _span("a", "a", "01", 1.0)])
    assert len(same) == 2


def test_lengths_are_told_as_people_do() -> None:
    told = [length_told(one) for one in (None, 0.0, 0.0124, 0.9999, 59.94, 61.2, 3600.0)]
    assert told == ["goes on", "0 ms", "12 ms", "1.0 s", "59.9 s", "1 min 1 s", "60 min 0 s"]


def test_a_line_cannot_move_the_cursor_and_keeps_what_follows_below_it() -> None:
    entry: dict[str, Any] = {
        "at": f"{NOON}00.5+00:00", "kind": "log", "id": "x", "status": "error",
        "title": "it \x1b[31mfailed\nbecause\tof this", "actor": "sa/host-1",
        "detail": {"fields": {"step": "prepare"}},
    }  # fmt: skip
    text = _entry(entry, entry["actor"], wide=False)
    assert isinstance(text, Text)
    first, second = text.plain.splitlines()
    assert "\x1b" not in text.plain
    assert first == "12:00:00.500 log        it [31mfailed  error  by sa/host-1"
    assert second.strip() == "because of this"
    assert "step=prepare" in _entry(entry, entry["actor"], wide=True).plain


def _span(
    name: str, parent: str | None, second: str, seconds: float | None, kind: str = "span"
) -> dict[str, Any]:
    at = f"{NOON}{second}+00:00"
    span = {"id": name, "parent_id": parent, "at": at, "seconds": seconds}
    return {
        "at": at, "kind": kind, "id": name, "title": name, "status": "ok", "detail": {},
        "span": span,
    }  # fmt: skip
