"""An operation through everything that can happen to it: each step fails once, and kills once.

    endured = await ordeal.endured("stop", STOP, input={"jobs": "requeue"})

For each step in turn: its cause is put in the way and the operation fails there, saying so; the
cause is taken away and the operation tried again; when the step's effect is there, its controller
dies (`mortal_slurm.py`), and another goes on. What is true in the end is the test's business.
"""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import mortal_slurm
from mortal_slurm import Ledger
from slurm_refusal import Cause

from gpuaas_contract.apps import AppInstance, Member, Operation, Requested
from gpuaas_contract.states import Health, InstanceStatus, OperationStatus, StepState
from gpuaas_sdk import Request
from gpuaas_slurm.onmachine.residue import residue_env, residue_found
from gpuaas_slurm.onmachine.scripts import script_text
from tools.ground import Ground
from tools.slurm_crew import members, packages_install, placed, succeeded, told, until
from tools.slurm_site import ENDED, SlurmSite, manifest_hasty, slurm_up

OPTIONS: Final = ("--lease-seconds", "5", "--observe-seconds", "0")
"""The shortest lease there is, and nobody who repairs unasked what a test breaks."""
EXAMINING: Final = frozenset({"preflight", "test_job"})
"""Steps without a lasting effect: every attempt does them again until what follows is done."""
WAITING: Final = frozenset({"register", "records_end"})
"""Steps that wait, and do nothing where what they wait for has come while nobody was at work."""
PATIENCE_S: Final = 180.0
UNITS: Final = ("munge", "mariadb", "slurmdbd", "slurmctld", "slurmd")
JOB: Final = (
    "sbatch --parsable --chdir=/ --output=/dev/null --nodelist={node} --wrap="
    "'until [ -e /run/job-may-end ]; do sleep .2; done'"
)

Faults = Sequence[Mapping[str, Cause | None]]
"""For each step (those that run beside each other together) why it fails; None: it only kills."""
Honest = Callable[[AppInstance, Mapping[str, Member]], bool]


