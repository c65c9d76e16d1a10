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

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuaas_contract.errors import ErrorCode, Problem


class GpuaasError(Exception):
    """Anything that went wrong between an app and the platform."""


class UnreachableError(GpuaasError):
    """The platform did not answer. Unreachable is not gone: nothing is known."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"{url} does not answer: {reason}")
        self.url = url


class ProblemError(GpuaasError):
    """The platform refused or failed, and said why."""

    def __init__(self, problem: "Problem", retry_after: float | None = None) -> None:
        super().__init__(
            f"{problem.code}: {problem.detail} (correlation id {problem.correlation_id})"
        )
        self.problem = problem
        self.retry_after = retry_after

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


def problem_error(problem: "Problem", retry_after: float | None = None) -> ProblemError:
    """The exception for a problem, by family."""
    if problem.retryable:
        return TemporaryError(problem, retry_after)
    if problem.status in {409, 412}:
        return ConflictError(problem)
    return _BY_STATUS.get(problem.status, PermanentError)(problem)
