"""`make demo`: from nothing to a job's output on three real machines; called by make alone.

Platform and console, a tenant with a project that holds the machines, the Slurm app's controller as
a process of its own, a deploy through the public API with its live progress, a job. Then all of
it stays up until Ctrl-C. Every demo begins from nothing; what it makes lives in .data/demo and in a
lab named `demo` (DEMO_NAME keeps another apart); what it starts it ends, in reverse order. Where
machines cannot boot, platform and console still come up and say what is missing and how hosts take
their place. It must not do anything a person could not do by hand.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import shutil
import signal
import stat
import sys
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from pathlib import Path
from typing import TypeVar

from gpuaas_contract.apps import AppInstance
from gpuaas_contract.identity import PersonalTokenCreate, SignIn
from gpuaas_lab import Lab, LabError
from gpuaas_sdk import BearerToken, Client
from gpuaas_sdk.sign_in import password_sign_in
from tools.demo_cluster import Cluster, DemoFailed, cluster_deploy, job_run
from tools.ground import Ground, ground_found
from tools.progress import ROOT
from tools.served import Served, ServedError, served
from tools.slurm_site import bundles_publish, slurm_up
from tools.suites import own_suite

T = TypeVar("T")

NAME = os.environ.get("DEMO_NAME", "demo")
HOME = ROOT / ".data" / NAME
BIN = ROOT / ".venv" / "bin"
CONSOLE = ROOT / "console" / "dist"
MACHINES = 3
LAB = NAME
PORT = "8470"
ADMINISTRATOR = "admin@demo.example"


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
        except (DemoError, DemoFailed, ServedError) as error:
            print(f"  demo: {error}", file=sys.stderr)
            return 1
    return 0


async def _demo() -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    await _forget()
    async with contextlib.AsyncExitStack() as stack:
        up = await _unless(stop, _all_up(stack))
        if up is None:
            return
        ended = asyncio.create_task(up.platform.ended())
        asked = asyncio.create_task(stop.wait())
        await asyncio.wait({ended, asked}, return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        if not stop.is_set():
            raise DemoError(f"the platform ended by itself (log: {up.platform.log})")
        ended.cancel()
        print("\n  ending: controller, platform, database, machines …", flush=True)
    print("  ended; make demo begins from nothing again")


async def _forget() -> None:
    """Remove what earlier demos left: data, and machines of one that was killed."""
    if os.geteuid() == 0:
        await Lab.down(LAB)
    data = _data_dir()
    for file in (_password_file(), data.with_suffix(".log")):
        file.unlink(missing_ok=True)
    for folder in (data, HOME / "logs"):
        shutil.rmtree(folder, ignore_errors=True)


class _Up:
    """What is up, for the end and for the welcome."""

    def __init__(self, platform: Served) -> None:
        self.platform = platform
        self.ground: Ground | None = None
        self.cluster: Cluster | None = None


async def _all_up(stack: contextlib.AsyncExitStack) -> _Up:
    lab = await _machines(stack)
    up = _Up(await stack.enter_async_context(_platform(lab)))
    (HOME / "address").write_text(up.platform.url)
    if lab is None:
        print(_welcome(up, None), flush=True)
        return up
    up.ground = await _ground(stack, up.platform, lab)
    began = time.monotonic()
    bundles = await bundles_publish(up.ground, own_suite())
    size = sum(one.size or 0 for one in bundles) / 1e6
    _step("packages", f"{len(bundles)} bundles published, {size:.0f} MB", began)
    began = time.monotonic()
    site = await stack.enter_async_context(slurm_up(up.ground))
    _step("controller", "gpuaas-slurm works for the project", began)
    up.cluster = await cluster_deploy(site)
    await job_run(up.ground, up.cluster)
    print(_welcome(up, up.cluster.instance), flush=True)
    return up


# --- the platform ----------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def _platform(lab: Lab | None) -> AsyncIterator[Served]:
    """The platform as an operator starts it, in its own process, with the console beside it."""
    began = time.monotonic()
    data = _data_dir()
    data.mkdir(mode=0o711, parents=True, exist_ok=True)
    async with served(data, _settings(lab)) as platform:
        _step("platform", f"answers on {platform.url}", began)
        yield platform


def _settings(lab: Lab | None) -> dict[str, str]:
    password = _password_file()
    password.parent.mkdir(parents=True, exist_ok=True)
    password.touch(mode=0o600)
    password.write_text(f"{secrets.token_urlsafe(12)}\n")
    host = "127.0.0.1" if lab is None else f"127.0.0.1,{lab.host_address}"
    settings = {
        "GPUAAS_PORT": PORT,
        "GPUAAS_HOST": host,
        "GPUAAS_LOG_FORMAT": "console",
        "GPUAAS_BOOTSTRAP_ADMIN_EMAIL": ADMINISTRATOR,
        "GPUAAS_BOOTSTRAP_ADMIN_PASSWORD_FILE": str(password),
    }
    settings |= {name: value for name, value in os.environ.items() if name.startswith("GPUAAS_")}
    if (CONSOLE / "index.html").exists():
        settings.setdefault("GPUAAS_CONSOLE_DIR", str(CONSOLE))
    return settings


def _data_dir() -> Path:
    """In the checkout, unless root's database, which runs as a user of its own, cannot enter it."""
    data = HOME / "platform"
    if os.geteuid() != 0 or all(folder.stat().st_mode & stat.S_IXOTH for folder in ROOT.parents):
        return data
    return Path("/var/lib/gpuaas-demo") / hashlib.sha256(str(HOME).encode()).hexdigest()[:8]


