"""The options many commands share. Read by cyclopts for help, by `session.py` for the work.

It must stay light: it is loaded at every start, before anything of the SDK.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from gpuaas_cli.said import Group, Parameter

Format = Literal["table", "wide", "json", "yaml", "csv"]
PROGRAMS: frozenset[Format] = frozenset({"json", "yaml", "csv"})  # forms that programs read
EVERYWHERE = "*"

_GROUP = Group("Shared options", sort_key=90)


@Parameter(name="*", group=_GROUP)
@dataclass(frozen=True, kw_only=True)
class Connection:
    """Which platform, as whom, where in it, and how the answer is shown."""

    context: Annotated[str | None, Parameter(help="context to use (GPUAAS_CONTEXT)")] = None
    url: Annotated[str | None, Parameter(help="address of the platform (GPUAAS_URL)")] = None
    tenant: Annotated[
        str | None, Parameter(help="tenant, by name or id (GPUAAS_TENANT)", show_default=False)
    ] = None
    project: Annotated[
        str | None,
        Parameter(help="project, by name or id; * in lists: all (GPUAAS_PROJECT)"),
    ] = None
    output: Annotated[
        Format, Parameter(name=["--output", "-o"], help="table, wide, json, yaml or csv")
    ] = "table"
    field: Annotated[
        str | None, Parameter(help="print this field alone, one line each; for scripts")
    ] = None
    correlation_id: Annotated[
        str | None, Parameter(help="id to find everything about this call by later")
    ] = None


@Parameter(name="*", group=_GROUP)
@dataclass(frozen=True, kw_only=True)
class Changing:
    """How something is changed."""

    idempotency_key: Annotated[str | None, Parameter(help="repeat the change safely")] = None
    dry_run: Annotated[
        bool, Parameter(name="--dry-run", negative="", help="show what would be asked, ask nothing")
    ] = False
    yes: Annotated[
        bool, Parameter(name=["--yes", "-y"], negative="", help="do not ask before destroying")
    ] = False
    no_input: Annotated[
        bool, Parameter(name="--no-input", negative="", help="never ask; fail instead")
    ] = False


@Parameter(name="*", group=_GROUP)
@dataclass(frozen=True, kw_only=True)
class Waiting:
    """Whether the command stays until the work has ended."""

    wait: Annotated[
        bool, Parameter(negative="", help="show the steps until the end; exit 6 if it failed")
    ] = False
    timeout: Annotated[float, Parameter(help="seconds to wait at most")] = 3600.0


@Parameter(name="*", group=_GROUP)
@dataclass(frozen=True, kw_only=True)
class Body:
    """Where the fields of a request come from, beside their own options."""

    file: Annotated[
        Path | None,
        Parameter(
            name=["--file", "-f"],
            allow_leading_hyphen=True,
            help="JSON or YAML body; - reads standard input",
        ),
    ] = None
    set: Annotated[
        tuple[str, ...],
        Parameter(
            name="--set", negative="", help="a.b=value, JSON where it reads as such; repeatable"
        ),
    ] = ()


@Parameter(name="*", group=_GROUP)
@dataclass(frozen=True, kw_only=True)
class Asking(Body, Changing, Waiting):
    """Everything about asking for work: its input, how it is asked, whether one stays."""


@Parameter(name="*", group=_GROUP)
@dataclass(frozen=True, kw_only=True)
class Listing:
    """How much of a list, and for how long."""

    limit: Annotated[int, Parameter(help="entries at most; 0: all")] = 100
    watch: Annotated[
        bool,
        Parameter(name=["--watch", "-w"], negative="", help="show it again whenever it changes"),
    ] = False