@dataclass
class Ordeal:
    """A cluster, its mortal controller, and what that did so far."""

    site: SlurmSite
    instance_id: str
    ledger: Ledger
    kept: dict[str, str] = field(default_factory=dict)
    """What one test leaves for the next."""

    @property
    def ground(self) -> Ground:
        """What it stands on."""
        return self.site.ground

    async def run(self, machine: str, command: str, *, check: bool = True) -> str:
        """Run something on a machine, as its operator."""
        ran = await self.ground.lab.machine(machine).run(command, check=check)
        return ran.stdout.strip()

    async def instance(self) -> AppInstance:
        """The instance as people see it."""
        return await self.site.instance(self.instance_id)

    async def member(self, machine: str) -> Member:
        """A member as people see it."""
        return (await members(self.site, self.instance_id))[machine]

    async def done(self, kind: str, **more: Any) -> Requested:
        """Ask for something and have it done."""
        return await succeeded(self.site, await self.site.ask(self.instance_id, kind, **more))

    async def endured(self, kind: str, faults: Faults, honest: Honest, **more: Any) -> Operation:
        """Ask for something and have it done in spite of everything; nothing is done twice."""
        ended = await self.failing(kind, faults, honest, **more)
        self._counted(ended, faults)
        return ended

    async def failing(self, kind: str, faults: Faults, honest: Honest, **more: Any) -> Operation:
        """Ask for something and have it done though each step fails first."""
        left = [dict(group) for group in faults]
        now = await self._next(left)
        asked = await self.site.ask(self.instance_id, kind, **more)
        return await self._through(asked.operations[0].id, left, now, honest)

    async def _through(
        self,
        operation_id: str,
        left: list[dict[str, Cause | None]],
        now: dict[str, Cause],
        honest: Honest,
    ) -> Operation:
        """See an operation through to its end: heal what failed, try again, raise the dead."""

        def news(one: Operation) -> bool:
            return self._dead or one.status in ENDED or (bool(now) and _failed_at(now, one))

        while True:
            seen = await until(lambda: self.site.operation(operation_id), news, PATIENCE_S)
            if now and _failed_at(now, seen):
                await self._told(seen, now, honest)
                for cause in now.values():
                    await cause.remove(self.site)
                now = await self._next(left)
                await self._again(operation_id)
            elif seen.status is OperationStatus.FAILED:
                # Its controllers died more often than it may be tried by itself.
                assert seen.error is not None
                assert seen.error.detail.get("last_code") == "lease_lapsed", told(seen)
                await self._again(operation_id)
            elif seen.status in ENDED:
                assert seen.status is OperationStatus.SUCCEEDED, told(seen)
                assert not now, f"{list(now)} never failed\n{told(seen)}"
                return seen
            await self.revived()

    async def _again(self, operation_id: str) -> None:
        """Try again, if it has ended; one that will be tried again by itself is left alone."""
        found = await self.site.operation(operation_id)
        if found.status is OperationStatus.FAILED:
            assert "retry" in {way.action for way in found.next_actions}
            await self.site.admin.send(Request("POST", f"/operations/{operation_id}/retry"))

    @property
    def _dead(self) -> bool:
        return self.site.process is not None and self.site.process.returncode is not None

    async def revived(self) -> None:
        """Start another controller where the one before is dead."""
        if self._dead:
            assert self.site.process is not None
            assert self.site.process.returncode == -9, self.site.log[-2000:]
            await self.site.controller_start()

    async def _next(self, left: list[dict[str, Cause | None]]) -> dict[str, Cause]:
        """Put the next causes in the way; steps that only kill have none."""
        while left:
            causes = {step: one for step, one in left.pop(0).items() if one is not None}
            for cause in causes.values():
                await cause.place(self.site)
            if causes:
                return causes
        return {}

    async def _told(self, seen: Operation, now: Mapping[str, Cause], honest: Honest) -> None:
        """The operation says where it failed and why, and nobody claims that it is done."""
        said = {step.name: step.message for step in seen.progress}
        for step, cause in now.items():
            assert cause.words in said[step], f"{cause.words!r} is not told\n{told(seen)}"
        error = seen.error
        assert error is not None
        assert error.detail.get("step") in now, f"{error}\n{told(seen)}"
        assert any(cause.words in error.message for cause in now.values()), error
        instance, group = await self.instance(), await members(self.site, self.instance_id)
        assert honest(instance, group), (instance, group)
        if seen.status is OperationStatus.FAILED:
            held = [*instance.conditions, *(one for m in group.values() for one in m.conditions)]
            assert any(one.type == "operation_failed" and seen.id in one.message for one in held)

    def _counted(self, ended: Operation, faults: Faults) -> None:
        """Every step killed once, none was done twice, and none is unknown to the test.

        Of steps beside each other, the first to end takes the process with it: what the others
        were doing on their machines came to its end there, unseen.
        """
        expected = {step for group in faults for step in group}
        mine = [one for one in self.ledger.entries() if one.operation_id == ended.id]
        died = {one.step for one in mine if one.what == "died"}
        before = {
            one.step
            for one in self.ledger.entries()
            if one.what == "died" and one.kind == ended.kind and one.operation_id != ended.id
        }
        done = Counter(one.step for one in mine if one.what == "done")
        assert set(done) <= expected, f"{set(done) - expected} is not tried\n{told(ended)}"
        for group in faults:
            assert set(group) & set(done) or set(group) <= WAITING, f"{set(group)}\n{told(ended)}"
        assert died == set(done) - before, told(ended)
        twice = {step for step, times in done.items() if times > 1} - EXAMINING
        assert not twice, f"done twice: {twice}\n{told(ended)}"
        # A plan that is made anew by each attempt has nothing to say of what was done before it.
        good = {StepState.SUCCEEDED} | ({StepState.SKIPPED} if ended.kind == "reconcile" else set())
        assert {one.state for one in ended.progress if one.name in expected} <= good, told(ended)

    async def healthy(self) -> None:
        """All is well, by a look that is made now."""
        await self.done("reconcile")
        instance = await self.instance()
        found = (instance.status, instance.health)
        assert found == (InstanceStatus.RUNNING, Health.HEALTHY), instance

    async def job_start(self, node: str) -> str:
        """A job on a node that ends when it is allowed to."""
        await self.run(node, "rm -f /run/job-may-end")
        job = await self.run("n1", JOB.format(node=node))
        await until(lambda: self.job(job), lambda one: one.startswith("RUNNING"))
        return job

    async def job_end(self, node: str) -> None:
        """Let the job on a node end."""
        await self.run(node, "touch /run/job-may-end")
        await until(lambda: self.run("n1", f"squeue -h -w {node}"), lambda said: not said)

    async def job(self, number: str) -> str:
        """A job's state, and how often it was started anew."""
        shown = await self.run("n1", f"scontrol --oneliner show job {number}", check=False)
        words = dict(word.split("=", 1) for word in shown.split() if "=" in word)
        return f"{words.get('JobState', 'GONE')} {words.get('Restarts', '')}"

    async def node_updates(self, node: str) -> int:
        """How often anybody changed a node's state, by the scheduler's own log."""
        count = f"journalctl -q -o cat -u slurmctld | grep -c 'node {node} state set to' || true"
        return int(await self.run("n1", count))

    async def residue(self, machine: str) -> dict[str, list[str]]:
        """What is left of a cluster on a machine whose packages stay."""
        env = residue_env(kept_packages=True)
        given = " ".join(f"{name}={shlex.quote(value)}" for name, value in env.items())
        ran = await self.ground.lab.machine(machine).run(
            f"env {given} sh -s", stdin=script_text("residue")
        )
        return residue_found(ran.stdout)

    async def immortal(self) -> None:
        """From here on the controller is the app's own, and nothing happens to it."""
        await self.site.controller_end()
        self.site.command = SlurmSite.command
        await self.site.controller_start()

    async def starts(self, *machines: str) -> Counter[str]:
        """How often each service was started on each machine, by the machine's own journal."""
        return await self._journaled("Started", machines)

    async def stops(self, *machines: str) -> Counter[str]:
        """How often each was stopped."""
        return await self._journaled("Stopped", machines)

    async def _journaled(self, word: str, machines: Sequence[str]) -> Counter[str]:
        found: Counter[str] = Counter()
        for machine in machines:
            read = f"journalctl -q -o cat _PID=1 | grep '^{word} ' || true"
            lines = (await self.run(machine, read)).splitlines()
            names = [line.split()[1].removesuffix(".service") for line in lines]
            found.update(f"{machine} {name}" for name in names if name in UNITS)
        return found


@asynccontextmanager
async def ordeal_up(ground: Ground, suite: str, workers: Sequence[str]) -> AsyncIterator[Ordeal]:
    """A cluster on machines with packages, deployed in peace; from then on controllers die."""
    await packages_install(ground, suite, ground.lab.machines)
    manifest = await manifest_hasty()
    async with slurm_up(ground, options=OPTIONS, manifest=manifest) as site:
        wanted = placed(ground, "n1", workers, packages="installed", finished_job_seconds=2)
        asked = await succeeded(site, await site.deploy("ordeal", wanted))
        await site.controller_end()
        ledger = Ledger(site.folder / "ledger")
        site.command = (sys.executable, Path(mortal_slurm.__file__), ledger.path)
        await site.controller_start()
        yield Ordeal(site, asked.instance.id, ledger)


def _failed_at(steps: Mapping[str, Cause], operation: Operation) -> bool:
    failed = {one.name for one in operation.progress if one.state is StepState.FAILED}
    return operation.error is not None and failed >= set(steps)
