"""Values as Slurm's JSON writes them: plain in 22.05, wrapped with `set` and `infinite` later."""

from typing import Any


def number(value: Any) -> int | None:  # noqa: ANN401  JSON of two generations
    """Return a number, or None where it is unset or without limit."""
    if isinstance(value, dict):
        return int(value["number"]) if value.get("set") and not value.get("infinite") else None
    return None if value is None else int(value)


def moment(value: Any) -> int | None:  # noqa: ANN401  JSON of two generations
    """Return seconds since 1970; Slurm writes 0 for "not yet"."""
    return number(value) or None


def words(value: Any) -> tuple[str, ...]:  # noqa: ANN401  JSON of two generations
    """Return a list of words, written as a list or with commas."""
    if not value:
        return ()
    parts = value.split(",") if isinstance(value, str) else value
    return tuple(str(part) for part in parts if part)


def pairs(line: str) -> dict[str, str]:
    """Return the ``Name=value`` words of a line of `scontrol --oneliner`; values hold no blanks."""
    found = (word.partition("=") for word in line.split())
    return {name: value for name, separator, value in found if separator}
