"""The operation engine against its model: three controllers race on the real database.

Checked after every step: never two holders of one lease, no lost or doubled transition, and
state, events and audit tell one story. At the end everything that is open can still be finished.
"""

import asyncio
from collections import Counter
from collections.abc import Coroutine
from datetime import datetime
from typing import Any

import httpx2
from apps_engine_model import HELD, OPEN, Model, ModelOperation
from apps_fake_controller import FakeController
from apps_fixtures import Site
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from gpuaas_contract.states import INSTANCE, MEMBER, OPERATION
from gpuaas_platform.apps.sweeps import sweep

TEMPORARY = {"code": "hoarse", "message": "again", "family": "temporary"}
PERMANENT = {"code": "mute", "message": "never", "family": "permanent"}
SAYINGS: list[tuple[str, dict[str, Any]]] = [
    ("report", {}), ("complete", {}), ("fail", TEMPORARY), ("fail", PERMANENT), ("release", {}),
    ("stopped", {}),
]  # fmt: skip
KINDS = ["hush", "speak_again", "remove_voice", "stop", "start", "say", "look"]
indexes = st.integers(0, 50)


async def test_engine_agrees_with_its_model(site: Site, clock: Any) -> None:
    loop = asyncio.get_running_loop()

    class Bound(Engine):
        def __init__(self) -> None:
            super().__init__(site, clock, loop)

    how = settings(
        max_examples=12,
        stateful_step_count=25,
        deadline=None,
        # Races are not repeated by repeating the steps: what fails is shown as it was found.
        phases=[Phase.generate],
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    await asyncio.to_thread(run_state_machine_as_test, Bound, settings=how)


class Engine(RuleBasedStateMachine):
    """Rules run in a thread of their own; what they do runs in the platform's loop."""

    def __init__(self, site: Site, clock: Any, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self.site, self.clock, self.loop = site, clock, loop
        self.controllers = [FakeController(site, f"echo-{number}") for number in range(3)]
        self.model = Model()
        self.instance_id = ""
        self.stale: list[dict[str, Any]] = []
        self.leases: dict[str, dict[str, Any]] = {}

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(60)

    def together(self, *coroutines: Coroutine[Any, Any, Any]) -> list[Any]:
        async def gathered() -> list[Any]:
            return list(await asyncio.gather(*coroutines))

        return list(self.run(gathered()))

    @initialize(voices=st.integers(0, 2))
    def deploy(self, voices: int) -> None:
        requested = self.run(self.site.deploy(voices=self.site.machines[1 : 1 + voices]))
        self.instance_id = requested["instance"]["id"]
        self.model.requested(requested)

    @rule(capacities=st.lists(st.integers(1, 3), min_size=1, max_size=3))
    def claim(self, capacities: list[int]) -> None:
        """Several controllers at once."""
        got = self.together(
            *(
                controller.claim(capacity, instance_id=self.instance_id)
                for controller, capacity in zip(self.controllers, capacities, strict=False)
            )
        )
        self._sync_lapsed()
        for claimed in (one for part in got for one in part):
            self._granted(claimed)

    @rule(saying=st.sampled_from(SAYINGS), index=indexes)
    def say(self, saying: tuple[str, dict[str, Any]], index: int) -> None:
        """Whoever holds a lease, or held one once, says something."""
        known = [*self.leases.values(), *self.stale[-5:]]
        if known:
            self._said(known[index % len(known)], *saying)

    @precondition(lambda self: self.leases)
    @rule(index=indexes, saying=st.sampled_from(SAYINGS))
    def usurp(self, index: int, saying: tuple[str, dict[str, Any]]) -> None:
        """A holder falls silent, another takes over, the first one comes back and is not heard."""
        before = list(self.leases.values())[index % len(self.leases)]
        self.clock.advance(seconds=61)
        self.together(sweep(self.site.platform), sweep(self.site.platform))
        self._sync_lapsed()
        self.clock.advance(seconds=3600)
        self.claim([3, 3])
        self._said(before, *saying)
        assert self._operation(before).token != before["lease"]["token"]

    @rule(index=indexes, twice=st.sampled_from(SAYINGS))
    def say_twice_at_once(self, index: int, twice: tuple[str, dict[str, Any]]) -> None:
        """The same ending sent twice, side by side: one of them counts."""
        if not self.leases:
            return
        claimed = list(self.leases.values())[index % len(self.leases)]
        one, what = self._operation(claimed), twice[0]
        answers = self.together(*(self._send(claimed, *twice) for _ in range(2)))
        accepted = [answer for answer in answers if answer.status_code == 200]
        if what != "report":
            assert len(accepted) <= 1, (what, [answer.text for answer in answers])
        if accepted:
            assert one.held(self._now())
            one.said(*twice)
        self._settle()

    @rule(index=indexes)
    def cancel_against_complete(self, index: int) -> None:
        """A cancel and a completion meet."""
        if not self.leases:
            return
        claimed = list(self.leases.values())[index % len(self.leases)]
        one = self._operation(claimed)
        completed, cancelled = self.together(
            self._send(claimed, "complete", {}), self._ask(f"/operations/{one.id}/cancel")
        )
        if cancelled.status_code == 202 and completed.status_code != 200:
            self.model.cancelled(one.id)
        if completed.status_code == 200:
            assert one.held(self._now())
            one.said("complete", {})
        self._settle()

    @rule(kind=st.sampled_from(KINDS), index=indexes)
    def request(self, kind: str, index: int) -> None:
        voices = [m for m in self._members() if m["component_key"] == "voice"]
        on_member = kind in {"hush", "speak_again", "remove_voice"}
        if on_member and not voices:
            return
        chosen = [voices[index % len(voices)]["id"]] if on_member else []
        answer = self.run(self.site.request(self.instance_id, kind, *chosen))
        if answer.status_code == 202:
            self.model.requested(answer.json())
        else:
            assert answer.json()["code"] in {"state_conflict", "operation_in_progress"}, answer.text

    @rule(count=st.integers(1, 3))
    def add(self, count: int) -> None:
        """Voices on machines that are free, as a group."""
        taken = {member["allocation_id"] for member in self._members()}
        free = [machine for machine in self.site.machines if machine not in taken][:count]
        if not free:
            return
        body = {"input": {"allocations": free}}
        answer = self.run(self.site.request(self.instance_id, "add_voice", **body))
        if answer.status_code == 202:
            self.model.requested(answer.json())
        else:
            assert answer.json()["code"] in {"state_conflict", "in_use"}, answer.text

    @rule(what=st.sampled_from(["cancel", "retry", "abandon"]), index=indexes)
    def recover(self, what: str, index: int) -> None:
        operations = [one for one in self.model.operations.values() if one.purpose != "deploy"]
        if not operations:
            return
        one = operations[index % len(operations)]
        answer = self.run(self._ask(f"/operations/{one.id}/{what}"))
        if answer.status_code >= 300:
            assert answer.json()["code"] == "state_conflict", answer.text
        elif what == "cancel":
            self.model.cancelled(one.id)
        elif what == "retry":
            self.model.retried(one.id)
        else:
            self.model.abandoned(one.id)
        self._settle()

    @precondition(lambda self: not self.model.deleting and len(self.model.operations) > 4)
    @rule()
    def delete_against_add(self) -> None:
        """A delete and an add meet: the add is in time or refused, never an orphan."""
        taken = {member["allocation_id"] for member in self._members()}
        free = [machine for machine in self.site.machines if machine not in taken][:1]
        body = {"input": {"allocations": free}}
        added, deleted = self.together(
            self.site.request(self.instance_id, "add_voice", **body),
            self.site.ask("DELETE", f"/app-instances/{self.instance_id}"),
        )
        if added.status_code == 202:
            self.model.requested(added.json())
        if deleted.status_code == 202:
            self.model.deleted(deleted.json())

    @rule(seconds=st.sampled_from([5, 30, 61, 700]))
    def time_passes(self, seconds: int) -> None:
        """Two replicas sweep at once."""
        self.clock.advance(seconds=seconds)
        self.together(sweep(self.site.platform), sweep(self.site.platform))
        self._sync_lapsed()

    @invariant()
    def state_is_the_models(self) -> None:
        if not self.instance_id:
            return
        rows = self._rows("SELECT * FROM operations WHERE instance_id = $1")
        assert {row["id"] for row in rows} == set(self.model.operations)
        for row in rows:
            one = self.model.operations[row["id"]]
            found = (row["status"], row["attempt"], row["fence"], row["cancel_requested"])
            expected = (one.status, one.attempt, one.fence, one.cancel)
            assert found[:3] == expected[:3], (row["kind"], found, expected)
            if one.status in OPEN:
                assert found == expected

    @invariant()
    def nobody_is_in_anothers_way(self) -> None:
        held = [
            row
            for row in self._rows("SELECT * FROM operations WHERE instance_id = $1")
            if row["status"] in HELD
        ]
        members = Counter(
            member
            for row in held
            for member in (row["member_id"], row["new_member_id"])
            if member is not None
        )
        assert all(count == 1 for count in members.values())
        assert len(held) <= 1 or not any(row["exclusive"] for row in held)

    @invariant()
    def events_and_audit_tell_the_same(self) -> None:
        if not self.instance_id:
            return
        events = self.run(self.site.events(self.instance_id))
        for prefix, machine in (
            ("apps.instance", INSTANCE), ("apps.member", MEMBER), ("apps.operation", OPERATION),
        ):  # fmt: skip
            self._story(prefix, machine.table, events)
        claims = self._rows(
            "SELECT target_id FROM audit_entries WHERE action = 'apps.operation.claim'"
            " AND outcome = 'allowed' AND target_id IN"
            " (SELECT id FROM operations WHERE instance_id = $1)"
        )
        told = Counter(row["target_id"] for row in claims)
        for one in self.model.operations.values():
            assert told[one.id] == one.grants

    def teardown(self) -> None:
        """Whatever is open can be finished: nothing was lost."""
        if self.instance_id:
            self.clock.advance(seconds=700)
            self.run(sweep(self.site.platform))
            self.clock.advance(seconds=7200)
            for _ in range(30):
                for claimed in self.run(self.controllers[0].claim(10)):
                    self.run(self.controllers[0].work(claimed))
                self.clock.advance(seconds=7200)
                if not self._rows(_AWAKE):
                    break
            assert not self._rows(_AWAKE)
            self.run(self._forget())

    def _story(self, prefix: str, table: Any, events: list[dict[str, Any]]) -> None:
        """Each thing's told transitions are one legal path that ends where the thing is."""
        last: dict[str, str] = {}
        for event in events:
            kind = event["type"].removeprefix(prefix + ".")
            if not event["type"].startswith(prefix + ".") or kind not in table:
                continue
            previous = event["data"].get("previous")
            assert previous == last.get(event["subject"]), event
            assert previous is None or kind in table[previous], event
            last[event["subject"]] = kind
        tables = {"apps.instance": "app_instances", "apps.member": "app_members"}
        name = tables.get(prefix, "operations")
        column = "id" if name == "app_instances" else "instance_id"
        rows = self._rows(f"SELECT id, status FROM {name} WHERE {column} = $1")  # noqa: S608 - names of tables
        assert {row["id"]: row["status"] for row in rows} == last

    def _granted(self, claimed: dict[str, Any]) -> None:
        one = self._operation(claimed)
        assert not one.held(self._now()), "two holders of one lease"
        one.granted(claimed, self._now())
        if one.id in self.leases:
            self.stale.append(self.leases[one.id])
        self.leases[one.id] = claimed

    def _said(self, claimed: dict[str, Any], what: str, body: dict[str, Any]) -> None:
        one = self._operation(claimed)
        answer = self.run(self._send(claimed, what, body))
        if answer.status_code == 200:
            assert one.token == claimed["lease"]["token"], "a stale holder was heard"
            assert one.held(self._now())
            one.said(what, body)
        else:
            code = answer.json()["code"]
            assert code in {"lease_lost", "state_conflict"}, answer.text
            if code == "lease_lost":
                assert one.token != claimed["lease"]["token"] or not one.held(self._now())
        self._settle()

    async def _send(
        self, claimed: dict[str, Any], what: str, body: dict[str, Any]
    ) -> httpx2.Response:
        ending = self.controllers[0]._ending(claimed) if what == "complete" else {}
        if what == "complete" and claimed["operation"]["purpose"] == "delete":
            live = await self.site.members(self.instance_id)
            ending = self.controllers[0]._ending({**claimed, "members": live})
        return await self.controllers[0].say(claimed, what, **body, **ending)

    async def _ask(self, path: str) -> httpx2.Response:
        body = {"reason": "because"} if path.endswith("abandon") else None
        return await self.site.ask("POST", path, body)

    def _settle(self) -> None:
        """Leases that ended are stale; what waited for a cancelled operation went with it."""
        for operation_id, claimed in list(self.leases.items()):
            if self.model.operations[operation_id].token != claimed["lease"]["token"]:
                self.stale.append(self.leases.pop(operation_id))
        rows = {row["id"]: row for row in self._rows(_SLEEPERS)}
        for row in rows.values():
            before = self.model.operations[row["waits_for"]].status
            one = self.model.operations[row["id"]]
            if before in {"cancelled", "abandoned"} and one.status == "requested":
                one.status = "cancelled"

    def _sync_lapsed(self) -> None:
        """What the model holds lapsed and the platform swept is no longer held."""
        for one in self.model.operations.values():
            if one.status in HELD and one.until is not None and one.until <= self._now():
                one.lapsed()
        self._settle()

    def _operation(self, claimed: dict[str, Any]) -> ModelOperation:
        return self.model.operations[claimed["operation"]["id"]]

    def _members(self) -> list[dict[str, Any]]:
        return list(self.run(self.site.members(self.instance_id)))

    def _rows(self, sql: str) -> list[Any]:
        return list(self.run(self.site.platform.db.fetch(sql, self.instance_id)))

    def _now(self) -> datetime:
        return self.clock._now  # type: ignore[no-any-return] # the test clock's hand

    async def _forget(self) -> None:
        """Leave nothing for the next example."""
        db = self.site.platform.db
        await db.execute("UPDATE allocations SET bound_instance_id = NULL, status = 'active'")
        await db.execute("DELETE FROM operations")
        await db.execute("DELETE FROM operation_groups")
        await db.execute("DELETE FROM app_members")
        await db.execute("DELETE FROM app_instances")


_AWAKE = (
    "SELECT o.id FROM operations o LEFT JOIN operations w ON w.id = o.waits_for"
    " WHERE o.instance_id = $1 AND o.status IN ('requested', 'accepted', 'running')"
    " AND (w.id IS NULL OR w.status = 'succeeded')"
)
_SLEEPERS = "SELECT id, waits_for FROM operations WHERE instance_id = $1 AND waits_for IS NOT NULL"
