"""How the command speaks: tables, progress, JSON and one-line errors. Decides nothing."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from gpuaas_lab.doctor import Finding
from gpuaas_lab.errors import LabError
from gpuaas_lab.lab import Tell
from gpuaas_lab.packages import PackageSet
from gpuaas_lab.status import LabStatus, MachineStatus

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def say(line: str) -> None:
    """One line for people."""
    out.print(line, markup=False, soft_wrap=True)


def error_show(error: LabError) -> None:
    """An error as one line, with the remedy."""
    err.print(f"gpuaas-lab: {error}", style="red", markup=False, soft_wrap=True)


def json_show(value: object) -> None:
    """A value for programs."""
    sys.stdout.write(json.dumps(_plain(value), indent=2) + "\n")


@contextmanager
def progress() -> Iterator[Tell]:
    """Show what happens while it happens; the block gets the function to tell it with."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.fields[who]:<5}"),
        TextColumn("{task.description}"),
    )
    if not err.is_terminal:
        yield lambda _subject, _line: None
        return
    with Progress(*columns, TimeElapsedColumn(), console=err, transient=True) as bar:
        rows: dict[str, TaskID] = {}

        def tell(subject: str, line: str) -> None:
            if subject not in rows:
                rows[subject] = bar.add_task(line, total=None, who=subject)
            done = 1 if line.startswith(("answers", "on,")) else None
            bar.update(rows[subject], description=line, total=done, completed=done)

        yield tell


def status_show(labs: list[LabStatus]) -> None:
    """Labs as tables."""
    if not labs:
        say("No lab is up. Start one: gpuaas-lab up 2")
    for lab in labs:
        title = f"{lab.name} · {lab.suite} · {lab.subnet} · host {lab.host} · {_mib(lab.memory)}"
        table = Table(title=title, title_justify="left")
        for column in ("machine", "power", "address", "memory", "processes", "notes"):
            table.add_column(column)
        for machine in lab.machines:
            table.add_row(
                machine.name,
                f"[green]{machine.power}[/]"
                if machine.power == "on"
                else f"[red]{machine.power}[/]",
                machine.address,
                _mib(machine.memory),
                str(machine.processes),
                _notes(machine),
            )
        out.print(table)


def findings_show(findings: list[Finding]) -> None:
    """What the doctor found, one line each."""
    for finding in findings:
        mark = "[green]✓[/]" if finding.good else "[red]✗[/]" if finding.blocks else "[yellow]![/]"
        remedy = "" if finding.good else f"  → {finding.remedy}"
        out.print(f"{mark} {finding.what}: {finding.detail}{remedy}", soft_wrap=True)


def sets_show(sets: list[PackageSet]) -> None:
    """Package sets as a table."""
    table = Table("suite", "packages", "files", "size", "digest", "folder")
    for item in sets:
        names = ", ".join(item.names)
        table.add_row(
            *(item.suite, names, str(len(item.files)), _mib(item.size)),
            *(item.digest.removeprefix("sha256:")[:12], str(item.path)),
        )
    out.print(table)


def set_plain(item: PackageSet) -> dict[str, object]:
    """A package set for programs."""
    return {
        "suite": item.suite,
        "names": list(item.names),
        "path": str(item.path),
        "files": [file.name for file in item.files],
        "size": item.size,
        "digest": item.digest,
    }


def _plain(value: object) -> object:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    return value


def _notes(machine: MachineStatus) -> str:
    notes = list(machine.cuts)
    notes += [f"{machine.gpus} fake GPUs"] if machine.gpus else []
    notes += [f"clock {machine.skew:+d} s"] if machine.skew else []
    return ", ".join(notes)


def _mib(size: int) -> str:
    return f"{size / (1 << 20):.0f} MiB"
