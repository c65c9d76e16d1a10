"""What the docs tell a person to type exists, and what they link to is there."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import house_tree as tree
import pytest

_FENCE = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
_TARGET = re.compile(r"^([a-z-]+):.*## ", re.MULTILINE)
# Commands of any system, or of a machine that is not this one.
_SYSTEM = {"cd", "export", "git", "curl", "ssh", "docker", "systemctl"}
_SYSTEM |= {"psql", "pg_dump", "pg_restore"}
PAGES = [path for path in tree.files() if path.suffix == ".md"]


@pytest.mark.parametrize("page", PAGES, ids=tree.name)
def test_every_command_exists(page: Path) -> None:
    blocks = _FENCE.findall(tree.text(page))

    assert [line for block in blocks for line in _commands(block) if not _exists(line)] == []


@pytest.mark.parametrize("page", PAGES, ids=tree.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    links = [link for link in _LINK.findall(tree.text(page)) if "://" not in link]

    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_first_page_shows_the_two_commands() -> None:
    commands = [
        line
        for block in _FENCE.findall(tree.text(tree.ROOT / "README.md"))
        for line in _commands(block)
    ]

    assert "make demo" in commands
    assert "make test" in commands


def test_every_target_explains_itself() -> None:
    makefile = tree.text(tree.ROOT / "Makefile")
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)

    assert phony is not None
    hidden = {"lint", "console-check"}  # parts of check and test
    assert set(phony[1].split()) - hidden == set(_TARGET.findall(makefile))


def test_a_command_that_is_not_there_is_found() -> None:
    assert not _exists("make coffee")
    assert not _exists("gpuaas-coffee brew")
    assert _exists("sudo make demo")


def _commands(block: str) -> list[str]:
    joined = block.replace("\\\n", " ")
    lines = (line.strip().removeprefix("$ ") for line in joined.splitlines())
    return [line.partition(" # ")[0].strip() for line in lines if line and line[0] != "#"]


def _exists(command: str) -> bool:
    words = [word for word in shlex.split(command) if word != "sudo" and "=" not in word]
    if not words:
        return True
    if words[0] == "make":
        return set(words[1:]) <= set(_TARGET.findall(tree.text(tree.ROOT / "Makefile")))
    program = words[0].removeprefix(".venv/bin/")
    scripts = {name for table in tree.projects().values() for name in table.get("scripts", {})}
    return program in scripts | _SYSTEM or shutil.which(program) is not None
