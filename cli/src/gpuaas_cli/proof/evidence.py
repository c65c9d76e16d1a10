"""What a proof leaves behind: checks, each with the calls it rests on. Data only."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

LONGEST = 4000


class Result(StrEnum):
    """How a check ended. Only `passed` is good."""

    PASSED = "passed"
    FAILED = "failed"
    UNVERIFIED = "unverified"
    """It could not be made, and why is said: nothing is assumed."""
    UNREACHED = "unreached"
    """Something it needs did not pass."""


@dataclass(frozen=True)
class Evidence:
    """One call: what was asked, what came back, and the id it is found by later."""

    request: str
    answer: str
    correlation_id: str
    who: str = "person"


@dataclass(frozen=True)
class Check:
    """One statement, judged."""

    id: str
    area: str
    title: str
    result: Result
    detail: str
    evidence: tuple[Evidence, ...] = ()
    seconds: float = 0.0
    gap_id: str | None = None


@dataclass
class Report:
    """A whole proof."""

    kind: str
    app: str
    version: str
    platform: str
    project_id: str
    began_at: datetime
    checks: list[Check] = field(default_factory=list)
    ended_at: datetime | None = None
    left_behind: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Everything was seen to hold, and nothing was left."""
        return bool(self.checks) and not self.left_behind and not self.not_passed

    @property
    def not_passed(self) -> list[Check]:
        """The checks that did not pass."""
        return [one for one in self.checks if one.result is not Result.PASSED]

    def counts(self) -> Mapping[str, int]:
        """How many checks ended how."""
        return {one.value: sum(c.result is one for c in self.checks) for one in Result}

    def as_json(self) -> dict[str, Any]:
        """The report as plain data."""
        raw = asdict(self)
        raw["began_at"] = self.began_at.isoformat()
        raw["ended_at"] = self.ended_at.isoformat() if self.ended_at else None
        return raw | {"passed": self.passed, "counts": dict(self.counts())}


class Failed(Exception):
    """A check saw that its statement does not hold; the sentence says what it saw."""


class Unverified(Exception):
    """A check could not be made; the sentence says why and what would let it."""
