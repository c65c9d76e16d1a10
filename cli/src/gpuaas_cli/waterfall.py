"""What took how long inside what: the spans of a timeline as a tree, each with its bar.

Used by `trace --spans`. Pure: from the entries of a timeline to lines.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from gpuaas_cli.tables import clean

Entry = dict[str, Any]
BAR: Final = 24
_MINUTE: Final = 60.0


@dataclass(frozen=True)
class Line:
    """One span: where its bar begins and how long it is, how deep it is nested, how it ended."""

    before: int
    length: int
    depth: int
    seconds: float | None
    name: str
    kind: str
    status: str

    @property
    def bar(self) -> str:
        """The bar, in a field as wide as every other's."""
        return (" " * self.before + "━" * self.length).ljust(BAR)


def waterfall(entries: Sequence[Entry]) -> list[Line]:
    """Spans in the order in which they began, below what they were part of."""
    spans = [one for one in entries if one.get("span")]
    if not spans:
        return []
    began = min(_began(one) for one in spans)
    ended = max([_ended(one) for one in spans] + [datetime.fromisoformat(entries[-1]["at"])])
    scale = BAR / max((ended - began).total_seconds(), 0.001)
    return [_line(one, depth, began, scale, ended) for one, depth in _nested(spans)]


def length_told(seconds: float | None) -> str:
    """A length for people: milliseconds, seconds, or minutes."""
    if seconds is None:
        return "goes on"
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), int(_MINUTE))
    return f"{minutes} min {rest} s"


def _nested(spans: list[Entry]) -> Iterator[tuple[Entry, int]]:
    known = {one["span"]["id"] for one in spans}
    below: dict[str | None, list[Entry]] = {}
    for one in sorted(spans, key=_began):
        parent = one["span"].get("parent_id")
        inside = parent in known and parent != one["span"]["id"]
        below.setdefault(parent if inside else None, []).append(one)
    # Told by many: two may name each other as what they are part of. Each is shown once.
    shown: set[int] = set()
    stack = [(one, 0) for one in reversed(below.get(None, []))]
    while stack:
        one, depth = stack.pop()
        if id(one) in shown:
            continue
        shown.add(id(one))
        yield one, depth
        stack += [(child, depth + 1) for child in reversed(below.pop(one["span"]["id"], []))]
    yield from ((one, 0) for one in spans if id(one) not in shown)


def _line(one: Entry, depth: int, began: datetime, scale: float, ended: datetime) -> Line:
    before = min(BAR - 1, int((_began(one) - began).total_seconds() * scale))
    seconds = one["span"].get("seconds")
    runs = seconds if seconds is not None else (ended - _began(one)).total_seconds()
    return Line(
        before=before,
        length=max(1, min(BAR - before, round(runs * scale))),
        depth=depth,
        seconds=seconds,
        name=_name(one),
        kind=one["kind"],
        status=one["status"],
    )


def _name(one: Entry) -> str:
    fields = one["detail"].get("fields") or {}
    return clean(fields.get("name") or one["title"])


def _began(one: Entry) -> datetime:
    return datetime.fromisoformat(one["span"]["at"])


def _ended(one: Entry) -> datetime:
    seconds = one["span"].get("seconds") or 0.0
    return datetime.fromtimestamp(_began(one).timestamp() + seconds, _began(one).tzinfo)
