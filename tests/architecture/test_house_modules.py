"""A module is small enough to know one's room in it."""

from __future__ import annotations

from collections import Counter

import house_tree as tree

USUAL = 300
MOST = 0.9
LIMIT = 450
GENERATED = ("console/src/api/schema.d.ts",)


def test_no_module_is_over_the_limit() -> None:
    assert {name: size for name, size in _sizes().items() if size > LIMIT} == {}


def test_most_modules_are_small() -> None:
    sizes = _sizes()
    large = {name: size for name, size in sizes.items() if size > USUAL}

    assert len(large) <= len(sizes) * (1 - MOST), large


def _sizes() -> dict[str, int]:
    modules = [path for path in tree.files() if path.suffix in {".py", ".ts", ".tsx"}]
    return {
        tree.name(path): len(tree.text(path).splitlines())
        for path in modules
        if tree.name(path) not in GENERATED
    }


def test_every_test_module_has_a_name_of_its_own() -> None:
    """Test folders are no packages, so pytest imports each file by its bare name."""
    tests = [path for path in tree.files() if path.suffix == ".py" and "tests" in path.parts]
    names = Counter(path.name for path in tests if path.name != "conftest.py")

    assert [name for name, times in names.items() if times > 1] == []
