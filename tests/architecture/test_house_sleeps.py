"""Tests wait for states and events, never for a time: no test and no test helper calls `sleep`.

`tests/support/eventually.py` waits for a state with a generous deadline. Where no state can be
seen, an event, a barrier or `anyio.lowlevel.checkpoint` makes the order of things certain.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import house_tree as tree
import pytest
from eventually import eventually, eventually_sync

CLOCKS = {"anyio", "asyncio", "time", "trio"}
SLEEPS = {"sleep", "sleep_until"}
EXCEPTIONS = {
    "tests/support/eventually.py": "the pause between two looks, for all tests",
}
"""Files that may sleep, each with its reason; ten at most."""


def test_no_test_sleeps() -> None:
    found = [
        f"{tree.name(path)}:{line}"
        for path in tree.files()
        if path.suffix == ".py" and "tests" in path.relative_to(tree.ROOT).parts
        if tree.name(path) not in EXCEPTIONS
        for line in sleeps_in(tree.text(path))
    ]
    assert found == [], "wait for a state or an event: see tests/support/eventually.py"


def test_exceptions_are_few_and_in_use() -> None:
    assert len(EXCEPTIONS) <= 10
    assert [name for name in EXCEPTIONS if not sleeps_in(tree.text(tree.ROOT / name))] == []


@pytest.mark.parametrize(
    "planted",
    [
        "import time\ntime.sleep(1)",
        "import asyncio as aio\nasync def test_x():\n    await aio.sleep(0)",
        "from time import sleep as pause\npause(1)",
        "import asyncio.tasks\npause = asyncio.tasks.sleep",
        "import anyio\nasync def test_x():\n    await anyio.sleep_until(3)",
        "def test_x():\n    from trio import sleep\n    sleep(1)",
    ],
)
def test_a_planted_sleep_is_found(planted: str) -> None:
    assert sleeps_in(planted)


@pytest.mark.parametrize(
    "allowed",
    [
        "from anyio.lowlevel import checkpoint\nasync def test_x():\n    await checkpoint()",
        "import subprocess\nsubprocess.run(['sleep', '60'])",
        "class Machine:\n    def sleep(self): ...\nMachine().sleep()",
    ],
)
def test_what_is_no_sleep_of_the_test_is_allowed(allowed: str) -> None:
    assert sleeps_in(allowed) == []


async def test_a_state_is_waited_for() -> None:
    left = [3]

    def reached() -> str:
        left[0] -= 1
        return "" if left[0] else "reached"

    async def reached_later() -> str:
        return reached()

    assert await eventually(reached) == "reached"
    left[0] = 3
    assert await eventually(reached_later) == "reached"
    left[0] = 3
    assert eventually_sync(reached) == "reached"


async def test_a_deadline_names_what_was_awaited_and_what_was_seen() -> None:
    with pytest.raises(AssertionError, match="not within 0 s: a machine; the last value was 0"):
        await eventually(lambda: 0, within=0.0, what="a machine")
    with pytest.raises(
        AssertionError, match=r"not within 0 s: a log line; the last value was \[\]"
    ):
        eventually_sync(list, within=0.0, what=lambda: "a log line")


def sleeps_in(source: str) -> list[int]:
    """The lines that name a `sleep` of one of the clocks, under whatever name it is imported."""
    module = ast.parse(source)
    clocks = set(_clocks_in(module))
    return sorted(
        node.lineno
        for node in ast.walk(module)
        if (isinstance(node, ast.Attribute) and node.attr in SLEEPS and _root(node) in clocks)
        or (isinstance(node, ast.ImportFrom) and _imports_sleep(node))
    )


def _clocks_in(module: ast.Module) -> Iterator[str]:
    """The names under which the clocks are imported."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            for one in node.names:
                package = one.name.partition(".")[0]
                if package in CLOCKS:
                    yield one.asname or package


def _imports_sleep(node: ast.ImportFrom) -> bool:
    clock = (node.module or "").partition(".")[0] in CLOCKS
    return clock and any(one.name in SLEEPS for one in node.names)


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
