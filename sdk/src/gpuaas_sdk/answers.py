"""What the platform answered, read as the contract's types. Called by the clients alone."""

from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from gpuaas_contract.common import CORRELATION_HEADER, Page
from gpuaas_contract.errors import ErrorCode, Problem
from gpuaas_sdk.calls import Answered
from gpuaas_sdk.errors import GpuaasError, ProblemError, problem_error

T = TypeVar("T")


def answer_read(content: bytes, answer: type[T], asked: str) -> T:
    """An answer as a type; `asked` is the call, for the error that it was something else."""
    try:
        return TypeAdapter(answer).validate_json(content)
    except ValidationError as error:
        raise GpuaasError(
            f"{asked} answered something that is not"
            f" {getattr(answer, '__name__', answer)}: {error.error_count()} differences;"
            " this SDK may be older than the platform"
        ) from error


def page_read(content: bytes, item: type[T]) -> Page[T]:
    """One page of a list."""
    adapter: TypeAdapter[Page[T]] = TypeAdapter(Page[item])  # type: ignore[valid-type]  # built at run time
    return adapter.validate_json(content)


def problem_read(response: Answered) -> ProblemError:
    """The platform's problem, or one made up for an answer that something between us gave."""
    asked = response.headers.get("retry-after", "")
    retry_after = float(asked) if asked.isdigit() else None
    try:
        problem = Problem.model_validate_json(response.content)
    except ValidationError:
        unavailable = response.status_code >= 500
        problem = Problem(
            title=response.reason_phrase or "Error",
            status=response.status_code,
            detail=f"The answer {response.status_code} did not come from the platform itself.",
            code=ErrorCode.UNAVAILABLE if unavailable else ErrorCode.INVALID_REQUEST,
            correlation_id=response.headers.get(CORRELATION_HEADER.lower(), "unknown"),
            retryable=unavailable,
        )
    return problem_error(problem, retry_after)
