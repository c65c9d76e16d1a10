"""How the options of a generated command are named, and which of them it has. Nothing is parsed.

Used by `generated.py`, which makes the commands, and `calling.py`, which runs them.
"""

from dataclasses import fields as dataclass_fields
from typing import Any

from gpuaas_cli.book import Flag, Operation
from gpuaas_cli.options import Body, Changing, Connection, Listing, Waiting

# Given by the context, by options every command has, or by the client itself.
SCOPES = {"project_id": "project", "org_id": "tenant"}
HANDLED = {"cursor", "limit", "wait", "after_revision", "last-event-id"}


def field_option(operation: Operation, flag: Flag) -> str:
    """How a field of a body is typed; one named like a shared option of the command gets longer."""
    taken = {one.name for kind in option_kinds(operation) for one in dataclass_fields(kind)}
    name = f"{flag.name}_field" if flag.name in taken else flag.name
    return f"--{name.replace('_', '-')}"


def option_kinds(operation: Operation) -> list[type[Any]]:
    """Which of the shared options a command has."""
    kinds: list[type[Any]] = [Connection]
    if operation.page:
        kinds.append(Listing)
    if operation.mutates:
        kinds.append(Changing)
    if operation.body is not None:
        kinds.append(Body)
    if operation.starts_work:
        kinds.append(Waiting)
    return kinds
