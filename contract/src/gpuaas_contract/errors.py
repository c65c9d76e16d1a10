"""Stable error codes and the problem document every refused request gets (RFC 9457).

The code is the contract; the sentence may improve. A code's status, whether a repeat can help and
the usual next actions stand here once. Raised by the platform, read by the SDK. Pure.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

MEDIA_TYPE: Final = "application/problem+json"


class ErrorCode(StrEnum):
    """Every code the platform answers with."""

    INVALID_REQUEST = "invalid_request"
    INVALID_CURSOR = "invalid_cursor"
    INVALID_MANIFEST = "invalid_manifest"
    INVALID_INPUT = "invalid_input"
    UNAUTHENTICATED = "unauthenticated"
    TOKEN_EXPIRED = "token_expired"
    SIGN_IN_FAILED = "sign_in_failed"
    SECOND_FACTOR_NEEDED = "second_factor_needed"
    SECOND_FACTOR_MISSING = "second_factor_missing"
    CSRF_FAILED = "csrf_failed"
    PERMISSION_DENIED = "permission_denied"
    POLICY_DENIED = "policy_denied"
    REASON_REQUIRED = "reason_required"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    CONFLICT = "conflict"
    NAME_TAKEN = "name_taken"
    STATE_CONFLICT = "state_conflict"
    OPERATION_IN_PROGRESS = "operation_in_progress"
    IDEMPOTENCY_CONFLICT = "idempotency_conflict"
    LEASE_LOST = "lease_lost"
    OBSERVATION_OVERTAKEN = "observation_overtaken"
    IN_USE = "in_use"
    ARTIFACT_UNTRUSTED = "artifact_untrusted"
    PRECONDITION_FAILED = "precondition_failed"
    REQUEST_TIMEOUT = "request_timeout"
    REQUEST_TOO_LARGE = "request_too_large"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    RATE_LIMITED = "rate_limited"
    QUOTA_EXCEEDED = "quota_exceeded"
    NO_CAPACITY = "no_capacity"
    INTERNAL = "internal"
    UNAVAILABLE = "unavailable"
    SHUTTING_DOWN = "shutting_down"


@dataclass(frozen=True)
class ErrorKind:
    """What holds for every problem with one code."""

    status: int
    title: str
    retryable: bool = False
    next_actions: tuple[str, ...] = ()


KINDS: Final[dict[ErrorCode, ErrorKind]] = {
    ErrorCode.INVALID_REQUEST: ErrorKind(422, "The request is not valid", False, ("fix_request",)),
    ErrorCode.INVALID_CURSOR: ErrorKind(400, "The cursor is not valid", False, ("restart_list",)),
    ErrorCode.INVALID_MANIFEST: ErrorKind(
        422, "The manifest is not valid", False, ("fix_request",)
    ),
    ErrorCode.INVALID_INPUT: ErrorKind(
        422, "The input does not match the app's schema", False, ("fix_request",)
    ),
    ErrorCode.UNAUTHENTICATED: ErrorKind(401, "Sign in first", False, ("sign_in",)),
    ErrorCode.TOKEN_EXPIRED: ErrorKind(401, "The token has expired", False, ("renew_token",)),
    ErrorCode.SIGN_IN_FAILED: ErrorKind(401, "Sign-in failed", False, ("check_credentials",)),
    ErrorCode.SECOND_FACTOR_NEEDED: ErrorKind(401, "A code is needed too", False, ("give_code",)),
    ErrorCode.SECOND_FACTOR_MISSING: ErrorKind(
        403, "A second factor must be set up first", False, ("set_up_second_factor",)
    ),
    ErrorCode.CSRF_FAILED: ErrorKind(403, "The CSRF token is missing or wrong", False, ("reload",)),
    ErrorCode.PERMISSION_DENIED: ErrorKind(
        403, "Permission is missing", False, ("ask_for_permission",)
    ),
    ErrorCode.POLICY_DENIED: ErrorKind(403, "Policy forbids this", False, ("read_policy",)),
    ErrorCode.REASON_REQUIRED: ErrorKind(422, "A reason is required", False, ("give_reason",)),
    ErrorCode.NOT_FOUND: ErrorKind(404, "There is no such resource", False, ("check_address",)),
    ErrorCode.METHOD_NOT_ALLOWED: ErrorKind(
        405, "The method is not allowed here", False, ("fix_request",)
    ),
    ErrorCode.CONFLICT: ErrorKind(
        409, "The request conflicts with the current state", False, ("read_again",)
    ),
    ErrorCode.NAME_TAKEN: ErrorKind(409, "The name is taken", False, ("choose_other_name",)),
    ErrorCode.STATE_CONFLICT: ErrorKind(
        409, "The resource is in a state that does not allow this", False, ("read_state",)
    ),
    ErrorCode.OPERATION_IN_PROGRESS: ErrorKind(
        409, "Another operation is in progress", True, ("wait_for_operation", "cancel_operation")
    ),
    ErrorCode.IDEMPOTENCY_CONFLICT: ErrorKind(
        409, "The idempotency key was used for another request", False, ("use_new_key",)
    ),
    ErrorCode.LEASE_LOST: ErrorKind(409, "The lease is no longer yours", False, ("stop_work",)),
    ErrorCode.OBSERVATION_OVERTAKEN: ErrorKind(
        409, "An operation has overtaken what was seen", False, ("look_again",)
    ),
    ErrorCode.IN_USE: ErrorKind(409, "The resource is in use", False, ("remove_users_first",)),
    ErrorCode.ARTIFACT_UNTRUSTED: ErrorKind(
        409, "The artifact is not trusted", False, ("sign_artifact", "choose_other_version")
    ),
    ErrorCode.PRECONDITION_FAILED: ErrorKind(
        412, "The resource has changed since it was read", False, ("read_again",)
    ),
    ErrorCode.REQUEST_TIMEOUT: ErrorKind(408, "The request came too slowly", True, ("retry",)),
    ErrorCode.REQUEST_TOO_LARGE: ErrorKind(413, "The request is too large", False, ("send_less",)),
    ErrorCode.UNSUPPORTED_MEDIA_TYPE: ErrorKind(
        415, "The media type is not supported", False, ("fix_request",)
    ),
    ErrorCode.RATE_LIMITED: ErrorKind(429, "Too many requests", True, ("wait",)),
    ErrorCode.QUOTA_EXCEEDED: ErrorKind(409, "The quota is used up", False, ("ask_for_quota",)),
    ErrorCode.NO_CAPACITY: ErrorKind(
        409, "No machine of this kind is free", True, ("wait", "choose_other_kind")
    ),
    ErrorCode.INTERNAL: ErrorKind(
        500, "The platform failed; nothing was changed", True, ("retry", "report_correlation_id")
    ),
    ErrorCode.UNAVAILABLE: ErrorKind(
        503, "A part the platform needs is not available", True, ("retry",)
    ),
    ErrorCode.SHUTTING_DOWN: ErrorKind(503, "The platform is shutting down", True, ("retry",)),
}


class FieldError(BaseModel):
    """One thing wrong with a request: where (a JSON pointer), and what."""

    model_config = ConfigDict(extra="forbid")

    pointer: Annotated[str, Field(description="JSON pointer into the request", examples=["/name"])]
    message: str


class Problem(BaseModel):
    """The body of every error answer."""

    type: str = "about:blank"
    title: str
    status: Annotated[int, Field(ge=400, le=599)]
    detail: str
    code: ErrorCode
    correlation_id: str
    retryable: bool
    errors: list[FieldError] = []
    next_actions: list[str] = []
    context: Annotated[
        dict[str, str], Field(description="Ids that name what stands in the way")
    ] = {}
