"""The locks hold every declared dependency, by hash, and agree with each other."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import house_tree as tree
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tools.lock import PRODUCTION
from tools.setup import PACKAGES

LOCKS = tree.ROOT / "requirements"
_PIN = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>[^\s;\\]+)", re.MULTILINE)


@pytest.mark.parametrize("package", PACKAGES)
def test_what_a_package_declares_is_locked(package: str) -> None:
    assert _unmet(tree.project(package)["dependencies"], "dev.txt") == []


def test_what_development_declares_is_locked() -> None:
    declared = [line.partition("#")[0].strip() for line in _lines("dev.in")]

    assert _unmet([line for line in declared if line], "dev.txt") == []


@pytest.mark.parametrize("package", PRODUCTION)
def test_production_runs_what_was_tested(package: str) -> None:
    lock = f"{package.rpartition('/')[2]}.txt"
    tested = _pins("dev.txt")

    assert _unmet(tree.project(package)["dependencies"], lock) == []
    assert {name: pin for name, pin in _pins(lock).items() if tested.get(name) != pin} == {}


def test_the_installer_is_the_tested_one() -> None:
    assert _pins("uv.txt")["uv"] == _pins("dev.txt")["uv"]


@pytest.mark.parametrize("lock", sorted(path.name for path in LOCKS.glob("*.txt")))
def test_every_pin_has_its_hashes_and_no_address(lock: str) -> None:
    content = (LOCKS / lock).read_text()
    entries = re.split(r"(?m)^(?=[\w])", content)[1:]

    assert entries
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []
    assert "://" not in content
    assert "--index" not in content


def test_the_workspace_lists_every_package() -> None:
    root = tomllib.loads((tree.ROOT / "pyproject.toml").read_text())

    assert tuple(root["tool"]["uv"]["workspace"]["members"]) == PACKAGES
    found = [path.parent for path in tree.files() if path.name == "pyproject.toml"]
    assert {tree.name(folder) for folder in found if folder != tree.ROOT} == set(PACKAGES)


def test_an_unmet_dependency_is_found() -> None:
    assert _unmet(["pytest>=999", "no-such-thing"], "dev.txt") == ["pytest>=999", "no-such-thing"]


def _unmet(declared: list[str], lock: str) -> list[str]:
    pins = _pins(lock)
    unmet = []
    for line in declared:
        requirement = Requirement(line)
        if requirement.name.startswith("gpuaas-"):
            continue
        pin = pins.get(canonicalize_name(requirement.name))
        if pin is None or not requirement.specifier.contains(pin, prereleases=True):
            unmet.append(line)
    return unmet


def _pins(lock: str) -> dict[str, Version]:
    found = _PIN.finditer((LOCKS / lock).read_text())
    return {canonicalize_name(pin["name"]): Version(pin["version"]) for pin in found}


def _lines(name: str) -> list[str]:
    return Path(LOCKS / name).read_text().splitlines()
