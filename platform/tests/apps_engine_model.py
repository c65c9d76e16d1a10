"""The operation engine as a few lines of model, for the stateful test.

It knows leases, attempts and cancels, and what each answer of the platform must mean for them.
Times are the test clock's. Imports nothing of the platform's rules.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

OPEN = {"requested", "accepted", "running"}
HELD = {"accepted", "running"}


@dataclass
class ModelOperation:
    """What the model believes of one operation."""

    id: str
    purpose: str
    status: str = "requested"
    attempt: int = 1
    max_attempts: int = 3
    fence: int = 0
    token: str = ""
    until: datetime | None = None
    cancel: bool = False
    began: bool = False
    superseded: bool = False
    grants: int = 0

    def held(self, now: datetime) -> bool:
        """Whether somebody holds it at this moment."""
        return self.status in HELD and self.until is not None and self.until > now

    def granted(self, claimed: dict[str, Any], now: datetime) -> None:
        """A claim got it: it was free, and the fence grew by one."""
        assert self.status == "requested", f"{self.id} was given out while {self.status}"
        assert claimed["lease"]["fence"] == self.fence + 1
        assert claimed["operation"]["attempt"] == self.attempt
        self.fence += 1
        self.grants += 1
        self.status, self.token = "accepted", claimed["lease"]["token"]
        self.until = datetime.fromisoformat(claimed["lease"]["until"])
        assert self.until > now

    def lapsed(self) -> None:
        """Its holder fell silent and the platform noticed."""
        if self.superseded:
            self.status = "cancelled"
        elif self.attempt < self.max_attempts:
            self.status, self.attempt = "requested", self.attempt + 1
        else:
            self.status = "failed"
        self.token, self.until = "", None

    def said(self, what: str, body: dict[str, Any]) -> None:
        """The holder said something, and it was accepted."""
        self.began = self.began or what != "release"
        if what == "report":
            self.status = "running"
            return
        self.token, self.until = "", None
        if what == "complete":
            self.status, self.cancel = "succeeded", False
        elif what == "stopped":
            assert self.cancel, "only a cancelled operation is stopped"
            self.status = "cancelled"
        elif what == "release":
            self.status = "cancelled" if self.superseded else "requested"
        elif what == "fail":
            self._failed(body)

    def _failed(self, body: dict[str, Any]) -> None:
        again = body["family"] == "temporary" and self.attempt < self.max_attempts
        if self.superseded:
            self.status = "cancelled"
        elif again and not self.cancel:
            self.status, self.attempt = "requested", self.attempt + 1
        else:
            self.status = "failed"


@dataclass
class Model:
    """All operations of one instance."""

    operations: dict[str, ModelOperation] = field(default_factory=dict)
    deleting: bool = False

    def requested(self, answer: dict[str, Any]) -> None:
        """A request was accepted."""
        assert not self.deleting, "nothing is accepted once a delete was"
        for one in answer["operations"]:
            self.operations[one["id"]] = ModelOperation(
                one["id"], one["purpose"], max_attempts=one["max_attempts"]
            )

    def deleted(self, answer: dict[str, Any]) -> None:
        """A delete was accepted: what waits ends, what runs is asked to stop."""
        for one in self.operations.values():
            if one.status in HELD:
                one.cancel = one.superseded = True
            elif one.status == "requested":
                one.status, one.superseded = "cancelled", True
        self.requested(answer)
        self.deleting = True

    def cancelled(self, operation_id: str) -> None:
        """A cancel was accepted."""
        one = self.operations[operation_id]
        assert one.status in OPEN
        if one.status == "requested" and not one.began:
            one.status = "cancelled"
        one.cancel = True

    def retried(self, operation_id: str) -> None:
        """A retry was accepted."""
        one = self.operations[operation_id]
        assert one.status == "failed"
        one.status, one.cancel, one.attempt = "requested", False, one.attempt + 1
        one.max_attempts = max(one.max_attempts, one.attempt)

    def abandoned(self, operation_id: str) -> None:
        """An abandon was accepted."""
        one = self.operations[operation_id]
        assert one.status in OPEN | {"failed"}
        one.status, one.token, one.until = "abandoned", "", None
        if one.purpose == "delete":
            for other in self.operations.values():
                if other.status in OPEN:
                    other.status, other.token, other.until = "abandoned", "", None
