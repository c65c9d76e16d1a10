"""What must never be committed: secrets, addresses of registries, paths of one machine."""

from __future__ import annotations

import json
import re

import house_tree as tree
import pytest

# Written in pieces, so that this file does not hold what it looks for.
REGISTRIES = ("pypi" + ".org", "pythonhosted" + ".org", "npmjs" + ".org", "npmjs" + ".com")
PATHS = re.compile(r"(?<![\w/.-])/(?:wo" + r"rk|Users/[A-Za-z]+)/|" + re.escape(f"{tree.ROOT}/"))
# A key with its body: a test of redaction may show the mere shape of one.
_KEY = r"PRIVATE" + r" KEY-----(?:\\n|\s)*[A-Za-z0-9+/]{60}"
SECRETS = re.compile(rf"{_KEY}|\bAKIA[0-9A-Z]{{16}}\b|\bghp_[A-Za-z0-9]{{36}}\b")


def test_no_registry_is_named() -> None:
    assert _lines(re.compile("|".join(map(re.escape, REGISTRIES)))) == []


def test_no_path_of_one_machine() -> None:
    assert _lines(PATHS) == []


def test_no_secret() -> None:
    assert [tree.name(path) for path in tree.files() if SECRETS.search(tree.text(path))] == []


def test_no_lock_that_records_addresses() -> None:
    assert [path for path in tree.files() if path.name == "uv.lock"] == []
    for path in tree.files():
        if path.name == "package-lock.json":
            packages = json.loads(tree.text(path))["packages"]
            assert [name for name, entry in packages.items() if "resolved" in entry] == []


@pytest.mark.parametrize("planted", ["/wo" + "rk/main/x", "cd /Users/" + "ann/x", f"{tree.ROOT}/x"])
def test_a_planted_path_is_found(planted: str) -> None:
    assert PATHS.search(planted)


def test_a_planted_key_is_found() -> None:
    assert SECRETS.search("-----BEGIN OPENSSH PRIVATE" + " KEY-----\n" + "b3BlbnNz" * 8)
    assert not SECRETS.search("-----BEGIN OPENSSH PRIVATE" + " KEY-----\n...")


def _lines(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{tree.name(path)}:{number}: {line.strip()[:120]}"
        for path in tree.files()
        for number, line in enumerate(tree.text(path).splitlines(), 1)
        if pattern.search(line)
    ]
