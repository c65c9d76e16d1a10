"""A newcomer's first hour: copy the template, rename it, build it, test it, call its command."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
TEMPLATE = ROOT / "apps" / "template"
MADE = ("__pycache__", "*.egg-info", "dist", ".pytest_cache")


def test_a_renamed_copy_is_an_app_of_its_own(tmp_path: Path) -> None:
    copy, site = tmp_path / "mine", tmp_path / "site"
    shutil.copytree(TEMPLATE, copy, ignore=shutil.ignore_patterns(*MADE))
    _rename(copy)
    wheels = tmp_path / "wheels"
    _run(copy, sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels))
    (wheel,) = wheels.glob("gpuaas_mine-*.whl")
    shutil.unpack_archive(wheel, site, "zip")
    said = _run(
        copy, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
        "-o", "anyio_mode=auto", "--basetemp", str(tmp_path / "temporary"),
        "--rootdir", str(copy), "tests/unit", site=site,
    )  # fmt: skip
    assert " passed" in said
    printed = _run(copy, sys.executable, "-m", "gpuaas_mine.main", "manifest", site=site)
    assert '"manifest_version": 1' in printed


def _rename(copy: Path) -> None:
    """What the guide asks for: another name, everywhere."""
    (copy / "src" / "gpuaas_template").rename(copy / "src" / "gpuaas_mine")
    for path in copy.rglob("*"):
        if path.suffix in {".py", ".toml", ".md"}:
            text = path.read_text()
            for before, after in (
                ("gpuaas_template", "gpuaas_mine"),
                ("gpuaas-template", "gpuaas-mine"),
            ):
                text = text.replace(before, after)
            path.write_text(text)


def _run(folder: Path, *command: str, site: Path | None = None) -> str:
    environment = {**os.environ, "PYTHONPATH": str(site)} if site else dict(os.environ)
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
