"""`make demo` as its reader meets it: a job's output on real machines, or how to do without them.

Its own name and port, so that a demo somebody looks at is left alone.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shlex
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2
import pytest

from gpuaas_lab import Settings, teardown
from tools.demo import ADMINISTRATOR, MACHINES

pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]

ROOT = Path(__file__).resolve().parents[3]
UP = "Ctrl-C ends the demo."
PATIENCE_S = 480
"""Less than the test has, so that a demo that hangs is told with what it said."""
DEMO = (sys.executable, "-m", "tools.demo")
NO_MOUNTS = ("setpriv", "--inh-caps=-sys_admin", "--bounding-set=-sys_admin")


@dataclass
class Demo:
    """A demo that runs, and what it has said so far."""

    name: str
    process: asyncio.subprocess.Process
    said: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.said)

    @property
    def url(self) -> str:
        return self._after(r"console\s+(http://\S+)/")

    @property
    def password(self) -> str:
        return self._after(rf"sign in\s+{ADMINISTRATOR}\s+(\S+)")

    def _after(self, pattern: str) -> str:
        found = re.search(pattern, self.text)
        assert found is not None, self.text
        return found[1]

    async def until(self, words: str) -> None:
        why = "ended before it said"
        try:
            async with asyncio.timeout(PATIENCE_S):
                if await self._heard(words):
                    return
        except TimeoutError:
            why = f"did not within {PATIENCE_S} s say"
        raise AssertionError(f"it {why} {words!r}:\n{self.text}")

    async def _heard(self, words: str) -> bool:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            self.said.append(line.decode())
            if words in self.said[-1]:
                return True
        return False

    async def end(self) -> int:
        """Press Ctrl-C and wait."""
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGINT)
        assert self.process.stdout is not None
        self.said.append((await self.process.stdout.read()).decode())
        return await self.process.wait()


@asynccontextmanager
async def demo(*wrapped: str) -> AsyncIterator[Demo]:
    name = f"demo-{secrets.token_hex(3)}"
    # As most people's shells have it: what Python says into a pipe waits until it is flushed.
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    env = {**plain, "DEMO_NAME": name, "GPUAAS_PORT": "0"}
    process = await asyncio.create_subprocess_exec(
        *wrapped,
        *DEMO,
        cwd=ROOT,
        env=env,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    made = Demo(name, process)
    try:
        yield made
    finally:
        await made.end()
        forgotten = await asyncio.create_subprocess_exec(*DEMO, "--forget", cwd=ROOT, env=env)
        await forgotten.wait()
        shutil.rmtree(ROOT / ".data" / name, ignore_errors=True)


async def test_it_ends_with_a_jobs_output_and_leaves_nothing(lab_host: Settings) -> None:
    async with demo() as made:
        await made.until(UP)
        assert re.search(r"cluster .*: running, healthy", made.text)
        assert len(re.findall(r"runs task \d of job \d+", made.text)) == MACHINES - 1
        async with httpx2.AsyncClient(base_url=made.url, timeout=60) as client:
            page = await client.get("/")
            assert page.status_code == 200
            who = {"email": ADMINISTRATOR, "password": made.password}
            assert (await client.post("/api/v1/sessions", json=who)).status_code == 201
        assert await made.end() == 0
        assert made.name not in teardown.labs_present(lab_host)
        with pytest.raises(httpx2.TransportError):
            httpx2.get(made.url)


async def test_without_machines_it_tells_how_hosts_take_their_place(tmp_path: Path) -> None:
    async with demo(*NO_MOUNTS) as made:
        await made.until(UP)
        assert "this host cannot boot them" in made.text
        assert "allow mounting" in made.text
        told = [line.strip() for line in made.text.splitlines() if ".venv/bin/gpuaas " in line]
        assert [line.split()[1] for line in told] == ["login", "region", "sku", "node"]
        out = ""
        for line in told:
            words = shlex.split(line.replace("--ssh root@HOST", "").replace("HOST", "host-1"))
            ran = await asyncio.create_subprocess_exec(
                *words,
                cwd=ROOT,
                env={**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)},
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            out = (await ran.communicate())[0].decode()
            assert ran.returncode == 0, f"{line}\n{out}"
        assert "run this as root on host-1" in out
        assert await made.end() == 0