def _password_file() -> Path:
    """The administrator's password, beside the data it opens."""
    return _data_dir().with_suffix(".password")


# --- machines, and a project that holds them ---------------------------------------------------


async def _machines(stack: contextlib.AsyncExitStack) -> Lab | None:
    """Three booted machines, or none with what is missing said."""
    began = time.monotonic()
    missing = await _missing()
    if missing:
        _step("machines", "none: this host cannot boot them", began)
        print(*(f"             {line}" for line in missing), sep="\n", flush=True)
        return None
    try:
        lab = await stack.enter_async_context(Lab.up(LAB, MACHINES, suite=own_suite()))
    except LabError as error:
        _step("machines", f"none: {error}", began)
        return None
    _step("machines", f"{len(lab.machines)} booted and reached by ssh", began)
    return lab


async def _ground(stack: contextlib.AsyncExitStack, platform: Served, lab: Lab) -> Ground:
    """Sign in as the administrator, and make what the machines belong to."""
    began = time.monotonic()
    password = _password_file().read_text().strip()
    async with Client(platform.url) as nobody:
        who = SignIn(email=ADMINISTRATOR, password=password)
        token = await password_sign_in(nobody, who, PersonalTokenCreate(name="demo"))
    admin = await stack.enter_async_context(Client(platform.url, BearerToken(token.secret)))
    ground = await ground_found(platform, lab, admin, password, "demo")
    await asyncio.gather(*(ground.node_add(machine) for machine in lab.machines))
    await ground.hold(*(machine.name for machine in lab.machines))
    _step("project", f"research of tenant demo holds {len(ground.held)} machines", began)
    return ground


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


async def _unless(stop: asyncio.Event, work: Coroutine[None, None, T]) -> T | None:
    """Await work that Ctrl-C may end early."""
    task = asyncio.create_task(work)
    asked = asyncio.create_task(stop.wait())
    await asyncio.wait({task, asked}, return_when=asyncio.FIRST_COMPLETED)
    asked.cancel()
    if not task.done():
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        return None
    return task.result()


# --- what the person reads -------------------------------------------------------------------


def _welcome(up: _Up, instance: AppInstance | None) -> str:
    address = up.platform.url
    lines = [""]
    if (CONSOLE / "index.html").exists():
        lines += [
            f"  console   {address}/",
            f"  sign in   {ADMINISTRATOR}   {_password_file().read_text().strip()}",
        ]
    lines += [f"  API       {address}/api/v1/version"]
    if instance is not None and up.ground is not None:
        lines += [
            (
                f"  cluster   {instance.resource_name}: {instance.status}, {instance.health}"
                f" (Slurm {instance.runtime_version})"
            ),
            *(f"  {m.name:<9} {m.address}" for m in up.ground.lab.machines),
            "",
            (
                f"  log in    .venv/bin/gpuaas-lab ssh {up.ground.lab.machines[0].name}"
                # Root runs no jobs; the administrator is the installation's first person.
                f" --name {LAB}   then su - $(id -nu 200001), sinfo, srun, sbatch"
            ),
        ]
    else:
        lines += ["", *_enrolment(address)]
    return "\n".join([*lines, f"  logs      {up.platform.log}", "  Ctrl-C ends the demo."])


def _enrolment(address: str) -> list[str]:
    """How hosts one has take the place of the machines that could not boot."""
    port = address.rpartition(":")[2]
    commands = (
        f"login --url {address} --email {ADMINISTRATOR} --password-file {_password_file()}",
        "region create --name here --display-name Here",
        "sku create --name host --display-name Host --cpus 1 --memory-mib 1024 --price-per-hour 0",
        f"node enroll HOST --region here --sku host --ssh root@HOST --platform-url http://ME:{port}",
    )
    return [
        "  Hosts you have can take the machines' place. They must reach the platform: begin with",
        "    GPUAAS_HOST=0.0.0.0 make demo",
        "  and in another terminal (docs/guides/enrolment.md tells the rest):",
        *(f"    .venv/bin/gpuaas {command}" for command in commands),
        "",
    ]


def _step(what: str, result: str, began: float) -> None:
    print(f"  {what:<10} {result:<44} {time.monotonic() - began:6.1f} s", flush=True)


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
