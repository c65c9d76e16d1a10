"""What the platform answered, read as the contract's types. Used by the client and by errors."""

from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from gpuaas_contract.common import Page
from gpuaas_contract.errors import ErrorCode, Problem
from gpuaas_sdk.errors import GpuaasError

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


def problem_typed(said: dict[str, Any]) -> Problem:
    """A problem document; a code that is newer than this SDK becomes the nearest it knows."""
    try:
        return Problem.model_validate(said)
    except ValidationError:
        code = ErrorCode.UNAVAILABLE if said["status"] >= 500 else ErrorCode.INVALID_REQUEST
        known = {name: said[name] for name in ("title", "status", "detail", "correlation_id")}
        return Problem(**known, code=code, retryable=said["retryable"])
