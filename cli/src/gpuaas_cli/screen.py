"""The screen, by rich: for what is coloured line by line, or drawn anew while it changes.

Used by views of work that goes on, by `trace`, `explain` and the proofs. Tables are made by
`tables.py`; here they become parts of a view.
"""

import sys
from typing import Any

from rich.console import Console
from rich.text import Text

from gpuaas_cli.tables import cell


def console(stderr: bool = False) -> Console:
    """A console that keeps long lines whole when nobody looks at them."""
    made = Console(stderr=stderr, highlight=False, soft_wrap=not sys.stdout.isatty())
    if not made.is_terminal:
        made.width = 4096
    return made


def word(value: Any) -> Text:  # noqa: ANN401 - JSON
    """One value, coloured where its word has a meaning."""
    return Text(*cell(value))


def drawn(text: str) -> Text:
    """What `tables.py` made, as a part of a view."""
    return Text.from_ansi(text)
