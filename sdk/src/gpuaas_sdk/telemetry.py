"""What a controller says about itself: log lines with their correlation, spans, and figures.

Used by the runtime; an app's steps log through `Context.log`. Nothing here opens a connection:
`runtime/telling.py` hands lines and spans to the platform.
"""

import json
import logging
import secrets
import time
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Protocol

PLAIN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}
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
        line |= {name: value for name, value in vars(record).items() if name not in PLAIN}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


@dataclass
class Span:
    """Something that takes a while, below what it is part of. `fields` may grow until it ends."""

    name: str
    parent_id: str | None
    fields: dict[str, str]
    scene: "Scene"
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    seconds: float = 0.0
    failed: bool = False


class Recorder(Protocol):
    """Takes spans that have ended. Must return at once and not raise."""

    def ended(self, span: Span) -> None:
        """One more."""
        ...


@dataclass(frozen=True)
class Scene:
    """What spans of one piece of work are about, and who takes them."""

    instance_id: str
    correlation_id: str
    recorder: Recorder


class NoRecorder:
    """Spans nobody takes."""

    def ended(self, span: Span) -> None:
        """Nothing."""


_CURRENT: ContextVar[Span | None] = ContextVar("span", default=None)


def span_current() -> Span | None:
    """The span this task is in."""
    return _CURRENT.get()


@contextmanager
def span_begin(scene: Scene, name: str, parent_id: str | None, **fields: str) -> Iterator[Span]:
    """A span below something the platform knows by its id; what runs inside is part of it."""
    with _running(Span(name, parent_id, fields, scene)) as span:
        yield span


@contextmanager
def span_inside(name: str, *, least: float = 0.0, **fields: str) -> Iterator[Span | None]:
    """A span below the one this task is in; nothing where there is none.

    One that was shorter than `least` seconds and went well is not told.
    """
    above = _CURRENT.get()
    if above is None:
        yield None
        return
    with _running(Span(name, above.id, fields, above.scene), least) as span:
        yield span


@contextmanager
def _running(span: Span, least: float = 0.0) -> Iterator[Span]:
    before, began = _CURRENT.set(span), time.perf_counter()
    try:
        yield span
    except BaseException as error:
        span.failed = True
        span.fields.setdefault("error", type(error).__name__)
        raise
    finally:
        _CURRENT.reset(before)
        span.seconds = time.perf_counter() - began
        if span.failed or span.seconds >= least:
            span.scene.recorder.ended(span)
