"""What is said of a command's words, beside their types: names, help, groups.

Written into annotations by every command, and read in two ways: `declared.py` says it again for
cyclopts, which parses and explains; `tools/cli_surface.py` writes it down for `quick.py`. It must
stay light: it is loaded at every start.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Group:
    """A heading in help, and where it stands."""

    name: str
    sort_key: int


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """What is said of one word, or of a whole class of options. None: as cyclopts has it."""

    name: str | Sequence[str] | None = None
    help: str | None = None
    group: Group | None = None
    negative: str | None = None
    allow_leading_hyphen: bool | None = None
    show_default: bool | None = None

    def __call__(self, kind: type[T]) -> type[T]:
        """Say it of a class of options."""
        kind.__said__ = self  # type: ignore[attr-defined]  # read by declared.py
        return kind
