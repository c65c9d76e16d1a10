"""The error tree of the SDK.

GpuaasError
├── UnreachableError       the platform did not answer: nothing is known about what happened
└── ProblemError           the platform answered with a problem document
    ├── TemporaryError     the same call may succeed later (`retry_after`)
    ├── ConflictError      the state does not allow it: read again, decide anew
    └── PermanentError     the same call will never succeed
        ├── NotFoundError
        ├── AuthenticationError
        └── PermissionDeniedError
"""

from functools import cached_property
from typing import TYPE_CHECKING, Any

from gpuaas_sdk import later

if TYPE_CHECKING:
    from gpuaas_contract.errors import ErrorCode, Problem


class GpuaasError(Exception):
    """Anything that went wrong between an app and the platform."""


class UnreachableError(GpuaasError):
    """The platform did not answer. Unreachable is not gone: nothing is known."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"{url} does not answer: {reason}")
        self.url = url
        self.correlation_id: str | None = None  # of the call; it may have arrived nevertheless


class ProblemError(GpuaasError):
    """The platform refused or failed, and said why: `said` is its problem document as it came."""

    def __init__(self, said: dict[str, Any], retry_after: float | None = None) -> None:
        super().__init__(
            f"{said['code']}: {said['detail']} (correlation id {said['correlation_id']})"
        )
        self.said = said
        self.retry_after = retry_after

    @cached_property
    def problem(self) -> "Problem":
        """The problem document as the contract's type, which is loaded only when it is wanted."""
        return later.answers.problem_typed(self.said)

    @property
    def code(self) -> "ErrorCode":
        """The stable code."""
        return self.problem.code


class TemporaryError(ProblemError):
    """The same call may succeed later."""


class ConflictError(ProblemError):
    """The present state does not allow it."""


class PermanentError(ProblemError):
    """The same call will never succeed."""


class NotFoundError(PermanentError):
    """There is no such thing, or not for this caller."""


class AuthenticationError(PermanentError):
    """The caller is not known, or no longer."""


class PermissionDeniedError(PermanentError):
    """The caller may not do this here."""


_BY_STATUS: dict[int, type[PermanentError]] = {
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
}


def problem_error(said: dict[str, Any], retry_after: float | None = None) -> ProblemError:
    """The exception for a problem document, by family."""
    if said["retryable"]:
        return TemporaryError(said, retry_after)
    if said["status"] in {409, 412}:
        return ConflictError(said)
    return _BY_STATUS.get(said["status"], PermanentError)(said)
