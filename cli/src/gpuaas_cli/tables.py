"""Tables and facts for people, as text: folded to the terminal, coloured where words mean much.

Called by `output.py` and by the commands that show more than one answer. It is loaded by most
commands, so it draws by itself; what moves on the screen is drawn by rich, in `screen.py`.
"""

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

COLUMNS = 7
_GAP = "  "
_USUAL_ROOM = 80
_ALWAYS = 3
_LONGEST = 64
_LONGEST_FACT = 400
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z")
_COLOURS = {
    "green": "running ready healthy active succeeded published ok allowed open present",
    "yellow": "degraded draining drained deprecated warning stuck requested accepted reconciling"
    " deploying stopping starting upgrading removing deleting releasing provisioning cordoned",
    "red": "failed unreachable cleanup_blocked denied missing error abandoned revoked",
    "dim": "deleted removed released stopped cancelled expired withdrawn skipped",
}
_STYLES = {word: colour for colour, words in _COLOURS.items() for word in words.split()}
_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}


class Cell(NamedTuple):
    """A text and how it is shown: bold, dim, red, green, yellow, or as it is."""

    text: str
    style: str = ""


def answer_print(answer: Any, columns: Sequence[str], *, wide: bool) -> None:  # noqa: ANN401 - JSON
    """A list as a table, one thing as its facts."""
    if isinstance(answer, list):
        sys.stdout.write(list_text(answer, columns, wide=wide))
    elif isinstance(answer, dict):
        sys.stdout.write(facts_text(answer, wide=wide))


def table_print(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Rows under given headings."""
    sys.stdout.write(table_text(columns, [[cell(one) for one in row] for row in rows]))


def list_text(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], *, wide: bool) -> str:
    """Things under the names of their fields."""
    chosen = list(columns) or list(rows[0] if rows else ())
    if not wide:
        # A column in which nobody says anything tells nothing.
        telling = [name for name in chosen if any(_said(row.get(name)) for row in rows)]
        chosen = (telling or chosen)[:COLUMNS]
    headings = [name.replace("_", " ") for name in chosen]
    made = [
        [cell(row.get(name), most=None if wide else _LONGEST) for name in chosen] for row in rows
    ]
    if not wide:
        shown = _columns_shown(headings, made)
        headings, made = headings[:shown], [row[:shown] for row in made]
    return table_text(headings, made)


def _columns_shown(headings: Sequence[str], rows: Sequence[Sequence[Cell]]) -> int:
    """How many columns the terminal has room for, unfolded; the first ones are always shown."""
    room = _room()
    if room is None:
        return len(headings)
    used = 0
    for number, heading in enumerate(headings):
        texts = [heading, *(row[number].text for row in rows)]
        used += max(map(len, texts)) + (len(_GAP) if number else 0)
        if used > room and number >= _ALWAYS:
            return number
    return len(headings)


def facts_text(thing: Mapping[str, Any], *, wide: bool) -> str:
    """One thing, a field a line; long fields only when wide."""
    rows = [
        [Cell(name.replace("_", " "), "bold"), cell(value, most=None if wide else _LONGEST_FACT)]
        for name, value in thing.items()
        if wide or _said(value)
    ]
    return rows_text(rows)


def table_text(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Cells under headings."""
    return rows_text([[Cell(name.upper(), "bold") for name in columns], *rows])


def rows_text(rows: Sequence[Sequence[Cell]]) -> str:
    """Cells below each other, each column as wide as its widest, all within the terminal."""
    texts = [[_lines(one.text) for one in row] for row in rows]
    natural = [
        max(len(line) for one in column for line in one) for column in zip(*texts, strict=True)
    ]
    widths = _fitted(natural, _room())
    return "".join(_row(row, lines, widths) for row, lines in zip(rows, texts, strict=True))


def cell(value: Any, *, most: int | None = None) -> Cell:  # noqa: ANN401 - JSON
    """One value, of so many characters at most, coloured where its word has a meaning."""
    if isinstance(value, Cell):
        return value
    if value is None or value == "":
        return Cell("-", "dim")
    if isinstance(value, bool):
        return Cell("yes" if value else "no")
    if isinstance(value, dict | list):
        if value and all(isinstance(one, str) for one in value) and isinstance(value, list):
            text = ", ".join(value)
        elif isinstance(value, list) and value and all(map(_is_condition, value)):
            return Cell(" ".join(map(_condition_text, value)), "yellow")
        else:
            text = json.dumps(value, ensure_ascii=False)
    else:
        text = str(value)
    if most is not None:
        text = _short(text, most)
    return Cell(text, _STYLES.get(text, ""))


def _is_condition(value: Any) -> bool:  # noqa: ANN401 - JSON
    return isinstance(value, dict) and {"type", "message", "next_action"} <= value.keys()


def _condition_text(condition: Mapping[str, Any]) -> str:
    """A condition in words, whole: what to do about it stands at its end."""
    words = (f"{condition['type']}:", condition["message"], condition["next_action"])
    return " ".join(clean(str(word)) for word in words if word)


def styled(text: str, style: str) -> str:
    """A text bold, dim, red, green or yellow, where somebody looks and wants colours."""
    dull = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if dull or not style or not sys.stdout.isatty():
        return text
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m"


def clean(text: str) -> str:
    """A line without what would move the cursor or change colours."""
    return "".join(filter(str.isprintable, text))


def _short(text: str, most: int) -> str:
    """A text as people read it: times to the second, and of the rest not all there is."""
    if _TIME.fullmatch(text):
        return text[: len("2026-01-01T00:00:00")] + "Z"
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _lines(text: str) -> list[str]:
    return [clean(line) for line in text.splitlines()] or [""]


def _row(row: Sequence[Cell], lines: Sequence[Sequence[str]], widths: Sequence[int]) -> str:
    folded = [_folded(texts, width) for texts, width in zip(lines, widths, strict=True)]
    made = ""
    for number in range(max(map(len, folded), default=0)):
        texts = [part[number] if number < len(part) else "" for part in folded]
        padded = [text.ljust(width) for text, width in zip(texts, widths, strict=True)]
        padded[-1] = texts[-1]
        shown = [styled(text, one.style) for text, one in zip(padded, row, strict=True)]
        made += _GAP.join(shown).rstrip() + "\n"
    return made


def _folded(texts: Sequence[str], width: int) -> list[str]:
    return [
        text[start : start + width] for text in texts for start in range(0, len(text) or 1, width)
    ]


def _fitted(widths: Sequence[int], room: int | None) -> list[int]:
    """The widths; where there is no room for all, the widest give way."""
    left = None if room is None else room - len(_GAP) * (len(widths) - 1)
    if left is None or sum(widths) <= left:
        return [max(one, 1) for one in widths]
    most = next((cap for cap in range(max(widths), 1, -1) if _capped(widths, cap) <= left), 1)
    return [max(min(one, most), 1) for one in widths]


def _capped(widths: Sequence[int], most: int) -> int:
    return sum(min(one, most) for one in widths)


def _room() -> int | None:
    """The columns of the terminal; None when nobody looks: then lines stay whole."""
    if not sys.stdout.isatty():
        return None
    said = os.environ.get("COLUMNS", "")
    if said.isdigit():
        return int(said)
    return os.get_terminal_size(sys.stdout.fileno()).columns or _USUAL_ROOM


def _said(value: Any) -> bool:  # noqa: ANN401 - JSON
    return value not in (None, "", [], {})
