"""Looking at instances on schedule: observe, plan, say what is true, ask for what must change.

One replica at a time looks at an instance (the observer's lease). What it saw counts only while no
operation of the instance came since the look began, at whichever replica: the platform tells by the
lease's mark. What changes machines is never done here: drift becomes a reconcile operation that
people can see. One instance that hangs or fails holds up no other. Called by `controller.py`.
"""

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import Final

from gpuaas_contract.apps import AppInstance
from gpuaas_contract.controllers import ControllerSelf, Observation, Observe, ObserverLease
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.states import InstanceStatus
from gpuaas_sdk.app import Facts, Look, Target
from gpuaas_sdk.errors import ConflictError, GpuaasError, ProblemError
from gpuaas_sdk.runtime.calls import lease_lost, overtaken
from gpuaas_sdk.runtime.surroundings import Surroundings

# Well within what an init system waits before it kills. A lease that is not handed back lapses, and
# until then nobody looks: worth the wait for a platform that is slow for a moment.
_HAND_BACK_SECONDS: Final = 10.0
_TURN_SECONDS: Final = 10.0
_RENEWALS_PER_LEASE: Final = 3
_OVERTAKEN: Final = "overtaken"
_LOOKED_AT: Final = frozenset(
    {
        InstanceStatus.RUNNING,
        InstanceStatus.DEGRADED,
        InstanceStatus.STOPPED,
        InstanceStatus.FAILED,
        InstanceStatus.CLEANUP_BLOCKED,
    }
)


@dataclass(frozen=True)
class Schedule:
    """How often instances are looked at, how many at once, how long one may take."""

    every_seconds: float = 30.0
    parallel: int = 8
    patience_seconds: float = 60.0
    say_again_seconds: float = 300.0

    @property
    def lease_seconds(self) -> int:
        """Long enough to reach the next turn, within what the contract allows.

        Not longer: when a replica dies, nobody looks until its leases lapse. They are renewed
        while a look goes on.
        """
        return int(min(600, 2 * self.every_seconds + _TURN_SECONDS))


_Said = tuple[str, Facts]
"""With the mark of its look: once that has moved, an operation may have said otherwise."""


@dataclass
class _Known:
    """What this replica remembers of one instance."""

    token: str | None = None
    said: _Said | None = None
    said_at: float = 0.0


