"""Wake-ups between processes: LISTEN on one channel, topics in the payload.

Long-polls, the relay and live streams wait here. A signal is a hint: whoever waits reads the state
before and after, and wakes by itself after a while, so a lost signal costs time, never truth.

Signals are sent after the commit they tell of, not inside it: a NOTIFY inside a transaction takes a
lock of the whole server until its commit is on disk, so that no two mutations share a flush.
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Iterable

import asyncpg
import structlog

from gpuaas_platform.kernel.replica import session_name

CHANNEL = "gpuaas"
SESSION = "signals"
_NOTIFY = "SELECT pg_notify($1, topic) FROM unnest($2::text[]) AS topic"
# At most so often, for this process's own waiters were woken at once: under load, many go as one.
_PAUSE_SECONDS = 0.005
_log = structlog.get_logger(__name__)


class Signals:
    """One listening connection per process, any number of waiters per topic."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._waiters: defaultdict[str, set[asyncio.Future[None]]] = defaultdict(set)
        self._task: asyncio.Task[None] | None = None
        self._unsent: set[str] = set()
        self._sendable = asyncio.Event()
        self.finishing = False
        self.connected = False

    def start(self) -> None:
        """Begin to listen; reconnects by itself."""
        self._task = asyncio.create_task(self._listen(), name="signals")

    async def stop(self) -> None:
        """Stop listening and wake everybody, so that nobody waits in vain."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        self.wake_all()

    def expect(self, *topics: str) -> "Expectation":
        """Begin to watch topics: take this first, then read the state, then wait for any."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        for topic in topics:
            self._waiters[topic].add(future)
        return Expectation(self, topics, future)

    def send(self, topics: Iterable[str]) -> None:
        """Wake whoever waits for these topics: here at once, in other processes a moment later."""
        for topic in topics:
            self._unsent.add(topic)
            self.wake(topic)
        if self._unsent:
            self._sendable.set()

    def wake(self, topic: str) -> None:
        """Wake whoever waits for a topic in this process."""
        for future in self._waiters.pop(topic, ()):
            if not future.done():
                future.set_result(None)

    def wake_all(self) -> None:
        """Wake everybody: after a reconnect nobody knows what was missed."""
        for topic in list(self._waiters):
            self.wake(topic)

    def finish(self) -> None:
        """The process is about to end: waiters wake, see `finishing`, and answer what they have."""
        self.finishing = True
        loop = None if self._task is None else self._task.get_loop()
        if loop is not None:
            loop.call_soon_threadsafe(self.wake_all)

    def forget(self, topic: str, future: asyncio.Future[None]) -> None:
        """Drop a waiter that gave up."""
        waiters = self._waiters.get(topic)
        if waiters is not None:
            waiters.discard(future)
            if not waiters:
                del self._waiters[topic]

    async def _listen(self) -> None:
        delay = 0.1
        while True:
            try:
                connection = await asyncpg.connect(
                    self._url, server_settings={"application_name": session_name(SESSION)}
                )
            except (OSError, TimeoutError, asyncpg.PostgresError) as error:
                _log.warning("signals_not_connected", error=str(error), retry_in=delay)
                await asyncio.sleep(delay)
                delay = min(delay * 2, 5.0)
                continue
            delay = 0.1
            try:
                await self._serve(connection)
            except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
                _log.warning("signals_lost", error=str(error))
            finally:
                self.connected = False
                connection.terminate()

    async def _serve(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        """Receive and send until the connection is lost. Topics that come together go together."""
        own = connection.get_server_pid()

        def heard(_: object, pid: int, __: str, topic: object) -> None:
            if pid != own:  # what this process sent, it has heard already
                self.wake(str(topic))

        connection.add_termination_listener(lambda _: self._sendable.set())
        await connection.add_listener(CHANNEL, heard)
        self.connected = True
        self.wake_all()
        self._sendable.set()
        while not connection.is_closed():
            await self._sendable.wait()
            self._sendable.clear()
            if self._unsent and not connection.is_closed():
                await self._send(connection)
                await asyncio.sleep(_PAUSE_SECONDS)

    async def _send(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        topics, self._unsent = self._unsent, set()
        try:
            await connection.execute(_NOTIFY, CHANNEL, list(topics), timeout=10)
        except BaseException:
            self._unsent |= topics
            raise


class Expectation:
    """A wait that began before the state was read. Use as a context manager."""

    def __init__(
        self, signals: Signals, topics: tuple[str, ...], future: asyncio.Future[None]
    ) -> None:
        self._signals = signals
        self._topics = topics
        self._future = future

    def __enter__(self) -> "Expectation":
        return self

    def __exit__(self, *_: object) -> None:
        for topic in self._topics:
            self._signals.forget(topic, self._future)

    async def wait(self, seconds: float) -> bool:
        """Wait for the signal; False when the time ran out or the process is about to end."""
        if self._signals.finishing:
            return False
        done, _ = await asyncio.wait([self._future], timeout=max(0.0, seconds))
        return bool(done) and not self._signals.finishing
