"""Writes the part of docs/settings.md that the code already says; called by `make docs`.

A test calls `rendered` and fails when the page is behind the code.
"""

from __future__ import annotations

import sys
from pathlib import Path

from gpuaas_platform.kernel.settings import Settings

PAGE = Path(__file__).resolve().parent.parent / "docs" / "settings.md"
BEGIN = "<!-- from gpuaas_platform.kernel.settings: make docs -->"
END = "<!-- end -->"


def main() -> int:
    """Bring the page up to date."""
    PAGE.write_text(rendered(PAGE.read_text()))
    return 0


def rendered(page: str) -> str:
    """The page with the platform's settings as they are in the code."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    rows = ["", "| variable | default | meaning |", "|---|---|---|", *_rows(), ""]
    return before + BEGIN + "\n".join(rows) + END + after


def _rows() -> list[str]:
    prefix = Settings.model_config.get("env_prefix", "")
    return [
        f"| `{prefix}{name.upper()}` | {_default(name)} | {field.description} |"
        for name, field in Settings.model_fields.items()
    ]


def _default(name: str) -> str:
    field = Settings.model_fields[name]
    if field.default_factory is not None:
        return "`/var/lib/gpuaas`, or `~/.local/share/gpuaas` when not root"
    return "none" if field.default is None else f"`{field.default}`"


if __name__ == "__main__":
    sys.exit(main())
