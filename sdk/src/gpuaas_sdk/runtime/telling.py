"""Hands the controller's log lines and spans to the platform, for the timelines of their ids.

What is told is what the controller logs about an instance, and how long its steps and their scripts
took. Best effort: nothing waits for it, it is sent about once a second, and what has no room while
the platform is away is counted and said. Made and run by `controller.py`.
"""

import asyncio
import contextlib
import logging
import secrets
from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from pydantic import ValidationError

from gpuaas_contract.telemetry import (
    BATCH_MAX,
    FIELD_VALUE_MAX,
    FIELDS_MAX,
    LINE_MAX,
    LogLevel,
    SpanOutcome,
    TelemetryDropped,
    TelemetryLine,
    TelemetrySend,
    TelemetrySpan,
)
from gpuaas_sdk.errors import GpuaasError, ProblemError, TemporaryError
from gpuaas_sdk.runtime.calls import Calls
from gpuaas_sdk.telemetry import PLAIN, Span, span_current

_log = logging.getLogger(__name__)
_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 30.0
_MOST: Final = 2_000
_BATCH: Final = 100
_SEND_SECONDS: Final = 10.0
_LAST_SECONDS: Final = 3.0
# Ids the platform knows by itself, or that say which line it is.
_NO_FIELDS: Final = PLAIN | {"app", "replica", "correlation_id", "instance_id"}
_LEVELS: Final = (
    (logging.ERROR, LogLevel.ERROR),
    (logging.WARNING, LogLevel.WARNING),
    (logging.INFO, LogLevel.INFO),
)

_About = tuple[str, str]


class Telling:
    """What one controller tells. Lines come by `handler`, spans by `ended`."""

    def __init__(self, calls: Calls, replica: str) -> None:
        self.handler: logging.Handler = _Handler(self, replica)
        self._calls = calls
        self._replica = replica
        self._told: deque[TelemetryLine | TelemetrySpan] = deque()
        self._lost: dict[_About, int] = {}
        self._unsent: TelemetrySend | None = None

    def line(self, record: logging.LogRecord) -> None:
        """A line that is about an instance under a correlation id; others stay here."""
        known = vars(record)
        current = span_current()
        with contextlib.suppress(ValidationError):  # an id of the app's own making is no id of ours
            self._add(
                TelemetryLine(
                    app_instance_id=str(known["instance_id"]),
                    correlation_id=str(known["correlation_id"]),
                    at=datetime.fromtimestamp(record.created, UTC),
                    level=_level(record.levelno),
                    message=_message(record),
                    span_id=None if current is None else current.id,
                    fields=_fields(known),
                )
            )

    def ended(self, span: Span) -> None:
        """A span that has ended."""
        with contextlib.suppress(ValidationError):
            self._add(
                TelemetrySpan(
                    app_instance_id=span.scene.instance_id,
                    correlation_id=span.scene.correlation_id,
                    at=span.began,
                    id=span.id,
                    parent_id=span.parent_id,
                    name=span.name[:200],
                    seconds=span.seconds,
                    outcome=SpanOutcome.ERROR if span.failed else SpanOutcome.OK,
                    fields={name: str(one)[:FIELD_VALUE_MAX] for name, one in span.fields.items()},
                )
            )

    async def run(self) -> None:
        """Send what there is, for ever; less often while that does not work."""
        pause = _PAUSE
        while True:
            await asyncio.sleep(pause)
            sent = await self.send()
            pause = _PAUSE if sent else min(_LONGEST_PAUSE, 2 * pause)

    async def rest(self) -> None:
        """Send what is left, if that is soon done: the controller ends."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_SECONDS):
                while (self._told or self._lost or self._unsent) and await self.send():
                    pass

    async def send(self) -> bool:
        """One batch; whether it need not be sent again."""
        if self._unsent is None:
            self._unsent = self._batch()
        if self._unsent is None:
            return True
        # The platform compares clocks by it, so it is that of this attempt.
        self._unsent = self._unsent.model_copy(update={"sent_at": datetime.now(UTC)})
        try:
            async with asyncio.timeout(_SEND_SECONDS):
                await self._calls.tell(self._unsent)
        except ProblemError as error:
            if isinstance(error, TemporaryError):
                return False
            _log.debug("lines and spans were refused: %s", error)  # once more would be no other
        except (GpuaasError, TimeoutError):
            return False
        except Exception:  # noqa: BLE001 - whatever it is, the controller's work goes on
            _log.debug("lines and spans could not be told", exc_info=True)
        self._unsent = None
        return True

    def _add(self, one: TelemetryLine | TelemetrySpan) -> None:
        self._told.append(one)
        while len(self._told) > _MOST:
            oldest = self._told.popleft()
            self._lose((oldest.app_instance_id, oldest.correlation_id))

    def _lose(self, about: _About) -> None:
        if about in self._lost or len(self._lost) < BATCH_MAX:
            self._lost[about] = self._lost.get(about, 0) + 1

    def _batch(self) -> TelemetrySend | None:
        """The next, the same however often it is sent."""
        if not self._told and not self._lost:
            return None
        now = datetime.now(UTC)
        told = [self._told.popleft() for _ in range(min(_BATCH, len(self._told)))]
        lost = [
            TelemetryDropped(app_instance_id=one, correlation_id=id_, at=now, count=count)
            for (one, id_), count in self._lost.items()
        ]
        self._lost = {}
        return TelemetrySend(
            batch=secrets.token_hex(12),
            replica=self._replica,
            sent_at=now,
            lines=[one for one in told if isinstance(one, TelemetryLine)],
            spans=[one for one in told if isinstance(one, TelemetrySpan)],
            dropped=lost,
        )


class _Handler(logging.Handler):
    """Takes the lines of one controller that are about an instance."""

    def __init__(self, telling: Telling, replica: str) -> None:
        super().__init__()
        self._telling = telling
        self._replica = replica

    def emit(self, record: logging.LogRecord) -> None:
        """One line; whatever is odd about it, the step goes on."""
        known = vars(record)
        mine = known.get("replica") == self._replica
        if mine and known.get("instance_id") and known.get("correlation_id"):
            try:
                self._telling.line(record)
            except Exception:  # noqa: BLE001 - as the standard library's own handlers do
                self.handleError(record)


def _level(number: int) -> LogLevel:
    return next((level for least, level in _LEVELS if number >= least), LogLevel.DEBUG)


def _message(record: logging.LogRecord) -> str:
    text = record.getMessage()
    if record.exc_info:
        text += "\n" + logging.Formatter().formatException(record.exc_info)
    if len(text) <= LINE_MAX:
        return text
    half = LINE_MAX // 2 - 2  # what it is stands at its beginning, why at its end
    return f"{text[:half]} … {text[-half:]}"


def _fields(known: Mapping[str, Any]) -> dict[str, str]:
    extra = [(name, one) for name, one in known.items() if name not in _NO_FIELDS]
    return {name[:64]: str(one)[:FIELD_VALUE_MAX] for name, one in extra[:FIELDS_MAX]}
