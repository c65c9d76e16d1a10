"""Every refusal becomes one problem document (RFC 9457) with the correlation id in it."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import asyncpg
import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from gpuaas_contract.errors import MEDIA_TYPE, ErrorCode, FieldError, Problem
from gpuaas_platform.kernel.call import NOBODY, Call
from gpuaas_platform.kernel.masking import shapes_masked
from gpuaas_platform.kernel.problems import PlatformError, Unavailable
from gpuaas_platform.kernel.work import refusal_record

_log = structlog.get_logger(__name__)

_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_BY_STATUS = {
    401: ErrorCode.UNAUTHENTICATED,
    404: ErrorCode.NOT_FOUND,
    405: ErrorCode.METHOD_NOT_ALLOWED,
    413: ErrorCode.REQUEST_TOO_LARGE,
    415: ErrorCode.UNSUPPORTED_MEDIA_TYPE,
}


def problem_of(error: PlatformError, correlation_id: str) -> Problem:
    """The document for an error."""
    return Problem(
        title=error.kind.title,
        status=error.kind.status,
        detail=shapes_masked(error.detail),
        code=error.code,
        correlation_id=correlation_id,
        retryable=error.kind.retryable,
        errors=error.errors,
        next_actions=list(error.kind.next_actions),
        context=error.context,
    )


def problem_response(error: PlatformError, correlation_id: str) -> Response:
    """The answer for an error."""
    problem = problem_of(error, correlation_id)
    headers: dict[str, str] = {}
    if error.retry_after is not None:
        headers["Retry-After"] = str(max(1, round(error.retry_after)))
    if error.kind.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(problem.model_dump_json(), error.kind.status, headers, MEDIA_TYPE)


def errors_install(app: FastAPI) -> None:
    """Register the handlers: each turns one family of exceptions into a `PlatformError`.

    What none of them knows is the edge's to answer and log.
    """
    translations: dict[type[Exception], Callable[[Any], PlatformError]] = {
        PlatformError: lambda error: error,
        RequestValidationError: _from_validation,
        HTTPException: _from_http,
        asyncpg.DataError: _from_data,
        UnicodeEncodeError: _from_data,
        asyncpg.DeadlockDetectedError: _from_contention,
        asyncpg.SerializationError: _from_contention,
    }
    for kind, translate in translations.items():
        app.add_exception_handler(kind, _handler(translate))


def _handler(
    translate: Callable[[Any], PlatformError],
) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def handle(request: Request, error: Exception) -> Response:
        told = translate(error)
        if isinstance(error, RequestValidationError):
            await _invalid_record(request, told)
        return problem_response(told, request.state.correlation_id)

    return handle


async def _invalid_record(request: Request, error: PlatformError) -> None:
    """Leave a trace of a mutation that was not even begun, for whoever follows its correlation.

    Only of a caller who is known: nobody else may make us write.
    """
    call: Call | None = getattr(request.state, "call", None)
    if call is not None and call.method not in _READS and call.caller is not NOBODY:
        with suppress(Unavailable):  # the answer does not depend on it
            await refusal_record(call, "", error)


def _from_validation(error: RequestValidationError) -> PlatformError:
    fields = [
        FieldError(pointer=_pointer(item["loc"]), message=item["msg"]) for item in error.errors()
    ]
    detail = "; ".join(f"{field.pointer}: {field.message}" for field in fields[:3])
    return PlatformError(ErrorCode.INVALID_REQUEST, detail or "not valid", errors=fields)


def _pointer(location: tuple[int | str, ...]) -> str:
    """A JSON pointer into the body; other parts of the request are named first."""
    parts = location[1:] if location and location[0] == "body" else location
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts) or "/"


def _from_http(error: HTTPException) -> PlatformError:
    if isinstance(error.__cause__, PlatformError):
        return error.__cause__  # raised while the framework read the body
    code = _BY_STATUS.get(error.status_code, ErrorCode.INVALID_REQUEST)
    return PlatformError(code, str(error.detail))


def _from_data(error: Exception) -> PlatformError:
    """The database refused a value no schema forbids, such as a NUL character in a text."""
    _log.info("value_refused_by_database", error=type(error).__name__)  # its text has the value
    return PlatformError(
        ErrorCode.INVALID_REQUEST, "A value holds characters or numbers that cannot be stored."
    )


def _from_contention(error: Exception) -> PlatformError:
    _log.warning("transaction_contended", error=type(error).__name__)
    return Unavailable("The database")
