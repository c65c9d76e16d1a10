"""Writes the locks in requirements/: every file by hash, no host named; called by `make lock`.

Pins already there are kept, so a second run changes nothing; `--upgrade` moves them. The
production locks hold a package's runtime dependencies at the versions the tests ran with.
It must not look at extra indexes of the host: a lock made anywhere is the same lock.
"""

from __future__ import annotations

import sys

from tools import host
from tools.progress import Failure, Stage
from tools.setup import PACKAGES, UV

PRODUCTION = ("platform", "cli", "apps/slurm")


def main(arguments: list[str]) -> int:
    """Write all locks; the exit status is 0 when each could be resolved."""
    stage = Stage("lock", prefix="tools")
    projects = [f"{package}/pyproject.toml" for package in PACKAGES]
    try:
        _compile(stage, "dev.txt", "requirements/dev.in", *projects, *arguments)
        # What is measured beside us shares no environment with us, and so no versions.
        _compile(stage, "bench-peers.txt", "requirements/bench-peers.in", *arguments)
        tested = ("--constraints", "requirements/dev.txt")
        _compile(stage, "uv.txt", "requirements/uv.in", *tested)
        for package in PRODUCTION:
            name = package.rpartition("/")[2]
            _compile(stage, f"{name}.txt", f"{package}/pyproject.toml", *tested)
    except Failure as failure:
        print(f"  {failure}", file=sys.stderr)
        return 1
    stage.done("requirements/*.txt written")
    return 0


def _compile(stage: Stage, output: str, *inputs: str) -> None:
    ours = [word for name in _distributions() for word in ("--no-emit-package", name)]
    options = (
        *("--quiet", "--universal", "--python-version", "3.11", "--generate-hashes"),
        *("--no-emit-index-url", "--no-emit-find-links", "--no-annotate", "--no-header"),
    )
    target = ("--output-file", f"requirements/{output}")
    env = host.environment()
    stage.run(UV, "pip", "compile", *options, *ours, *target, *inputs, env=env)


def _distributions() -> list[str]:
    return ["gpuaas-" + package.rpartition("/")[2] for package in PACKAGES]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
