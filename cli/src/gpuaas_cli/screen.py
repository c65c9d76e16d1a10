"""The screen, by rich: for what is coloured line by line, or drawn anew while it changes.

Used where somebody waits or watches, by `trace`, `explain` and the proofs. Tables are made by
`tables.py`; here they become what moves.
"""

import sys
from typing import Any, Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from gpuaas_cli.tables import cell


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to `main.py`, as for everything that is written."""
        raise BrokenPipeError


def console(stderr: bool = False) -> Console:
    """A console that keeps long lines whole when nobody looks at them."""
    made = _Console(stderr=stderr, highlight=False, soft_wrap=not sys.stdout.isatty())
    if not made.is_terminal:
        made.width = 4096
    return made


def word(value: Any) -> Text:  # noqa: ANN401 - JSON
    """One value, coloured where its word has a meaning."""
    return Text(*cell(value))


class Screen:
    """A part of the terminal that is drawn anew; where there is no terminal, nothing is drawn."""

    def __init__(self, *, stderr: bool = False) -> None:
        self._console = console(stderr=stderr)
        self._live = Live(console=self._console, auto_refresh=False)

    @property
    def is_terminal(self) -> bool:
        """Whether somebody looks."""
        return self._console.is_terminal

    def __enter__(self) -> Self:
        if self.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.is_terminal:
            self._live.stop()

    def show(self, text: str) -> None:
        """Draw what `tables.py` or `views.py` made in the place of what was there."""
        self._live.update(Text.from_ansi(text), refresh=True)
