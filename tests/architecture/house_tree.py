"""The files of the repository as the architecture tests read them."""

from __future__ import annotations

import subprocess
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from tools.setup import PACKAGES

ROOT = Path(__file__).resolve().parents[2]
MADE = {".git", ".venv", ".cache", ".data", "node_modules", "dist", "__pycache__", ".hypothesis"}


@cache
def files() -> tuple[Path, ...]:
    """Every file that is committed or would be; all but what is made, where there is no git."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        answer = subprocess.run(listing, cwd=ROOT, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        found = (path for path in ROOT.rglob("*") if not MADE & set(path.parts))
    else:
        names = answer.stdout.decode().split("\0")
        found = (ROOT / name for name in names if name)
    return tuple(sorted(path for path in found if path.is_file()))


def name(path: Path) -> str:
    """A file as people write it."""
    return path.relative_to(ROOT).as_posix()


def text(path: Path) -> str:
    """What a file says; bytes that are no text are of no interest here."""
    return path.read_text(encoding="utf-8", errors="ignore")


def project(package: str) -> dict[str, Any]:
    """A package's `[project]` table."""
    table: dict[str, Any] = tomllib.loads(text(ROOT / package / "pyproject.toml"))["project"]
    return table


def projects() -> dict[str, dict[str, Any]]:
    """Every package's folder and its `[project]` table."""
    return {package: project(package) for package in PACKAGES}
