"""An operation through everything that can happen to it: each step fails once, and kills once.

    endured = await ordeal.endured("stop", STOP, input={"jobs": "requeue"})

For each step in turn: its cause is put in the way and the operation fails there, saying so; the
cause is taken away and the operation tried again; when the step's effect is there, its controller
dies (`mortal_slurm.py`), and another goes on. Which causes: `slurm_faults.py`. What is true in the
end is the test's business.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import mortal_slurm
from mortal_slurm import Entry, Ledger
from slurm_faults import Faults
from slurm_nursery import Nursery, nursery_up
from slurm_refusal import Cause

from gpuaas_contract.apps import AppInstance, Member, Operation, Requested
from gpuaas_contract.states import Health, InstanceStatus, OperationStatus, StepState
from gpuaas_sdk import Request
from gpuaas_slurm.onmachine.residue import residue_env, residue_found
from gpuaas_slurm.onmachine.scripts import script_text
from tools.ground import Ground
from tools.slurm_crew import as_person, members, packages_settle, placed, succeeded, told, until
from tools.slurm_site import ENDED, SlurmSite, command_start, manifest_hasty, slurm_up

OPTIONS: Final = ("--lease-seconds", "5", "--observe-seconds", "0")
"""The shortest lease there is, and nobody who repairs unasked what a test breaks."""
EXAMINING: Final = frozenset({"preflight", "test_job", "examine", "verify"})
"""Steps without a lasting effect: every attempt does them again until what follows is done."""
WAITING: Final = frozenset({"register", "records_end", "jobs_end", "forgotten", "repair_register"})
"""Steps that wait, and do nothing where what they wait for has come while nobody was at work."""
PATIENCE_S: Final = 180.0
UNITS: Final = ("munge", "mariadb", "slurmdbd", "slurmctld", "slurmd")
JOB: Final = (
    "sbatch --parsable --chdir=/ --output=/dev/null --nodelist={node} --wrap="
    "'until [ -e /run/job-may-end ]; do sleep .5; done'"
)

Honest = Callable[[AppInstance, Mapping[str, Member]], bool]


@dataclass
class _Trial:
    """How far an operation is: what is in its way now, and what will be."""

    kind: str
    faults: Faults
    honest: Honest
    left: list[dict[str, Cause | None]]
    now: dict[str, Cause] = field(default_factory=dict)
    group: set[str] = field(default_factory=set)
    """Steps that are to fail and to kill before anything else is put in the way."""

    def failed(self, seen: Operation) -> dict[str, Cause]:
        """The steps an attempt ended at, with what was in their way."""
        if seen.error is None or seen.error.detail.get("step") not in self.now:
            return {}
        failed = {one.name for one in seen.progress if one.state is StepState.FAILED}
        return {step: cause for step, cause in self.now.items() if step in failed}


@dataclass
class Ordeal:
    """A cluster, its mortal controller, and what that did so far."""

    site: SlurmSite
    instance_id: str
    ledger: Ledger
    nursery: Nursery | None = None
    """Where its mortal controllers come from."""
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

    async def person(self, command: str) -> str:
        """Run something on the controller's machine, as one of the cluster's people."""
        return await self.run("n1", as_person(command))

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
        trial = await self._trial(kind, faults, honest)
        asked = await self.site.ask(self.instance_id, kind, **more)
        return await self._through(trial, asked)

    async def deployed(self, name: str, wanted: Mapping[str, Any], faults: Faults) -> Operation:
        """The same for a cluster that is not there yet, and is this ordeal's from then on."""
        trial = await self._trial("deploy", faults, _not_well)
        asked = await self.site.deploy(name, wanted)
        self.instance_id = asked.instance.id
        return await self._through(trial, asked)

    def spare(self, kind: str, *steps: str) -> None:
        """Let these steps kill nobody: they did so elsewhere."""
        for step in steps:
            self.ledger.write(Entry("spared", "-", kind, step))

    async def _trial(self, kind: str, faults: Faults, honest: Honest) -> _Trial:
        trial = _Trial(kind, faults, honest, [dict(group) for group in faults])
        self.spare(kind, *(step for one in faults for step, cause in one.items() if cause is None))
        await self._next(trial)
        return trial

    async def _through(self, trial: _Trial, asked: Requested) -> Operation:
        """See an operation through to its end: heal what failed, try again, raise the dead."""
        operation_id = asked.operations[0].id

        def news(one: Operation) -> bool:
            return self._dead or one.status in ENDED or bool(trial.failed(one))

        while True:
            seen = await until(lambda: self.site.operation(operation_id), news, PATIENCE_S)
            if failed := trial.failed(seen):
                await self._told(seen, failed, trial.honest)
                for step, cause in failed.items():
                    await cause.remove(self.site)
                    del trial.now[step]
                await self._next(trial)
                await self._again(operation_id)
            elif seen.status is OperationStatus.FAILED:
                # Its controllers died more often than it may be tried by itself.
                assert seen.error is not None
                assert seen.error.detail.get("last_code") == "lease_lapsed", told(seen)
                await self._again(operation_id)
            elif seen.status in ENDED:
                assert seen.status is OperationStatus.SUCCEEDED, told(seen)
                assert not trial.now, f"{list(trial.now)} never failed\n{told(seen)}"
                assert not trial.left, f"{trial.left} were never reached\n{told(seen)}"
                self._counted(trial, seen)
                return seen
            if self._dead:
                await self._next(trial)
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

    async def _next(self, trial: _Trial) -> None:
        """Put the next causes in the way, once all steps before have failed and killed."""
        died = self.ledger.died(trial.kind)
        while not trial.now and trial.group <= died and trial.left:
            causes = trial.left.pop(0)
            trial.now = {step: one for step, one in causes.items() if one is not None}
            trial.group = set(causes) if trial.now else set()
            for cause in trial.now.values():
                await cause.place(self.site)

    async def _told(self, seen: Operation, failed: Mapping[str, Cause], honest: Honest) -> None:
        """The operation says where it failed and why, and nobody claims that it is done."""
        said = {step.name: step.message for step in seen.progress}
        for step, cause in failed.items():
            assert cause.words in said[step], f"{cause.words!r} is not told\n{told(seen)}"
        assert seen.error is not None
        assert any(cause.words in seen.error.message for cause in failed.values()), seen.error
        instance, group = await self.instance(), await members(self.site, self.instance_id)
        assert honest(instance, group), (instance, group)
        if seen.status is OperationStatus.FAILED:
            held = [*instance.conditions, *(one for m in group.values() for one in m.conditions)]
            assert any(one.type == "operation_failed" and seen.id in one.message for one in held)

    def _counted(self, trial: _Trial, ended: Operation) -> None:
        """Every step killed, none was done twice, and none is unknown to the test."""
        faults = {step: cause for group in trial.faults for step, cause in group.items()}
        died = self.ledger.died(ended.kind)
        assert set(faults) <= died, f"{set(faults) - died} killed nobody\n{told(ended)}"
        mine = [one for one in self.ledger.entries() if one.operation_id == ended.id]
        done = Counter(one.step for one in mine if one.what == "done")
        assert set(done) <= died, f"{set(done) - died} is not tried\n{told(ended)}"
        acting = {step for step, cause in faults.items() if cause is not None} - WAITING
        assert acting <= set(done), f"{acting - set(done)} did nothing\n{told(ended)}"
        twice = {step for step, times in done.items() if times > 1} - EXAMINING
        assert not twice, f"done twice: {twice}\n{told(ended)}"
        # A plan that is made anew by each attempt has nothing to say of what was done before it.
        good = {StepState.SUCCEEDED} | ({StepState.SKIPPED} if ended.kind == "reconcile" else set())
        assert {one.state for one in ended.progress if one.name in acting} <= good, told(ended)

    async def healthy(self) -> None:
        """All is well, by a look that is made now."""
        await self.done("reconcile")
        instance = await self.instance()
        found = (instance.status, instance.health)
        assert found == (InstanceStatus.RUNNING, Health.HEALTHY), instance

    async def job_start(self, node: str) -> str:
        """A job on a node that ends when it is allowed to."""
        await self.run(node, "rm -f /run/job-may-end")
        job = await self.run("n1", as_person(JOB.format(node=node)))
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

    async def nodes(self) -> list[str]:
        """The nodes the scheduler knows."""
        return (await self.run("n1", "sinfo -h -N -o %N | sort -u")).split()

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

    async def mortal(self) -> None:
        """From here on controllers die."""
        await self.site.controller_end()
        if self.nursery is None:
            scoped = nursery_up(Path(mortal_slurm.__file__), self.ledger.path)
            self.nursery = await self.site.ending.enter_async_context(scoped)
        self.site.start = self.nursery.born
        await self.site.controller_start()

    async def immortal(self) -> None:
        """From here on the controller is the app's own, and nothing happens to it."""
        await self.site.controller_end()
        self.site.start = command_start
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
    await packages_settle(suite, ground.lab.machines)
    manifest = await manifest_hasty()
    async with slurm_up(ground, options=OPTIONS, manifest=manifest) as site:
        wanted = placed(ground, "n1", workers, packages="installed", finished_job_seconds=2)
        asked = await succeeded(site, await site.deploy("ordeal", wanted))
        yield await ordeal_begin(site, asked.instance.id)


async def ordeal_begin(site: SlurmSite, instance_id: str = "") -> Ordeal:
    """From here on a site's controllers die."""
    site.options = OPTIONS
    made = Ordeal(site, instance_id, Ledger(site.folder / "ledger"))
    await made.mortal()
    return made


def repaired(instance: AppInstance, _: object) -> bool:
    """A repair that failed changes no state: what is there was seen before it."""
    return instance.status in {InstanceStatus.RUNNING, InstanceStatus.DEGRADED}


def _not_well(instance: AppInstance, _: object) -> bool:
    return instance.health is not Health.HEALTHY
