"""The embedded database's log: readable for its owner alone, rotated, bounded.

PostgreSQL rotates its log but never deletes one, so its output comes through a pipe to a thread of
this process. It must not know what is logged.
"""

import os
import threading
from pathlib import Path
from typing import IO, Final

LOG_BYTES: Final = 8 * 1024 * 1024
_READ_BYTES: Final = 64 * 1024


class ServerLog:
    """Writes a server's output to `path`; what a full file held before is in `<path>.1`."""

    def __init__(self, path: Path, most: int = LOG_BYTES) -> None:
        self._path = path
        self._before = path.with_name(f"{path.name}.1")
        self._most = most
        self._thread: threading.Thread | None = None

    def follow(self, output: IO[bytes]) -> None:
        """Write all that comes out of a server until it and its workers have ended."""
        self._thread = threading.Thread(
            target=self._run, args=(output,), name="database-log", daemon=True
        )
        self._thread.start()

    def wait(self, seconds: float) -> None:
        """Wait until the output of a server that has ended is written."""
        if self._thread is not None:
            self._thread.join(seconds)

    def read(self) -> bytes:
        """The newest part."""
        return self._path.read_bytes() if self._path.exists() else b""

    def _run(self, output: IO[bytes]) -> None:
        log = self._opened()
        with output:
            while piece := os.read(output.fileno(), _READ_BYTES):
                if os.fstat(log).st_size + len(piece) > self._most:
                    os.close(log)
                    self._path.replace(self._before)
                    log = self._opened()
                try:
                    os.write(log, piece)
                except OSError:
                    continue  # a full disk: the server must not wait for its log
        os.close(log)

    def _opened(self) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        log = os.open(self._path, flags, 0o600)
        os.fchmod(log, 0o600)  # one that an earlier release made is readable for everybody
        return log
