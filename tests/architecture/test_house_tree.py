"""What must never be committed: secrets, addresses of registries, paths of one machine."""

from __future__ import annotations

import json
import re

import pytest

from tests.architecture import tree

# Written in pieces, so that this file does not hold what it looks for.
REGISTRIES = ("pypi" + ".org", "pythonhosted" + ".org", "npmjs" + ".org", "npmjs" + ".com")
PATHS = re.compile(r"(?<![\w/.-])/(?:wo" + r"rk|home/[a-z]+|Users/[A-Za-z]+)/")
SECRETS = re.compile(
    r"-----BEGIN (?:[A-Z]+ )?PRIVATE" + r" KEY-----|\bAKIA[0-9A-Z]{16}\b|\bghp_[A-Za-z0-9]{36}\b"
)


def test_no_registry_is_named() -> None:
    assert _lines(re.compile("|".join(map(re.escape, REGISTRIES)))) == []


def test_no_path_of_one_machine() -> None:
    assert _lines(PATHS) == []


def test_no_secret() -> None:
    assert _lines(SECRETS) == []


def test_no_lock_that_records_addresses() -> None:
    assert [path for path in tree.files() if path.name == "uv.lock"] == []
    for path in tree.files():
        if path.name == "package-lock.json":
            packages = json.loads(tree.text(path))["packages"]
            assert [name for name, entry in packages.items() if "resolved" in entry] == []


@pytest.mark.parametrize("planted", ["/wo" + "rk/main/x", "cd /home/" + "ann/x", "PRIVATE"])
def test_the_patterns_bite(planted: str) -> None:
    key = "-----BEGIN OPENSSH PRIVATE" + " KEY-----"

    assert SECRETS.search(key) if planted == "PRIVATE" else PATHS.search(planted)


def _lines(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{tree.name(path)}:{number}: {line.strip()[:120]}"
        for path in tree.files()
        for number, line in enumerate(tree.text(path).splitlines(), 1)
        if pattern.search(line)
    ]
