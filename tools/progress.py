"""Progress lines and command running for the tools of the house.

Called by `tools.setup`, `tools.test` and `tools.demo`. Standard library only: it runs before
anything is installed. It must not know what a stage does.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"
LOGS = CACHE / "logs"

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_HEARTBEAT_S = 20.0
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f]")
_DISK = r"No space left on device|ENOSPC"
_NETWORK = (
    r"Temporary failure (in name resolution|resolving)|Could not resolve|dns error|ENOTFOUND"
    r"|EAI_AGAIN|Name or service not known|Network is unreachable|ECONNREFUSED|ETIMEDOUT"
    r"|Connection (timed out|refused)|error sending request|Failed to establish a new connection"
)
_TRUST = r"certificate verify failed|invalid peer certificate|UnknownIssuer|SELF_SIGNED_CERT"
_HASH = r"DO NOT MATCH THE HASHES|Hash mismatch"
_APT = r"Could not get lock|is held by process"
_OWNER = r"Permission denied|EACCES"
_CAUSES = (
    (_DISK, "the disk is full: free some space and run again"),
    (_NETWORK, "package servers cannot be reached: check network, proxy and mirror settings"),
    (_TRUST, "a server's certificate is not trusted: add its authority to the system's CA store"),
    (_HASH, "a downloaded file differs from its locked hash: the index offers another build"),
    (_APT, "another apt is running: wait for it and run again"),
    (_OWNER, "files of the checkout belong to somebody else: sudo chown -R $USER ."),
)


class Failure(Exception):
    """One line for the person: what is missing, and the remedy."""


class Stage:
    """One named piece of work: one line on the screen, one log file, one elapsed time."""

    def __init__(self, name: str, prefix: str = "setup") -> None:
        self.name = name
        self.log = LOGS / f"{prefix}-{name}.log"
        self._tty = sys.stdout.isatty()
        self._started = time.monotonic()
        self._beat = self._started
        self._tail = ""
        LOGS.mkdir(parents=True, exist_ok=True)
        self.log.write_text("")

    def run(self, *command: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
        """Run a command with its output in the log; raise Failure with the cause when it fails."""
        words = [str(word) for word in command]
        with self.log.open("a", encoding="utf-8") as log:
            log.write(f"$ {' '.join(words)}\n")
            log.flush()
            with subprocess.Popen(
                words,
                cwd=cwd,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            ) as process:
                output = self._follow(process, log)
        if process.returncode:
            raise Failure(self._cause(words[0], process.returncode, output))
        return output

    def done(self, result: str) -> None:
        """Print the stage's closing line."""
        elapsed = time.monotonic() - self._started
        self._clear()
        print(f"  {self.name:<10} {result:<44} {elapsed:6.1f} s", flush=True)

    def _follow(self, process: subprocess.Popen[str], log: IO[str]) -> str:
        lines: list[str] = []
        reader = threading.Thread(target=self._read, args=(process, log, lines), daemon=True)
        reader.start()
        try:
            while reader.is_alive():
                reader.join(0.12)
                self._draw()
            process.wait()
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)
            raise
        return "".join(lines)

    def _read(self, process: subprocess.Popen[str], log: IO[str], lines: list[str]) -> None:
        if process.stdout is None:
            return
        for line in process.stdout:
            log.write(line)
            lines.append(line)
            text = _ESCAPES.sub("", line.rpartition("\r")[2] or line).strip()
            self._tail = text or self._tail

    def _draw(self) -> None:
        now = time.monotonic()
        elapsed = now - self._started
        if self._tty:
            width = max(os.get_terminal_size().columns - 24, 20)
            wheel = _SPINNER[int(elapsed * 8) % len(_SPINNER)]
            line = f"\r\x1b[2K{wheel} {self.name:<10} {elapsed:5.0f} s  {self._tail[:width]}"
            print(line, end="", flush=True)
        elif now - self._beat > _HEARTBEAT_S:
            self._beat = now
            print(f"  {self.name:<10} … {elapsed:.0f} s  {self._tail[:80]}", flush=True)

    def _clear(self) -> None:
        if self._tty:
            print("\r\x1b[2K", end="")

    def _cause(self, program: str, code: int, output: str) -> str:
        self._clear()
        log = self.log.relative_to(ROOT)
        everything = self.log.read_text(errors="replace")  # apt's update only warns, install fails
        for pattern, remedy in _CAUSES:
            if re.search(pattern, everything):
                return f"{self.name}: {remedy} (log: {log})"
        last = next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "")
        return f"{self.name}: {Path(program).name} ended with {code}: {last[:160]} (log: {log})"
