"""The commands of a page of the docs, run as they stand: blocks marked `sh`, in one shell."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SECTION = re.compile(r"^## ", re.MULTILINE)
_SHELL = "set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\nset -v\n"


@dataclass(frozen=True)
class Typist:
    """Whoever types the commands: where, and with which environment."""

    folder: Path
    environment: dict[str, str]

    def run(self, name: str, commands: str, **variables: str) -> str:
        """Run commands in a shell that stops at the first failure; what was said."""
        assert commands, f"{name} has no commands"
        done = subprocess.run(
            ["bash", "-c", _SHELL + commands],
            cwd=self.folder,
            env=self.environment | variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=400,
        )
        assert done.returncode == 0, f"{name}\n{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
        return done.stdout


def page_blocks(text: str, language: str = "sh") -> list[str]:
    """What the blocks of one language say."""
    return [block for marked, block in _BLOCK.findall(text) if marked == language]


def page_sections(text: str) -> dict[str, str]:
    """The parts of a page by their headings."""
    parts = (part.partition("\n") for part in _SECTION.split(text)[1:])
    return {heading: body for heading, _, body in parts}
