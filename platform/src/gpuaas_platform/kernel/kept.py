"""Log lines and spans on their way into timelines: a bounded buffer between teller and writer.

Whoever has something to tell calls `keep`, which costs an append and never waits; the operate room
writes what has gathered, in batches. What does not fit is counted, by correlation id, and said in
its timeline. Nothing is gathered while nobody writes.
"""

import itertools
import secrets
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Literal

from prometheus_client import Counter

from gpuaas_platform.kernel.caller import PLATFORM, Place
from gpuaas_platform.kernel.telemetry import REGISTRY

DROPPED: Final = Counter(
    "gpuaas_telemetry_dropped", "Log lines and spans not kept for timelines", registry=REGISTRY
)
_MOST: Final = 5_000
_MOST_SHARES: Final = 1_000  # correlation ids whose losses are told apart

Share = tuple[str, Place]


@dataclass(frozen=True, slots=True)
class Told:
    """A line or a span. `key` is what it is known by when it is told again, in order of telling.

    Texts hold no secrets: whoever tells has masked them.
    """

    kind: Literal["log", "span"]
    correlation_id: str
    place: Place
    at: datetime
    key: str
    title: str
    status: str
    source: str
    span_id: str | None = None
    parent_id: str | None = None
    seconds: float | None = None
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Lost:
    """So many of one correlation id and place were not kept, the last of them at this moment."""

    share: Share
    count: int
    at: datetime


class Buffer:
    """What was told and is not written yet. Told from any thread, taken by one."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._told: deque[Told] = deque()
        self._lost: dict[Share, Lost] = {}
        self._writers = 0
        self._turn = threading.Lock()
        self._process = secrets.token_hex(8)
        self._numbers = itertools.count()

    @property
    def gathering(self) -> bool:
        """Whether anybody writes what is told."""
        return self._writers > 0

    def key_new(self) -> str:
        """A key behind those before it."""
        return f"{self._process}.{next(self._numbers):012d}"

    def writer_add(self) -> None:
        """Begin to gather."""
        with self._turn:
            self._writers += 1

    def writer_remove(self) -> None:
        """Gather no more once the last is gone; what is left is forgotten."""
        with self._turn:
            self._writers -= 1
            if not self._writers:
                self._told.clear()
                self._lost.clear()

    def add(self, told: Told) -> None:
        """Take it, or count it as lost."""
        with self._turn:
            if not self._writers:
                return
            if len(self._told) < self._most:
                self._told.append(told)
                return
        self.lose(Lost((told.correlation_id, told.place), 1, told.at))

    def lose(self, lost: Lost) -> None:
        """Something cannot be kept; its timeline is to say so."""
        DROPPED.inc(lost.count)
        self._lose(lost)

    def take(self, most: int) -> tuple[list[Told], list[Lost]]:
        """What is to be written next, taken out: whoever cannot write it gives it back."""
        with self._turn:
            told = [self._told.popleft() for _ in range(min(most, len(self._told)))]
            lost, self._lost = list(self._lost.values()), {}
        return told, lost

    def give_back(self, told: list[Told], lost: list[Lost]) -> None:
        """It could not be written now: it is the next again."""
        with self._turn:
            self._told.extendleft(reversed(told))
        for one in lost:
            self._lose(one)

    def _lose(self, lost: Lost) -> None:
        with self._turn:
            before = self._lost.get(lost.share)
            if before is not None:
                lost = Lost(lost.share, before.count + lost.count, max(before.at, lost.at))
            elif len(self._lost) >= _MOST_SHARES:
                return
            self._lost[lost.share] = lost


BUFFER: Final = Buffer()


def line_keep(level: str, correlation_id: str, title: str, fields: Mapping[str, str]) -> None:
    """Keep a line of the platform's own, which its operators alone see."""
    BUFFER.add(
        Told(
            kind="log",
            correlation_id=correlation_id,
            place=PLATFORM,
            at=datetime.now(UTC),
            key=BUFFER.key_new(),
            title=title,
            status=level,
            source="platform",
            fields=fields,
        )
    )


@contextmanager
def span_keep(correlation_id: str, name: str, **fields: str) -> Iterator[None]:
    """Keep how long a piece of the platform's own work took; of a failure, its kind alone."""
    at, began, error = datetime.now(UTC), time.perf_counter(), ""
    try:
        yield
    except BaseException as raised:
        error = type(raised).__name__
        raise
    finally:
        seconds = time.perf_counter() - began
        how = "failed after" if error else "took"
        BUFFER.add(
            Told(
                kind="span",
                correlation_id=correlation_id,
                place=PLATFORM,
                at=at,
                key=BUFFER.key_new(),
                title=f"{name} {how} {seconds:.3f} s.",
                status="error" if error else "ok",
                source="platform",
                span_id=secrets.token_hex(8),
                seconds=seconds,
                fields=fields | {"name": name} | ({"error": error} if error else {}),
            )
        )
