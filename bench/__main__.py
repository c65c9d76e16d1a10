"""Runs the measurements by name and shows what they say: `python -m bench [NAME …]`.

An entry is a module of this folder with `async def measure()` that returns rows (dataclasses, all
of one kind). Its docstring says what is measured and how; it is printed with the figures. A module
that has `within(rows)` is also asked whether its limits are kept. Each entry runs in a process of
its own, one after the other, so that none is measured in the shadow of another.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import inspect
import json
import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
OK, OVER, USAGE, BROKEN = 0, 1, 2, 3

EXAMPLES = """\
examples:
  python -m bench                 every entry, a table each
  python -m bench floor lab       these
  python -m bench --list          what there is
  python -m bench floor --json    one JSON object, for programs

exit codes:
  0  measured, limits kept    1  a limit is not kept    2  wrong usage    3  an entry failed
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    arguments = _parser().parse_args(argv)
    if arguments.into:
        arguments.into.write_text(json.dumps(asyncio.run(_measure(arguments.names[0]))))
        return OK
    if arguments.list:
        for name in entries():
            print(f"{name:10} {_title(_module(name))}")
        return OK
    unknown = sorted(set(arguments.names) - set(entries()))
    if unknown:
        print(f"bench: no entry {', '.join(unknown)}; there are {', '.join(entries())}")
        return USAGE
    return asyncio.run(_run(arguments.names or entries(), as_json=arguments.json))


def entries() -> list[str]:
    """Return the names of all entries: the modules of this folder that can measure."""
    names = sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_"))
    return [name for name in names if "\nasync def measure(" in (HERE / f"{name}.py").read_text()]


def machine() -> str:
    """Say what the figures were measured on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    release = platform.freedesktop_os_release().get("PRETTY_NAME", "unknown system")
    return (
        f"{os.cpu_count()} cores, {memory:.0f} GiB, {release}, Linux {platform.release()}, "
        f"Python {platform.python_version()}"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measure on real machines and servers.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="entries to run; all when none")
    parser.add_argument("--list", action="store_true", help="name the entries")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)
    return parser


async def _run(names: list[str], *, as_json: bool) -> int:
    console = Console(stderr=as_json)
    console.print(f"[dim]{machine()}[/dim]")
    worst, results = OK, []
    for name in names:
        result = await _entry(name)
        results.append(result)
        if "error" in result:
            worst = BROKEN
        elif not result["within"]:
            worst = max(worst, OVER)
        if not as_json:
            _show(console, result)
    if as_json:
        print(json.dumps({"machine": machine(), "load": os.getloadavg(), "entries": results}))
    return worst


async def _entry(name: str) -> dict[str, Any]:
    """Run an entry in a process of its own; its output passes through."""
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="gpuaas-bench-") as folder:
        into = Path(folder) / "result.json"
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bench", name, "--into", str(into)), cwd=HERE.parent
        )
        code = await process.wait()
        known = {"name": name, "title": _title(_module(name)), "how": _how(_module(name))}
        if code:
            return {**known, "error": f"ended with {code}"}
        return {**known, "load_before": before, **json.loads(into.read_text())}


async def _measure(name: str) -> dict[str, Any]:
    module = _module(name)
    rows = await module.measure()
    within = module.within(rows) if hasattr(module, "within") else True
    return {"rows": [_row(row) for row in rows], "within": within}


def _row(row: Any) -> dict[str, Any]:  # noqa: ANN401  each entry has rows of its own
    derived = inspect.getmembers(type(row), lambda member: isinstance(member, property))
    return asdict(row) | {name: getattr(row, name) for name, _ in derived}


def _show(console: Console, result: dict[str, Any]) -> None:
    console.print(f"\n[bold]{result['name']}[/bold]: {result['title']}")
    console.print(f"[dim]{result['how']}[/dim]")
    if "error" in result:
        console.print(f"[red]failed: {result['error']}[/red]")
        return
    table = Table()
    for column in result["rows"][0]:
        table.add_column(column.replace("_", " "))
    for row in result["rows"]:
        table.add_row(*(_cell(value) for value in row.values()))
    console.print(table)
    console.print(f"[dim]load of the machine when it began: {result['load_before']:.1f}[/dim]")
    if not result["within"]:
        console.print("[red]over its limit[/red]")


def _cell(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"bench.{name}")


def _title(module: ModuleType) -> str:
    return (module.__doc__ or "").strip().splitlines()[0]


def _how(module: ModuleType) -> str:
    paragraphs = (module.__doc__ or "").strip().split("\n\n")[1:]
    return " ".join(" ".join(paragraphs).split())


if __name__ == "__main__":
    sys.exit(main())
