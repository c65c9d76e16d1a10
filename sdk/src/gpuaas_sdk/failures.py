"""What a step raises when it cannot do its work, by family.

StepFailure
├── TemporaryFailure    the same step may succeed later (`delay`): the platform tries again
├── PermanentFailure    it will never succeed as things are: somebody must change something
└── ConflictFailure     what is there is not what was expected: look again, decide anew

Raised by apps, read by the runtime, which tells the platform. A code is stable and for programs;
the message is one sentence for people that says what to do.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from gpuaas_contract.apps import ErrorFamily


class StepFailure(Exception):
    """A step could not do its work. Raise one of its families, not this one.

    `usable` says whether the instance can still be used as it is now.
    """

    family: ClassVar[ErrorFamily]

    def __init__(
        self,
        code: str,
        message: str,
        *,
        usable: bool = True,
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.usable = usable
        self.detail = dict(detail or {})


class TemporaryFailure(StepFailure):
    """The same step may succeed later: after `delay` seconds, or when the manifest says."""

    family = ErrorFamily.TEMPORARY

    def __init__(
        self,
        code: str,
        message: str,
        *,
        delay: float | None = None,
        usable: bool = True,
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(code, message, usable=usable, detail=detail)
        self.delay = delay


class PermanentFailure(StepFailure):
    """The step will never succeed as things are."""

    family = ErrorFamily.PERMANENT


class ConflictFailure(StepFailure):
    """What is there is not what this operation may change."""

    family = ErrorFamily.CONFLICT


class StopRequested(Exception):
    """A cancel was asked for and this is a safe point. Raised by `Context.safe_point()`."""


def failure_in(error: BaseException) -> StepFailure | StopRequested | None:
    """What a step meant by an error: itself, or the gravest of a group raised by parallel work."""
    if isinstance(error, StepFailure | StopRequested):
        return error
    if not isinstance(error, BaseExceptionGroup):
        return None
    found = [failure_in(one) for one in error.exceptions]
    if None in found:
        return None  # beside a failure there is a bug: the whole group is told
    return min((one for one in found if one is not None), key=_gravity)


def _gravity(failure: StepFailure | StopRequested) -> int:
    order = (ConflictFailure, PermanentFailure, TemporaryFailure)
    return next((n for n, kind in enumerate(order) if isinstance(failure, kind)), len(order))
