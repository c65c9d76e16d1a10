"""Every setting stands in docs/settings.md, and the page names no setting that is gone."""

from __future__ import annotations

import re

import house_tree as tree

from tools import document

PAGE = tree.ROOT / "docs" / "settings.md"
# A whole variable in code: in quotes, or a make or shell variable.
_VARIABLE = re.compile(r"\bGPUAAS_[A-Z][A-Z0-9_]*[A-Z0-9]\b")
_HOME = ("src", "tools", "Makefile", "conftest.py", ".ci", "build", "vite.config.ts")


def test_every_variable_in_the_code_is_documented() -> None:
    assert sorted(_used() - _documented()) == []


def test_every_documented_variable_exists() -> None:
    assert sorted(_documented() - _used() - _of_the_platform()) == []


def test_the_platforms_table_is_what_the_code_says() -> None:
    page = PAGE.read_text()

    assert document.rendered(page) == page, "run make docs"


def _used() -> set[str]:
    code = [path for path in tree.files() if set(tree.name(path).split("/")) & set(_HOME)]
    return {name for path in code for name in _VARIABLE.findall(tree.text(path))}


def _documented() -> set[str]:
    return set(_VARIABLE.findall(PAGE.read_text()))


def _of_the_platform() -> set[str]:
    table = document.rendered(f"{document.BEGIN}{document.END}")
    return set(_VARIABLE.findall(table))
