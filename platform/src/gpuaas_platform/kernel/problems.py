"""The error tree of the platform. Rules raise these; the HTTP layer turns them into problems.

PlatformError            anything with a stable code
├── Denied               the caller may not (audited when it was a mutation)
└── Unavailable          something the platform needs does not answer
"""

from collections.abc import Mapping, Sequence
from typing import Final

from gpuaas_contract.errors import KINDS, ErrorCode, ErrorKind, FieldError

# One sentence for what is hidden and for what never was: whether an id exists is not told.
_NO_SUCH: Final = "There is no such resource in your reach."


class PlatformError(Exception):
    """A refusal or failure with a stable code and one sentence for people."""

    def __init__(
        self,
        code: ErrorCode,
        detail: str,
        *,
        errors: Sequence[FieldError] = (),
        context: Mapping[str, str] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
        self.errors = list(errors)
        self.context = dict(context or {})
        self.retry_after = retry_after

    @property
    def kind(self) -> ErrorKind:
        """What holds for every problem with this code."""
        return KINDS[self.code]


class Denied(PlatformError):
    """The caller's permissions do not reach this. A hidden thing reads as not found."""

    def __init__(self, permission: str, *, hidden: bool) -> None:
        if hidden:
            super().__init__(ErrorCode.NOT_FOUND, _NO_SUCH)
        else:
            super().__init__(
                ErrorCode.PERMISSION_DENIED,
                f"This needs the permission {permission} here.",
                context={"permission": permission},
            )
        self.permission = permission


class Unavailable(PlatformError):
    """A part the platform needs does not answer; nothing was changed."""

    def __init__(self, what: str, *, retry_after: float = 1.0) -> None:
        super().__init__(
            ErrorCode.UNAVAILABLE, f"{what} does not answer; try again.", retry_after=retry_after
        )


def not_found(what: str, identity: str) -> PlatformError:
    """The answer for a thing that is not there; reads as `Denied` does for one that is hidden."""
    error = PlatformError(ErrorCode.NOT_FOUND, _NO_SUCH)
    error.add_note(f"{what} {identity}")
    return error


def invalid(pointer: str, message: str) -> PlatformError:
    """The answer for one field that is wrong."""
    return PlatformError(
        ErrorCode.INVALID_REQUEST,
        f"{pointer}: {message}",
        errors=[FieldError(pointer=pointer, message=message)],
    )
