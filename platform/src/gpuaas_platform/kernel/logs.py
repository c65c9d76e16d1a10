"""Structured logs that share the correlation and trace ids; nothing secret passes.

Configured once by `main.py`. Keys whose names say that they hold a secret are masked whatever
their value; services simply never log secrets.
"""

import logging
from collections.abc import MutableMapping
from typing import Any, Final

import structlog

from gpuaas_platform.kernel.settings import Settings

_MASKED: Final = ("password", "secret", "token", "authorization", "cookie", "private", "credential")

# Where it failed, never with which values: local variables may hold secrets.
_TRACEBACKS: Final = structlog.processors.ExceptionRenderer(
    structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
)


def logs_configure(settings: Settings) -> None:
    """Set up structlog and route the standard library's loggers through it."""
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
        secrets_mask,
    ]
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if settings.log_format == "json"
        else structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    )
    structlog.configure(
        processors=[*shared, _TRACEBACKS, renderer]
        if settings.log_format == "json"
        else [*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        cache_logger_on_first_use=True,
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
    )
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(max(level, logging.WARNING))


def secrets_mask(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Mask the value of every key whose name says that it is secret."""
    for key in event:
        if any(word in key.lower() for word in _MASKED) and not key.endswith("_id"):
            event[key] = "[masked]"
    return event
