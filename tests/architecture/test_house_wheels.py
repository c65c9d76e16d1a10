"""Every package is a wheel that stands on its declared dependencies alone.

Each one is built, installed into a fresh environment with nothing but what it declares (and what
tests need), and its own unit tests run there.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import house_tree as tree
import pytest

from tools import host
from tools.setup import PACKAGES, UV
from tools.suite.rotation import on_turn

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

TEST_TOOLS = ("pytest", "pytest-timeout", "anyio", "hypothesis")
OURS = {package: f"gpuaas_{package.rpartition('/')[2]}" for package in PACKAGES}


class Alone(NamedTuple):
    """A package in an environment of its own."""

    package: str
    python: Path


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every package as a wheel."""
    folder = tmp_path_factory.mktemp("wheels")
    for package in PACKAGES:
        build = ("-m", "hatchling", "build", "-t", "wheel", "-d", folder)
        _run(sys.executable, *build, cwd=tree.ROOT / package)
    return folder


@pytest.fixture(scope="module", params=on_turn("packages tested alone", PACKAGES))
def alone(
    request: pytest.FixtureRequest, wheels: Path, tmp_path_factory: pytest.TempPathFactory
) -> Alone:
    """One package with what it declares, from the wheels and the lock."""
    package: str = request.param
    home = tmp_path_factory.mktemp(OURS[package])
    _run(UV, "venv", "--no-project", "--python", host.python_base(), home, cwd=home)
    python = home / "bin" / "python"
    _run(
        *(UV, "pip", "install", "--python", python, "--find-links", wheels),
        *("--constraints", tree.ROOT / "requirements" / "dev.txt"),
        *(*TEST_TOOLS, *_kit(package)),
        next(wheels.glob(f"{OURS[package]}-*.whl")),
        cwd=home,
    )
    return Alone(package, python)


def test_it_stands_on_what_it_declares(alone: Alone, tmp_path: Path) -> None:
    unit = tree.ROOT / alone.package / "tests" / "unit"
    if not list(unit.rglob("test_*.py")):
        _run(alone.python, "-c", f"import {OURS[alone.package]}", cwd=tmp_path)
        return

    _run(
        *(alone.python, "-m", "pytest", "-q", "-o", f"cache_dir={tmp_path}"),
        *("-c", tree.ROOT / "pyproject.toml", "--rootdir", tree.ROOT),
        # Its own, or it would clear away behind us what other runs are clearing too.
        *("--basetemp", tmp_path / "temporary"),
        *("--confcutdir", tree.ROOT / alone.package, unit),
        cwd=tmp_path,
    )


def test_nothing_else_of_ours_is_there(alone: Alone, tmp_path: Path) -> None:
    declared = _ours_declared(alone.package)

    for package, module in OURS.items():
        probe = f"import importlib.util as u; print(u.find_spec({module!r}) is not None)"
        there = _run(alone.python, "-c", probe, cwd=tmp_path).strip()
        assert (package, there) == (package, str(package in declared))


def _kit(package: str) -> list[str]:
    """The SDK's testing kit with what it needs, for those who have the SDK."""
    return ["gpuaas-sdk[testing]"] if "sdk" in _ours_declared(package) else []


def _ours_declared(package: str) -> set[str]:
    names = {f"gpuaas-{one.rpartition('/')[2]}": one for one in PACKAGES}
    declared = {package}
    for dependency in tree.project(package)["dependencies"]:
        if dependency in names:
            declared |= _ours_declared(names[dependency])
    return declared


def _run(*command: str | Path, cwd: Path) -> str:
    answer = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**host.environment(), "UV_INDEX_STRATEGY": "unsafe-best-match"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout
