"""`make demo`: platform, console and three real machines, up until Ctrl-C; called by make alone.

What it makes lives in .data/demo and in a lab named `demo`; what it starts it ends, in
reverse order. Where machines cannot boot, the rest still comes up and says what is missing. It
must not do anything a person could not do by hand with the commands it prints.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import json
import os
import re
import secrets
import shutil
import signal
import stat
import sys
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from gpuaas_lab import Lab, LabError, Machine
from tools.progress import ROOT

HOME = ROOT / ".data" / "demo"
BIN = ROOT / ".venv" / "bin"
CONSOLE = ROOT / "console" / "dist"
MACHINES = 3
LAB = "demo"
ADMINISTRATOR = "admin@demo.example"
PATIENCE_S = 60.0

# The platform ends in order also when the demo itself is killed.
_WITH_US = ("setpriv", "--pdeathsig", "TERM") if shutil.which("setpriv") else ()


class DemoError(Exception):
    """One line for the person: what went wrong, and where to look."""


def main(arguments: list[str]) -> int:
    """Bring the demo up and keep it; 0 when it was ended on purpose, or is up already."""
    forget = arguments == ["--forget"]
    with _alone() as first:
        if not first:
            print(f"\n  The demo is up already: {_elsewhere()}\n  End it with Ctrl-C there.")
            return 1 if forget else 0
        try:
            asyncio.run(_forget() if forget else _demo())
        except DemoError as error:
            print(f"  demo: {error}", file=sys.stderr)
            return 1
    return 0


async def _demo() -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with contextlib.AsyncExitStack() as stack:
        process, address = await stack.enter_async_context(_platform())
        (HOME / "address").write_text(address)
        machines = await _unless(stop, _machines(stack))
        if stop.is_set():
            return
        print(_welcome(address, machines))
        ended = asyncio.create_task(process.wait())
        asked = asyncio.create_task(stop.wait())
        await asyncio.wait({ended, asked}, return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        if not stop.is_set():
            raise DemoError(f"the platform ended by itself: {_last_line(HOME / 'platform.log')}")
        print("\n  ending: machines, platform, database …", flush=True)
    print(f"  ended; the data stays in {_data_dir()}, make demo takes it up again")


async def _forget() -> None:
    """Remove what earlier demos left: data, and machines of one that was killed."""
    if os.geteuid() == 0:
        await Lab.down(LAB)
    _password_file().unlink()
    for folder in (_data_dir(), HOME):
        shutil.rmtree(folder, ignore_errors=True)


# --- the platform ----------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def _platform() -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """The platform as an operator starts it, in its own process, with the console beside it."""
    began = time.monotonic()
    log = HOME / "platform.log"
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *_WITH_US,
            *(BIN / "gpuaas-platform", "serve", "--data-dir", _data_dir()),
            env=_platform_environment(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        address = await _answering(process, log)
        _step("platform", f"answers on {address}", began)
        yield process, address
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def _data_dir() -> Path:
    """In the checkout, unless root's database, which runs as a user of its own, cannot enter it."""
    data = HOME / "platform"
    if os.geteuid() != 0 or all(folder.stat().st_mode & stat.S_IXOTH for folder in ROOT.parents):
        return data
    return Path("/var/lib/gpuaas-demo") / hashlib.sha256(str(ROOT).encode()).hexdigest()[:8]


def _platform_environment() -> dict[str, str]:
    env = {
        "GPUAAS_LOG_FORMAT": "console",
        "GPUAAS_BOOTSTRAP_ADMIN_EMAIL": ADMINISTRATOR,
        "GPUAAS_BOOTSTRAP_ADMIN_PASSWORD_FILE": str(_password_file()),
        **os.environ,
    }
    if (CONSOLE / "index.html").exists():
        env.setdefault("GPUAAS_CONSOLE_DIR", str(CONSOLE))
    return env


def _password_file() -> Path:
    """The administrator's password, made once and kept beside the data it opens."""
    file = _data_dir().with_suffix(".password")
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
        file.write_text(f"{secrets.token_urlsafe(12)}\n")
    return file


