"""Every import contract of pyproject.toml is kept, and bites when one import is planted."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import house_tree as tree
import pytest

from tools.setup import PACKAGES

pytestmark = pytest.mark.slow

# Who may boot machines: the demo, the measurements, the system tests, what they stand on, and the
# lab's own.
LAB_GUESTS = (
    "bench/", "lab/", "tests/support/agent_hosts", "tests/support/lost_packets",
    "tests/support/slurm_", "tests/system/", "tools/demo", "tools/ground", "tools/slurm_",
    "tools/suite/leaks", "tools/suites",
)  # fmt: skip


class Plant(NamedTuple):
    """One import where it must not be, and the contract that has to say so."""

    contract: str
    module: str
    line: str


PLANTS = (
    Plant("contract-pure", "contract:gpuaas_contract.planted", "import gpuaas_sdk"),
    Plant("platform-alone", "platform:gpuaas_platform.kernel.planted", "import gpuaas_sdk"),
    Plant("platform-alone", "platform:gpuaas_platform.kernel.planted", "import gpuaas_slurm"),
    Plant(
        "rooms-in-order",
        "platform:gpuaas_platform.kernel.planted",
        "import gpuaas_platform.identity.planted",
    ),
    Plant(
        "rooms-in-order",
        "platform:gpuaas_platform.identity.planted",
        "import gpuaas_platform.operate.planted",
    ),
    Plant("rooms-in-order", "platform:gpuaas_platform.attic.planted", "import json"),
    Plant(
        "rooms-private",
        "platform:gpuaas_platform.operate.planted",
        "import gpuaas_platform.identity.store",
    ),
    Plant("sdk-cli-outside", "sdk:gpuaas_sdk.planted", "import gpuaas_platform"),
    Plant("sdk-cli-outside", "cli:gpuaas_cli.planted", "import gpuaas_platform"),
    Plant("sdk-below-cli", "sdk:gpuaas_sdk.planted", "import gpuaas_cli"),
    Plant("agent-light", "agent:gpuaas_agent.planted", "import gpuaas_platform"),
    Plant("agent-light", "agent:gpuaas_agent.planted", "import pydantic"),
    Plant("apps-sdk", "apps/slurm:gpuaas_slurm.planted", "import gpuaas_platform"),
    Plant("apps-sdk", "apps/template:gpuaas_template.planted", "import gpuaas_lab"),
    Plant("apps-contract", "apps/slurm:gpuaas_slurm.planted", "import gpuaas_contract"),
    Plant("apps-apart", "apps/template:gpuaas_template.planted", "import gpuaas_slurm"),
    Plant("lab-apart", "lab:gpuaas_lab.planted", "import gpuaas_contract"),
)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources, with the rooms the plants speak of."""
    copy = tmp_path_factory.mktemp("house")
    for package in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(tree.ROOT / package / "src", copy / package / "src", ignore=ignored)
    shutil.copytree(tree.ROOT / "tools", copy / "tools")
    shutil.copy(tree.ROOT / "pyproject.toml", copy)
    for room, module in (("identity", "store"), ("identity", "planted"), ("operate", "planted")):
        _write(copy, f"platform:gpuaas_platform.{room}.{module}", '"""Empty."""\n')
    return copy


def test_the_house_keeps_its_boundaries(house: Path) -> None:
    status, said = _lint(house)

    assert status == 0, said


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: f"{plant.contract}: {plant.line}")
def test_a_planted_import_breaks_its_contract(plant: Plant, house: Path, tmp_path: Path) -> None:
    copy = tmp_path / "house"
    shutil.copytree(house, copy)
    _write(copy, plant.module, f'"""Planted."""\n\n{plant.line}\n')

    status, said = _lint(copy, plant.contract)

    assert status == 1, said
    assert f"{_contracts()[plant.contract]} BROKEN" in said


def test_every_contract_has_a_plant() -> None:
    assert {plant.contract for plant in PLANTS} == set(_contracts())


def test_the_lab_has_no_uninvited_guest() -> None:
    python = [path for path in tree.files() if path.suffix == ".py"]
    outside = [path for path in python if not tree.name(path).startswith(LAB_GUESTS)]

    assert [tree.name(path) for path in outside if "gpuaas_lab" in _imports(path)] == []


def _lint(house: Path, *contracts: str) -> tuple[int, str]:
    sources = os.pathsep.join(str(house / package / "src") for package in PACKAGES)
    chosen = [word for contract in contracts for word in ("--contract", contract)]
    answer = subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports"), "--no-logo", "--no-cache", *chosen],
        cwd=house,
        env={**os.environ, "PYTHONPATH": sources},
        capture_output=True,
        text=True,
        check=False,
    )
    return answer.returncode, answer.stdout + answer.stderr


def _write(house: Path, module: str, content: str) -> None:
    package, _, dotted = module.partition(":")
    file = (house / package / "src").joinpath(*dotted.split(".")).with_suffix(".py")
    file.parent.mkdir(exist_ok=True)
    (file.parent / "__init__.py").touch()
    file.write_text(content)


def _contracts() -> dict[str, str]:
    root = tomllib.loads((tree.ROOT / "pyproject.toml").read_text())
    return {one["id"]: one["name"] for one in root["tool"]["importlinter"]["contracts"]}


def _imports(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(tree.text(path))))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    of = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return {name.split(".")[0] for name in plain | of}
