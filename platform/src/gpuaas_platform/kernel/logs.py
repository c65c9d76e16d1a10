"""Structured logs that share the correlation and trace ids; nothing secret passes.

Configured once by `main.py`. Keys whose names say that they hold a secret are masked whatever
their value, credentials are masked wherever their form tells them, and a failure is told by where
it happened, never with which values. Services simply never log secrets.
"""

import functools
import json
import logging
import sys
import traceback
from collections.abc import MutableMapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, TextIO

import msgspec
import structlog

from gpuaas_platform.kernel.kept import BUFFER, line_keep
from gpuaas_platform.kernel.masking import MASK, error_told, secrets_masked, shapes_masked
from gpuaas_platform.kernel.settings import Settings

_MASKED: Final = ("password", "secret", "token", "authorization", "cookie", "private", "credential")
_REQUEST: Final = "request"
_NO_FIELDS: Final = frozenset(
    {"correlation_id", "trace_id", "span_id", "event", "level", "at", "exc_info", "logger"}
)
_FIELD_LENGTH: Final = 500
_Raised = tuple[type[BaseException], BaseException, TracebackType | None]


_access: Final = structlog.get_logger("gpuaas.access")
_straight = False


def logs_configure(settings: Settings) -> None:
    """Set up structlog and route the standard library's loggers through it."""
    global _straight  # noqa: PLW0603 - one per process, as structlog's own configuration
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    _straight = settings.log_format == "json" and level <= logging.INFO
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
        secrets_mask,
        timeline_keep,
    ]
    ending: list[structlog.typing.Processor] = (
        [_FAILURES, structlog.processors.JSONRenderer(_line)]
        if settings.log_format == "json"
        else [structlog.dev.ConsoleRenderer(exception_formatter=_failure_print)]
    )
    structlog.configure(
        processors=[*shared, *ending],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        cache_logger_on_first_use=True,
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *ending],
    )
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(max(level, logging.WARNING))


def request_log(told: dict[str, Any]) -> None:
    """The line of one request: `correlation_id` and `path`, which callers choose, and what is ours.

    As JSON it is written without the logger's chain, which costs a twentieth of a small mutation.
    """
    if not _straight:
        _access.info(_REQUEST, **told)
        return
    line = told | {
        "correlation_id": shapes_masked(told["correlation_id"]),
        "path": shapes_masked(told["path"]),
        "event": _REQUEST,
        "level": "info",
        "at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    }
    sys.stdout.write(_line(line) + "\n")
    sys.stdout.flush()


def secrets_mask(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Mask the value of every key whose name says that it is secret, and every credential."""
    for key, value in event.items():
        if _says_secret(key):
            event[key] = MASK
        elif isinstance(value, str):
            event[key] = shapes_masked(value)
    return event


def timeline_keep(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Keep a line that carries a correlation id for its timeline, as masked as it is logged.

    The line of a request is not kept: its row is there already.
    """
    correlation_id = event.get("correlation_id")
    if not isinstance(correlation_id, str) or not BUFFER.gathering:
        return event
    title = str(event.get("event", ""))
    if title == _REQUEST:
        return event
    fields = {name: _short(value) for name, value in event.items() if name not in _NO_FIELDS}
    if event.get("exc_info"):
        fields |= _where(event["exc_info"])
    line_keep(str(event.get("level", "info")), correlation_id, _short(title), fields)
    return event


@functools.lru_cache(maxsize=1024)  # names are from code, and every line asks for all of its own
def _says_secret(key: str) -> bool:
    return any(word in key.lower() for word in _MASKED) and not key.endswith("_id")


def _short(value: object) -> str:
    return secrets_masked(value if isinstance(value, str) else repr(value))[:_FIELD_LENGTH]


def _where(exc_info: object) -> dict[str, str]:
    """What failed and where, without values."""
    given = exc_info if isinstance(exc_info, tuple) else sys.exc_info()
    if isinstance(exc_info, BaseException):
        given = (type(exc_info), exc_info, exc_info.__traceback__)
    if given[1] is None:
        return {}
    last = failure_frames(given)[0]
    return {"failure": last["error"][:_FIELD_LENGTH], "where": " < ".join(last["frames"][:-4:-1])}


def _line(event: object, **_: object) -> str:
    try:
        return msgspec.json.encode(event, enc_hook=repr).decode()
    except UnicodeEncodeError:  # half a character, from a path somebody made up
        return json.dumps(event, default=repr)


def failure_frames(exc_info: _Raised) -> list[dict[str, Any]]:
    """An exception and those before it, each with where it happened; no variables, no values."""
    return [
        {
            "error": error_told(error),
            "frames": [
                f"{frame.filename}:{frame.lineno} in {frame.name}"
                for frame in traceback.extract_tb(error.__traceback__)
            ],
        }
        for error in _chain(exc_info[1])
    ]


_FAILURES: Final = structlog.processors.ExceptionRenderer(failure_frames)


def _failure_print(out: TextIO, exc_info: _Raised) -> None:
    for failure in failure_frames(exc_info):
        lines = [failure["error"], *(f"  {place}" for place in failure["frames"])]
        out.write("\n" + "\n".join(lines))


def _chain(error: BaseException) -> list[BaseException]:
    """The exception, then what it came from."""
    found: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in found:
        found.append(current)
        current = current.__cause__ or (
            None if current.__suppress_context__ else current.__context__
        )
    return found
