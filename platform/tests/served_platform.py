"""The real `gpuaas-platform serve` as a process of its own, for tests that kill it."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2


class ServedPlatform:
    """One platform process. Starts at once; `url` is known when it listens."""

    def __init__(self, environment: dict[str, str]) -> None:
        clean = {k: v for k, v in os.environ.items() if not k.startswith("GPUAAS_")}
        self.process = subprocess.Popen(
            [str(Path(sys.executable).with_name("gpuaas-platform")), "serve"],
            env=clean | {"GPUAAS_PORT": "0", "GPUAAS_LOG_LEVEL": "warning"} | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.url = ""

    def await_listening(self) -> str:
        """Wait for the line that says where it listens."""
        assert self.process.stdout is not None
        seen = []
        for line in self.process.stdout:
            seen.append(line)
            if " on http://" in line:
                self.url = line.rsplit(" ", 1)[1].strip() + "/api/v1"
                self._await_ready()
                return self.url
        raise AssertionError(f"the platform ended: {''.join(seen)}")

    def output_at_end(self) -> str:
        """What it printed until it ended by itself."""
        return self.process.communicate(timeout=60)[0]

    def kill(self) -> None:
        """Kill -9: no handler of it runs."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)

    def stop(self) -> int:
        """Ask it to end, as an init system would."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def close(self) -> None:
        """Whatever happened, nothing of it is left."""
        if self.process.poll() is None:
            self.kill()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def _await_ready(self) -> None:
        for _ in range(1200):
            try:
                if httpx2.get(f"{self.url}/health/ready", timeout=60).status_code == 200:
                    return
            except httpx2.HTTPError:
                pass
            time.sleep(0.05)
        raise AssertionError("the platform is not ready")


@contextmanager
def served(**environment: str) -> Iterator[ServedPlatform]:
    """A platform process for the length of a block; settings in upper case, without the prefix.

    Its data folder is a temporary one unless it is given.
    """
    with tempfile.TemporaryDirectory(prefix="gpuaas-served-") as folder:
        given = {"DATA_DIR": folder} | environment
        platform = ServedPlatform({f"GPUAAS_{name}": value for name, value in given.items()})
        try:
            yield platform
        finally:
            platform.close()