async def _answering(process: asyncio.subprocess.Process, log: Path) -> str:
    """Wait until the platform says where it is, and says it is ready."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if process.returncode is not None:
            raise DemoError(f"the platform did not start: {_last_line(log)}")
        address = _address(log)
        if address is not None:
            ready = await asyncio.to_thread(_ready, address)
            if ready:
                return address
        await asyncio.sleep(0.05)
    raise DemoError(f"the platform was not ready after {PATIENCE_S:.0f} s (log: {log})")


def _address(log: Path) -> str | None:
    """Where the platform said it listens, once it has."""
    found = re.search(r" on (http://\S+)\n", log.read_text(errors="replace"))
    return found[1] if found else None


def _ready(address: str) -> bool:
    try:
        with urlopen(f"{address}/api/v1/health/ready", timeout=5) as answer:  # noqa: S310 - our own loopback address
            return bool(answer.status == 200)
    except (URLError, TimeoutError):
        return False


# --- the machines ----------------------------------------------------------------------------


async def _machines(stack: contextlib.AsyncExitStack) -> list[Machine]:
    """Three booted machines, or none with what is missing said."""
    began = time.monotonic()
    missing = await _missing()
    if missing:
        _step("machines", "none: this host cannot boot them", began)
        print(*(f"             {line}" for line in missing), sep="\n", flush=True)
        return []
    try:
        lab = await stack.enter_async_context(Lab.up(LAB, MACHINES))
    except LabError as error:
        _step("machines", f"none: {error}", began)
        return []
    _step("machines", f"{len(lab.machines)} booted and reached by ssh", began)
    return lab.machines


async def _missing() -> list[str]:
    """What `gpuaas-lab doctor` finds in the way, each with its remedy."""
    doctor = await asyncio.create_subprocess_exec(
        *(BIN / "gpuaas-lab", "doctor", "--output", "json"), stdout=asyncio.subprocess.PIPE
    )
    said, _ = await doctor.communicate()
    return [
        f"{' '.join(finding['detail'].split())} → {finding['remedy']}"
        for finding in json.loads(said)
        if finding["needed"] and not finding["good"]
    ]


async def _unless(stop: asyncio.Event, work: Coroutine[None, None, list[Machine]]) -> list[Machine]:
    """Await work that Ctrl-C may end early."""
    task = asyncio.create_task(work)
    asked = asyncio.create_task(stop.wait())
    await asyncio.wait({task, asked}, return_when=asyncio.FIRST_COMPLETED)
    asked.cancel()
    if not task.done():
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        return []
    return task.result()


# --- what the person reads -------------------------------------------------------------------


def _welcome(address: str, machines: list[Machine]) -> str:
    lines = [""]
    if (CONSOLE / "index.html").exists():
        lines += [
            f"  console   {address}/",
            f"  sign in   {ADMINISTRATOR}   {_password_file().read_text().strip()}",
        ]
    lines += [f"  API       {address}/api/v1/version"]
    if machines:
        lines += [f"  {machine.name:<9} {machine.address}" for machine in machines]
        lines += ["", f"  log in    .venv/bin/gpuaas-lab ssh {machines[0].name} --name {LAB}"]
    else:
        lines += ["", "  Machines you reach over ssh can take their place once enrolled."]
    lines += ["  logs      .data/demo/platform.log", "  Ctrl-C ends the demo."]
    return "\n".join(lines)


def _step(what: str, result: str, began: float) -> None:
    print(f"  {what:<10} {result:<44} {time.monotonic() - began:6.1f} s", flush=True)


def _last_line(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return f"{lines[-1] if lines else 'it said nothing'} (log: {log.relative_to(ROOT)})"


# --- one demo a checkout -----------------------------------------------------------------------


@contextlib.contextmanager
def _alone() -> Iterator[bool]:
    HOME.mkdir(parents=True, exist_ok=True)
    with (HOME / "lock").open("w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        (HOME / "address").unlink(missing_ok=True)
        yield True


def _elsewhere() -> str:
    address = HOME / "address"
    return address.read_text() if address.exists() else "it is still starting"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