@dataclass
class Watch:
    """The loop over all instances of the app in reach, or over those of one project."""

    around: Surroundings
    me: ControllerSelf
    schedule: Schedule
    project_id: str | None = None
    instance_id: str | None = None
    busy: set[str] = field(default_factory=set)
    _missed: set[str] = field(default_factory=set)
    _known: dict[str, _Known] = field(default_factory=dict)
    _woken: asyncio.Event = field(default_factory=asyncio.Event)
    _asking: set[asyncio.Task[ObserverLease]] = field(default_factory=set)

    def wake(self) -> None:
        """Begin the next turn now: something happened that an observer wants to see."""
        self._woken.set()

    def taken(self, instance_id: str) -> None:
        """An operation of the instance begins: nobody looks until it has ended."""
        self.busy.add(instance_id)

    def freed(self, instance_id: str) -> None:
        """An operation of the instance has ended: look now, if a turn came while it ran."""
        self.busy.discard(instance_id)
        if instance_id in self._missed:
            self.wake()

    async def run(self) -> None:
        """Turn after turn, for ever; a turn that fails is followed by the next."""
        while True:
            self._woken.clear()
            try:
                await self.turn()
            except GpuaasError as error:
                self.around.log.warning("instances could not be listed: %s", error)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.schedule.every_seconds):
                    await self._woken.wait()

    async def hand_back(self) -> None:
        """Let another replica look at once; whoever cannot be told finds out when leases end.

        A lease that is being asked for is waited for: the platform would give it after the word
        that it is not wanted any more, to nobody.
        """
        gate = asyncio.Semaphore(self.schedule.parallel)
        try:
            async with asyncio.timeout(_HAND_BACK_SECONDS):
                await asyncio.gather(*self._asking, return_exceptions=True)
                held = [(key, one.token) for key, one in self._known.items() if one.token]
                await asyncio.gather(*(self._handed(*one, gate) for one in held))
        except TimeoutError:
            self.around.log.warning("leases could not be handed back in time; they lapse")

    async def turn(self) -> None:
        """Look at every instance once."""
        gate = asyncio.Semaphore(self.schedule.parallel)
        listed = self.around.calls.instances(self.around.app.slug, self.project_id)
        found = [one async for one in listed if self.instance_id in {None, one.id}]
        for gone in set(self._known) - {one.id for one in found}:
            del self._known[gone]
        self._missed = {one.id for one in found if one.id in self.busy}
        looked = [one for one in found if one.status in _LOOKED_AT and one.id not in self.busy]
        async with asyncio.TaskGroup() as tasks:
            for instance in looked:
                tasks.create_task(self._one(instance, gate))

    async def _handed(self, instance_id: str, token: str, gate: asyncio.Semaphore) -> None:
        body = Observe(controller=self.me, lease_token=token, lease_seconds=0)
        async with gate:
            with contextlib.suppress(GpuaasError):  # one that is lost keeps no other
                await self.around.calls.observe(instance_id, body)

    async def _one(self, instance: AppInstance, gate: asyncio.Semaphore) -> None:
        """Look; once more at once where an operation came meanwhile, then in the next turn."""
        outcome = await self._counted(instance, gate)
        if outcome == _OVERTAKEN and instance.id not in self.busy:
            outcome = await self._counted(instance, gate)
        if outcome == _OVERTAKEN:
            self._missed.add(instance.id)

    async def _counted(self, instance: AppInstance, gate: asyncio.Semaphore) -> str:
        log = self.around.log.bind(instance_id=instance.id, correlation_id=instance.correlation_id)
        labels, outcome = {"app": self.around.app.slug}, "failed"
        try:
            async with gate, asyncio.timeout(self.schedule.patience_seconds):
                outcome = await self._look(instance)
        except TimeoutError:
            log.warning("looking took longer than %g s", self.schedule.patience_seconds)
        except GpuaasError as error:
            log.warning("what was seen could not be told: %s", error)
        except Exception:
            log.exception("looking failed; nothing is said about the instance")
        self.around.metrics.count("observations", {**labels, "outcome": outcome})
        return outcome

    async def _look(self, instance: AppInstance) -> str:
        if instance.id in self.busy:
            return _OVERTAKEN  # while it waited for its place in the turn
        known = self._known.setdefault(instance.id, _Known())
        lease = await self._lease(instance.id, known)
        if lease is None:
            return "elsewhere"
        keeper = asyncio.create_task(self._keep(instance.id, known))
        try:
            if lease.revision != instance.revision:  # it was listed before the mark was given
                instance = await self.around.calls.instance(instance.id)
            if instance.status not in _LOOKED_AT:
                return _OVERTAKEN
            return await self._seen(instance, known, lease.mark)
        except ConflictError as error:
            if overtaken(error):
                return _OVERTAKEN
            raise
        finally:
            keeper.cancel()
            await asyncio.wait({keeper})

    async def _seen(self, instance: AppInstance, known: _Known, mark: str) -> str:
        around = self.around
        target = Target(instance, await around.calls.members(instance.id))
        machines = around.machines.bound(instance.correlation_id, "observe")
        log = around.log.bind(instance_id=instance.id)
        seen = await around.app.observe(Look(target, around.state, machines, log))
        plan = around.app.plan(target, seen, around.now())
        facts = around.app.health(target, seen)
        heals = around.app.self_heal and not plan.converged
        if known.token is None:
            return "elsewhere"
        if heals or self._news(known, (mark, facts)):  # before healing always: it may be old
            body = Observation(
                lease_token=known.token,
                mark=mark,
                instance=facts.instance,
                members=list(facts.members),
            )
            await around.calls.observed(instance.id, body)
            known.said, known.said_at = (mark, facts), asyncio.get_running_loop().time()
        if not heals:
            return "converged" if plan.converged else "drifted"
        await self._heal(instance.id)
        return "healing"

    async def _lease(self, instance_id: str, known: _Known) -> ObserverLease | None:
        body = Observe(
            controller=self.me,
            lease_token=known.token,
            lease_seconds=self.schedule.lease_seconds,
        )
        asking = asyncio.create_task(self._leased(instance_id, known, body))
        self._asking.add(asking)
        asking.add_done_callback(self._asking.discard)
        try:
            return await asyncio.shield(asking)
        except ConflictError as error:
            known.token, known.said = None, None
            if lease_lost(error):
                return None
            raise

    async def _keep(self, instance_id: str, known: _Known) -> None:
        """Renew the lease for as long as a look takes; once it is lost, nothing is said."""
        held = True
        while held:
            await asyncio.sleep(self.schedule.lease_seconds / _RENEWALS_PER_LEASE)
            with contextlib.suppress(GpuaasError):
                held = await self._lease(instance_id, known) is not None

    async def _leased(self, instance_id: str, known: _Known, body: Observe) -> ObserverLease:
        lease = await self.around.calls.observe(instance_id, body)
        known.token = lease.token
        return lease

    def _news(self, known: _Known, said: _Said) -> bool:
        """Whether it changed; the same again only now and then, so that nothing is written idly."""
        age = asyncio.get_running_loop().time() - known.said_at
        fresh = age < self.schedule.say_again_seconds
        return said[1] != Facts() and not (said == known.said and fresh)

    async def _heal(self, instance_id: str) -> None:
        try:
            await self.around.calls.reconcile(instance_id)
        except ProblemError as error:
            if error.code is not ErrorCode.OPERATION_IN_PROGRESS:
                raise
