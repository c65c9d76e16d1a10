"""Slurm's own version numbers, as the daemons report them.

Renderers and command parsers ask it what a release can do; nothing else compares versions.
"""

import re
from dataclasses import dataclass

PATTERN = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")


@dataclass(frozen=True, order=True)
class SlurmVersion:
    """A release such as 24.11.5; ordered, so that ``version >= V24_11`` reads as it should."""

    year: int
    month: int
    patch: int = 0

    @classmethod
    def parse(cls, text: str) -> "SlurmVersion":
        """Read a version out of what a daemon or a package says: ``slurm-wlm 22.05.8``."""
        found = PATTERN.search(text)
        if found is None:
            raise ValueError(f"no Slurm version in {text!r}")
        return cls(int(found[1]), int(found[2]), int(found[3] or 0))

    def __str__(self) -> str:
        return f"{self.year}.{self.month:02}.{self.patch}"


V22_05 = SlurmVersion(22, 5)
V23_02 = SlurmVersion(23, 2)
V23_11 = SlurmVersion(23, 11)
V24_05 = SlurmVersion(24, 5)
V24_11 = SlurmVersion(24, 11)

OLDEST = V22_05
"""Nodes can come and go without a restart since this release (docs/decisions/0020)."""
