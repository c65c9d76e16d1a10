"""Versions of apps: semantic versions without build metadata, their order, and patterns over them.

Build metadata is refused because two versions that differ in it alone would be equal in order.
The sort key makes a database's byte-wise order the order of semver.org. Pure.
"""

import re
from typing import Annotated, Final

from pydantic import Field

_NUMBER: Final = r"(?:0|[1-9][0-9]{0,8})"
_WORD: Final = rf"(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
VERSION_PATTERN: Final = rf"^{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-{_WORD}(?:\.{_WORD})*)?$"
_VERSION: Final = re.compile(VERSION_PATTERN)

SemVer = Annotated[
    str,
    Field(
        pattern=VERSION_PATTERN,
        max_length=64,
        description="Semantic version without build metadata",
        examples=["1.2.0", "2.0.0-rc.1"],
    ),
]
VersionPattern = Annotated[
    str,
    Field(
        pattern=r"^[0-9A-Za-z.-]*\*?$",
        min_length=1,
        max_length=64,
        description="One version, or its beginning and `*`",
        examples=["1.2.0", "1.*"],
    ),
]


def version_valid(text: str) -> bool:
    """Whether this is a version an app may have."""
    return len(text) <= 64 and _VERSION.fullmatch(text) is not None


def version_sort_key(version: str) -> str:
    """A text whose byte-wise order is the precedence of versions.

    Numbers are padded. A release ends in `~`, which sorts after the `-` of a pre-release. In a
    pre-release a number (`0…`) sorts before a word (`1…`), and the space between identifiers
    sorts before every character inside one, so that a shorter list comes first.
    """
    core, _, pre = version.partition("-")
    numbers = ".".join(f"{int(number):09d}" for number in core.split("."))
    if not pre:
        return f"{numbers}~"
    words = [f"0{int(w):09d}" if w.isdigit() else f"1{w}" for w in pre.split(".")]
    return f"{numbers}-{' '.join(words)}"
