"""Keeps `docs/proven.md`: which distributions a whole run was seen green on, when and of what.

A run writes its own line, and only after it was green, skipped nothing and tested a commit.
"""

from __future__ import annotations

import platform
import re
import subprocess
from datetime import UTC, datetime
from typing import Final

from tools.progress import ROOT

PAGE: Final = ROOT / "docs" / "proven.md"
_HEAD: Final = """# Proven

Each line is the newest complete run of `make test` on that distribution: lint, types, and every
test on real servers and machines, with nothing skipped. The run writes its line itself, when it is
green and the checkout has no changes of its own. Large matrices run one slice of ten per commit;
`make soak` runs them whole.

| distribution | date (UTC) | commit | tests | minutes | slice |
|---|---|---|---|---|---|
"""


def proven_record(*, passed: int, seconds: float, slot: int) -> str | None:
    """Write this run's line; return the distribution, or None where the checkout has changes."""
    commit = _git("rev-parse", "--short", "HEAD")
    if not commit or _git("status", "--porcelain", "--", ".", f":!{PAGE.relative_to(ROOT)}"):
        return None
    name = distribution()
    date = datetime.now(UTC).date().isoformat()
    line = f"| {name} | {date} | {commit} | {passed} | {seconds / 60:.0f} | {slot % 10 + 1} |"
    PAGE.write_text(page_with(PAGE.read_text() if PAGE.exists() else "", name, line))
    return name


def page_with(page: str, name: str, line: str) -> str:
    """The page with a distribution's line replaced, lines in alphabetical order."""
    rows = [row for row in page.splitlines() if re.match(r"\| \w.* \| \d{4}-", row)]
    kept = [row for row in rows if not row.startswith(f"| {name} |")]
    return _HEAD + "".join(f"{row}\n" for row in sorted([*kept, line]))


def distribution() -> str:
    """The host's name and version, such as `Debian 12`."""
    release = platform.freedesktop_os_release()
    name = release.get("NAME", "Linux").removesuffix(" GNU/Linux")
    return f"{name} {release.get('VERSION_ID', '')}".strip()


def _git(*words: str) -> str:
    command = ("git", "-C", str(ROOT), *words)
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
