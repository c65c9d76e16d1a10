"""More hands on a Slurm site: further replicas, waiting, machines by name, packages beforehand.

Used by the tests that kill controllers and break machines, and by benchmarks; `slurm_site.py` is
what they stand on. Nothing here knows more than the public API shows.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

from gpuaas_contract.apps import Member, Operation, Requested
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.states import OperationStatus
from gpuaas_lab import Machine, PackageSet, depot, packages
from gpuaas_sdk import ProblemError
from gpuaas_slurm.distribution import DISTRIBUTIONS
from tools.ground import Ground
from tools.slurm_site import Running, SlurmSite

T = TypeVar("T")

PATIENCE_S: Final = 120.0
PAUSE_S: Final = 0.05
LONGEST_PAUSE_S: Final = 0.3
PERSON: Final = "awk -F: '$3 > 200000 && $3 < 1000000000 {print $1; exit}' /etc/passwd"
"""Names one of the cluster's people on a machine of it."""
OWN_KEY: Final = "head -c 128 /dev/urandom >/etc/munge/munge.key\n"
"""Machines of one image have one key, as if they had been made for each other."""


def placed(
    ground: Ground, controller: str, workers: Sequence[str] = (), **settings: object
) -> dict[str, Any]:
    """What Deploy is given for machines by name; without workers jobs run on the controller's."""
    asked: dict[str, Any] = {
        "controller_allocation_id": ground.allocation(controller),
        "worker_placement": "separate" if workers else "same_node",
        "settings": settings,
    }
    if workers:
        asked["worker_allocation_ids"] = [ground.allocation(worker) for worker in workers]
    return asked


def as_person(command: str) -> str:
    """A command line that runs a command as one of the people: root's jobs are refused."""
    return f'runuser -l "$({PERSON})" -c {shlex.quote(command)}'


async def until(
    look: Callable[[], Awaitable[T]],
    wanted: Callable[[T], bool],
    patience: float = PATIENCE_S,
    *,
    closely: bool = False,
) -> T:
    """What is looked at, as soon as it is as wanted; what it is instead is in the failure.

    Looks are ever rarer, since each costs whoever is asked as much as it costs here; who must not
    miss what lasts a moment looks `closely`.
    """
    deadline, pause = time.monotonic() + patience, PAUSE_S
    while True:
        found = await look()
        if wanted(found):
            return found
        if time.monotonic() > deadline:
            text = told(found) if isinstance(found, Operation) else str(found)
            raise AssertionError(f"not as wanted after {patience:g} s: {text}")
        await asyncio.sleep(pause)
        pause = pause if closely else min(pause * 1.4, LONGEST_PAUSE_S)


async def succeeded(site: SlurmSite, asked: Requested) -> Requested:
    """A request once every operation of it has succeeded; else its steps are the failure."""
    for operation in await site.ended(asked):
        if operation.status is not OperationStatus.SUCCEEDED:
            end = "\n".join(site.log.splitlines()[-10:])
            raise AssertionError(f"{told(operation)}\n{operation.error}\n{end}")
    return asked


async def reconciled(site: SlurmSite, instance_id: str) -> None:
    """Have everything repaired; where the controller is at it by itself, once that is over."""

    async def asked() -> list[Requested]:
        try:
            return [await site.ask(instance_id, "reconcile")]
        except ProblemError as error:
            if error.code is not ErrorCode.OPERATION_IN_PROGRESS:
                raise
            return []

    [request] = await until(asked, bool)
    await succeeded(site, request)


async def members(site: SlurmSite, instance_id: str) -> dict[str, Member]:
    """Live members by the name of their machine; of a shared machine, the worker."""
    found = await site.members(instance_id)
    found.sort(key=lambda one: one.component_key)
    return {site.ground.held[one.allocation_id]: one for one in found}


async def operations(site: SlurmSite, instance_id: str) -> list[Operation]:
    """Every operation of an instance, newest first."""
    path = f"/app-instances/{instance_id}/operations"
    return [one async for one in site.admin.pages(path, Operation, limit=200)]


async def killed(process: Running) -> None:
    """Kill -9: no handler of it runs."""
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    await process.wait()


async def packages_wanted(suite: str) -> PackageSet:
    """What any of the app's roles needs; a lab's machines can have it from the start."""
    return await packages.fetch(suite, DISTRIBUTIONS[suite].packages(("controller", "worker")))


async def packages_install(ground: Ground, suite: str, machines: Iterable[Machine]) -> None:
    """Install it on machines; nothing is started by it."""
    chosen = list(machines)
    wanted = await packages_wanted(suite)
    await ground.lab.install([one.name for one in chosen], wanted, start=False)
    await packages_settle(suite, chosen)


async def packages_settle(suite: str, machines: Iterable[Machine]) -> None:
    """What a machine needs beside its packages, and what each makes for itself where it is new."""
    links = (f"ln -sfn {link.target} {link.path}\n" for link in DISTRIBUTIONS[suite].links)
    settle = "".join((*links, OWN_KEY))
    await asyncio.gather(*(one.run(settle) for one in machines))


@contextlib.asynccontextmanager
async def packages_offered(
    ground: Ground, suite: str, machines: Iterable[Machine]
) -> AsyncIterator[None]:
    """Let machines' own apt find the packages on the host, for the length of a block."""
    chosen = list(machines)
    wanted = await packages_wanted(suite)
    async with depot.served(wanted.path, ground.lab.host_address) as url:
        text = f"deb [trusted=yes] {url} ./\n"
        await asyncio.gather(*(one.write("/etc/apt/sources.list", text) for one in chosen))
        yield


def told(operation: Operation) -> str:
    """An operation's steps, one a line."""
    steps = "\n".join(
        f"  {step.name:12} {step.state:10} {step.message[:300]}" for step in operation.progress
    )
    return f"{operation.kind} {operation.status} attempt {operation.attempt}\n{steps}"
