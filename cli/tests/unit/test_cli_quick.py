"""Plain lines run without the parser, and mean what the parser would have made of them."""

import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpuaas_cli import quick
from gpuaas_cli.options import Connection, Listing
from gpuaas_cli.surface import Option, command
from gpuaas_cli.tree import make_app

NOT_PLAIN = (
    "allocation list --nonsense",
    "allocation list --limit",
    "allocation list --limit many",
    "allocation list --limit -1",
    "allocation list --limit 1 --limit 2",
    "allocation list --watch=true",
    "allocation list -ojson",
    "allocation list -o xml",
    "allocation list surplus",
    "allocation show",
    "allocation show a b",
    "node enroll gpu-7 --region north",
    "node create --host-keys [1]",
    "context set --project none",
    "ssh n1 -- ls --help",
    "ssh n1 ls -l",
    "allocation",
    "nonsense",
)
# What only some commands need, and takes longer to load than a whole command may take.
HEAVY = {"asyncssh", "cryptography", "cyclopts", "httpx2", "mcp", "pydantic", "rich", "yaml"}
PLAIN = (
    "allocation list --project proj_0000000000000000 --help",
    "project create --tenant org_0000000000000000 --name next --dry-run",
    "context list",
    "context list -o json",
    "operation retry op_1 --dry-run",
)


def leaves() -> Iterator[tuple[str, ...]]:
    for noun in command(()).verbs:
        verbs = command((noun,)).verbs
        yield from [(noun, verb) for verb in verbs] if verbs else [(noun,)]


def typed(option: Option) -> list[str]:
    """An option as somebody types it, or a word in its place."""
    value = {"integer": "7", "number": "2.5", "file": "some/file"}.get(option.kind, "word")
    value = option.values[-1] if option.values else value
    if option.placed:
        return [value, value] if option.many else [value]
    if not option.takes_value:
        return [option.names[-1]]
    return [option.names[-1], value, f"{option.names[0]}={value}"][: 3 if option.many else 2]


def lines(words: tuple[str, ...]) -> Iterator[list[str]]:
    """The shortest line of a command, and one with everything it takes."""
    named = {one.names[-1]: one for one in reversed(command(words).options)}
    options = list(reversed(named.values()))  # of two with one name the first is meant
    short = [one for one in options if one.required or (one.placed and not one.optional)]
    for chosen in (short, options):
        yield [*words, *(word for one in chosen for word in typed(one))]


@pytest.mark.parametrize("noun", sorted(command(()).verbs))
def test_a_line_means_the_same_as_to_the_parser(noun: str) -> None:
    for words in (one for one in leaves() if one[0] == noun):
        app = make_app(words)
        for line in lines(words):
            found = quick.understood(line)
            assert found is not None, line
            work, bound, _ = app.parse_args(line, exit_on_error=False, print_error=False)
            mine = inspect.signature(work).bind(*found.placed, **found.named)
            assert mine.arguments == bound.arguments, line


@pytest.mark.parametrize("line", NOT_PLAIN)
def test_what_is_not_plain_is_left_to_the_parser(line: str) -> None:
    assert quick.understood(line.split()) is None


def test_other_names_and_both_forms_of_an_option_are_plain() -> None:
    found = quick.understood(["alloc"])
    assert found is None
    found = quick.understood(["op", "read", "op_1", "-o=json", "--url", "http://one"])
    assert found is not None
    assert found.command.words == ("operation", "show")
    assert found.placed == ("op_1",)
    assert found.named == {"connection": Connection(output="json", url="http://one")}
    listed = quick.understood(["node", "list", "-w", "--limit=0"])
    assert listed is not None
    assert listed.named == {"listing": Listing(watch=True, limit=0)}


@pytest.mark.parametrize("line", PLAIN)
def test_a_plain_line_loads_nothing_heavy(line: str, tmp_path: Path) -> None:
    assert heavy_in(line.split(), GPUAAS_CONFIG=str(tmp_path / "contexts.json")) == ""


def heavy_in(words: list[str], **environment: Any) -> str:
    """Which of the heavy modules a command line loads."""
    code = f"""
import sys
from gpuaas_cli.main import called
ended = called({words!r})
heavy = {HEAVY!r} & {{name.partition(".")[0] for name in sys.modules}}
sys.exit(",".join(sorted(heavy)) or ended)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.stderr.strip()
