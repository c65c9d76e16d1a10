"""What a command prints: a table for people, JSON for machines."""

import sys
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel
from rich.console import Console
from rich.table import Table

Format = Literal["table", "json"]


def show_json(answer: BaseModel) -> None:
    """The whole answer, as the platform gave it."""
    sys.stdout.write(answer.model_dump_json(indent=2) + "\n")


def show_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Rows under headings; plain when not on a terminal."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column.upper(), overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console().print(table)
