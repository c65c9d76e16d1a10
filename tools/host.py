"""What the host offers the set-up: commands, Python, a browser, package indexes.

Called by `tools.setup`. Standard library only. It looks, and never changes anything.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tools.progress import CACHE

if TYPE_CHECKING:
    from collections.abc import Callable

BROWSER_FILE = CACHE / "browser"


class Need(NamedTuple):
    """Something of the system a stage uses, and the Debian packages that bring it."""

    present: Callable[[], bool]
    packages: tuple[str, ...]


def packages_missing(stage: str) -> list[str]:
    """The Debian packages a stage needs and the host lacks."""
    needs = _NEEDS.get(stage, ())
    return [package for need in needs if not need.present() for package in need.packages]


def python_base() -> str:
    """The interpreter behind an activated environment, should one be active."""
    base: str = getattr(sys, "_base_executable", sys.executable)
    return base


def python_same(python: Path) -> bool:
    """Whether an environment's interpreter has the version of the one that runs this."""
    if not python.exists():
        return False
    probe = [str(python), "-c", "import sys; print(*sys.version_info[:3])"]
    result = subprocess.run(probe, capture_output=True, text=True, check=False)
    return result.stdout.split() == [str(part) for part in sys.version_info[:3]]


def browser_found() -> Path | None:
    """The chromium a person named, an earlier set-up found, or the system has."""
    named = os.environ.get("GPUAAS_BROWSER") or (
        BROWSER_FILE.read_text().strip() if BROWSER_FILE.exists() else ""
    )
    for candidate in (named, shutil.which("chromium"), shutil.which("google-chrome")):
        if candidate and Path(candidate).exists():
            return Path(candidate)
    return None


def environment() -> dict[str, str]:
    """The caller's environment without what would bend an install; index, proxy and CA stay."""
    keep = ("INDEX", "FIND_LINKS", "CERT", "PROXY", "TRUSTED", "INSECURE", "CACHE", "TIMEOUT")
    bends = ("PIP_", "UV_", "PYTHON", "VIRTUAL_ENV", "CONDA_")
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(bends) or any(word in name for word in keep)
    }
    own = {"PIP_USER": "0", "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    uv = {"UV_SYSTEM_CERTS": "1", "UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1"}
    node = {"NODE_USE_SYSTEM_CA": "1"}
    return {**node, **env, **own, **uv}


def uv_indexes(pip_config: str) -> dict[str, str]:
    """What `pip config list` says, in uv's variables: uv does not read pip's settings.

    Every file is checked against its locked hash, so taking it from any index is safe.
    """
    env = {"UV_INDEX_STRATEGY": "unsafe-best-match"}
    if any(name.startswith("UV_") and "INDEX" in name for name in os.environ):
        return env
    names = {
        "index-url": "UV_DEFAULT_INDEX",
        "extra-index-url": "UV_INDEX",
        "find-links": "UV_FIND_LINKS",
    }
    for line in pip_config.splitlines():
        key, _, value = line.partition("=")
        name = names.get(key.rpartition(".")[2])
        if name and value.strip("'\""):
            env[name] = value.strip("'\"").replace("\\n", " ")
    return env


def _command(name: str) -> Callable[[], bool]:
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    return lambda: shutil.which(name, path=path) is not None


def _library(name: str) -> Callable[[], bool]:
    def loads() -> bool:
        try:
            ctypes.CDLL(name)
        except OSError:
            return False
        return True

    return loads


def _venv() -> bool:
    probe = [python_base(), "-c", "import ensurepip, venv"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


def _authorities() -> bool:
    stores = (os.environ.get("SSL_CERT_FILE"), "/etc/ssl/certs/ca-certificates.crt")
    return any(store and Path(store).exists() for store in stores)


def _browser() -> bool:
    """Ubuntu's chromium package is only a door to the snap store: apt cannot bring it there."""
    release = Path("/etc/os-release")
    ubuntu = release.exists() and "ubuntu" in release.read_text().lower()
    return ubuntu or browser_found() is not None


def _fonts() -> bool:
    return any(Path("/usr/share/fonts").rglob("*.ttf"))


_NEEDS = {
    "uv": (
        Need(_venv, ("python3-venv",)),
        Need(_authorities, ("ca-certificates",)),
    ),
    "browser": (
        Need(_browser, ("chromium",)),
        Need(_fonts, ("fonts-liberation",)),  # without any a chromium ends at the first page
        Need(_library("libnss3.so"), ("libnss3",)),  # of a chromium that is not apt's
        Need(_library("libatomic.so.1"), ("libatomic1",)),  # of the node inside Playwright
        Need(_command("sshd"), ("openssh-server",)),  # tests log in through a real one
        Need(_command("zsh"), ("zsh",)),  # tests press Tab in real shells
        Need(_command("fish"), ("fish",)),
    ),
    "lab": (
        Need(_command("systemd-nspawn"), ("systemd-container",)),
        Need(_command("mmdebstrap"), ("mmdebstrap",)),
        Need(_command("ip"), ("iproute2",)),
        Need(_command("ssh"), ("openssh-client",)),
    ),
}
