"""What a controller says about itself: log lines with their correlation, and a hook for figures.

Used by the runtime; an app's steps log through `Context.log`. Nothing here opens a connection.
"""

import json
import logging
from collections.abc import Mapping, MutableMapping
from datetime import UTC, datetime
from typing import Any, Final, Protocol

_PLAIN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}
Labels = Mapping[str, str]


class Metrics(Protocol):
    """Takes the controller's figures. Must return at once and not raise."""

    def count(self, name: str, labels: Labels) -> None:
        """One more of something."""
        ...

    def timing(self, name: str, seconds: float, labels: Labels) -> None:
        """How long something took."""
        ...


class NoMetrics:
    """Figures nobody reads."""

    def count(self, name: str, labels: Labels) -> None:
        """Nothing."""

    def timing(self, name: str, seconds: float, labels: Labels) -> None:
        """Nothing."""


class Log(logging.LoggerAdapter[logging.Logger]):
    """A logger whose every line carries the ids of the work it is about."""

    def process(
        self,
        msg: object,
        kwargs: MutableMapping[str, Any],
    ) -> tuple[object, MutableMapping[str, Any]]:
        """Add the ids beside what the caller gave."""
        kwargs["extra"] = {**(self.extra or {}), **(kwargs.get("extra") or {})}
        return msg, kwargs

    def bind(self, **more: object) -> "Log":
        """The same logger with more ids."""
        return Log(self.logger, {**(self.extra or {}), **more})


class JsonLines(logging.Formatter):
    """One JSON object per line: time, level, message, and every id the line carries."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name, value in vars(record).items() if name not in _PLAIN}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)
