"""The one pattern language of policies and entitlements: a text, or its beginning and `*`.

Why no more than that: a person sees at once what a pattern takes in; matching cannot be made slow;
and of any two patterns one contains the other or they have nothing in common, so the meet of two
allow lists is again such a list. That is what makes the effective policy printable and lets the
platform say, when a rule is written, whether it can ever matter. Pure.
"""

from collections.abc import Iterable
from typing import Annotated, Final

from pydantic import Field

ANY: Final = "*"

Pattern = Annotated[
    str,
    Field(
        min_length=1,
        max_length=300,
        pattern=r"^[^*\s\x00-\x1f]*\*?$",
        description="An exact value, or its beginning followed by `*`",
        examples=["eu-north-1", "eu-*"],
    ),
]


def pattern_matches(pattern: str, value: str) -> bool:
    """Whether a value is taken in by a pattern."""
    if pattern.endswith("*"):
        return value.startswith(pattern[:-1])
    return value == pattern


def pattern_covers(wide: str, narrow: str) -> bool:
    """Whether every value `narrow` takes in is taken in by `wide` too."""
    if narrow.endswith("*"):
        return wide.endswith("*") and narrow[:-1].startswith(wide[:-1])
    return pattern_matches(wide, narrow)


def pattern_meet(left: str, right: str) -> str | None:
    """The pattern of what both take in, or None where that is nothing."""
    if pattern_covers(left, right):
        return right
    return left if pattern_covers(right, left) else None


def patterns_meet(left: Iterable[str], right: Iterable[str]) -> tuple[str, ...]:
    """The list of what both lists take in, without what another of its patterns covers."""
    others = list(right)
    met = {meet for one in left for other in others if (meet := pattern_meet(one, other))}
    return patterns_reduced(met)


def patterns_reduced(patterns: Iterable[str]) -> tuple[str, ...]:
    """The same values with no pattern that another one covers; sorted."""
    unique = set(patterns)
    return tuple(
        sorted(
            one
            for one in unique
            if not any(other != one and pattern_covers(other, one) for other in unique)
        )
    )


def first_match(patterns: Iterable[str], value: str) -> str | None:
    """The narrowest pattern that takes the value in, or None."""
    found = [pattern for pattern in patterns if pattern_matches(pattern, value)]
    return max(found, key=lambda pattern: (len(pattern), not pattern.endswith("*")), default=None)
