"""A tiny app for tests of the runtime and of the contract: notes pinned on boards.

No machine is touched: a board is a dictionary. It has every purpose an operation can have, one
component that may share (`pin`) and one that leads (`board`). The conformance suite deploys it on
the in-memory platform and on the real one.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from gpuaas_contract.apps import Member
from gpuaas_contract.controllers import AbsenceReport, DetailReport, InstanceReport, MemberReport
from gpuaas_contract.states import Health, MemberStatus
from gpuaas_sdk.app import App, Context, Facts, Look, Plan, Procedure, Step, Target

SLUG: Final = "notes"
_ALLOCATION: Final = {"type": "string", "x-widget": "allocation_picker"}
_ON_PINS: Final = {"valid_in": {"components": ["pin"]}}
_GROUP: Final = {"group": {"max_members": 50, "max_parallel": 2}}


@dataclass
class Boards:
    """What hangs where. `done` counts the effects, so that a test can see one made twice."""

    hanging: dict[str, set[str]] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)

    def hang(self, place: str, note: str) -> None:
        """Pin a note."""
        self.hanging.setdefault(place, set()).add(note)
        self.done[f"{place}/{note}"] += 1

    def take(self, place: str, note: str) -> None:
        """Take a note away; one that is not there is fine."""
        self.hanging.get(place, set()).discard(note)

    def has(self, place: str, note: str) -> bool:
        """Whether it hangs there."""
        return note in self.hanging.get(place, set())


class Hang(Step):
    """One note on the boards of some members."""

    def __init__(self, boards: Boards, note: str, members: Sequence[Member]) -> None:
        self._boards = boards
        self._note = note
        self._places = [one.allocation_id for one in members]

    @property
    def title(self) -> str:
        """The note."""
        return self._note

    async def check(self, ctx: Context) -> bool:
        """Whether it hangs everywhere."""
        del ctx
        return all(self._boards.has(place, self._note) for place in self._places)

    async def do(self, ctx: Context) -> None:
        """Hang it where it does not hang."""
        for place in self._places:
            if not self._boards.has(place, self._note):
                self._boards.hang(place, self._note)
        ctx.say(f"{self._note} hangs on {len(self._places)} boards")

    async def undo(self, ctx: Context) -> None:
        """Take it away."""
        del ctx
        for place in self._places:
            self._boards.take(place, self._note)


class Clear(Step):
    """Nothing is left on the boards of some members."""

    name = "clear"

    def __init__(self, boards: Boards, members: Sequence[Member]) -> None:
        self._boards = boards
        self._places = [one.allocation_id for one in members]

    async def check(self, ctx: Context) -> bool:
        """Whether they are empty."""
        del ctx
        return not any(self._boards.hanging.get(place) for place in self._places)

    async def do(self, ctx: Context) -> None:
        """Take everything away."""
        del ctx
        for place in self._places:
            self._boards.hanging.pop(place, None)


def notes_app(boards: Boards, *, self_heal: bool = False) -> App[dict[str, set[str]]]:
    """The app on these boards."""

    async def observe(look: Look) -> dict[str, set[str]]:
        return {m.id: set(boards.hanging.get(m.allocation_id, ())) for m in look.target.members}

    def plan(target: Target, seen: dict[str, set[str]], _: datetime) -> Plan:
        bare = [m for m in target.members if "paper" not in seen[m.id]]
        if not bare:
            return Plan()
        return Plan((Hang(boards, "paper", bare),), tuple(f"{m.id}: no paper" for m in bare))

    return App(
        slug=SLUG,
        version="0.1.0",
        operations=_procedures(boards),
        observe=observe,
        plan=plan,
        health=_health,
        self_heal=self_heal,
    )


def notes_manifest(*, split: bool = False) -> dict[str, Any]:
    """The manifest of the app. `split`: deploy acts on the board alone, pins are added after it."""
    pins = {"type": "array", "items": {"type": "string"}, "x-widget": "allocation_picker"}
    return {
        "manifest_version": 1,
        "summary": "Pins notes on boards",
        "runtime_backend": "none",
        "operating_modes": ["tenant_dedicated"],
        "control_plane_scopes": ["project"],
        "machine_access": ["certificate"],
        "components": [
            {"key": "board", "title": "Board", "min_members": 1, "max_members": 1},
            {"key": "pin", "title": "Pin", "max_members": 20, "may_share_with": ["board"]},
        ],
        "topologies": [
            {"key": "single_node", "title": "One machine", "max_allocations": 1},
            {"key": "multi_node", "title": "Many machines", "min_allocations": 2},
        ],
        "operations": [
            _operation(
                "deploy",
                "deploy",
                input=_object({"board": _ALLOCATION, "pins": {**pins, "default": []}}, ["board"]),
                placement=[
                    {"pointer": "/board", "component": "board"},
                    {"pointer": "/pins", "component": "pin"},
                ],
                steps=[{"name": "paper", "title": "Paper"}, {"name": "ink", "title": "Ink"}],
                valid_in={"components": ["board"]} if split else {},
            ),
            _operation(
                "add_pin",
                "member_add",
                "group",
                input=_object({"pins": pins}, ["pins"]),
                placement=[{"pointer": "/pins", "component": "pin"}],
                **_GROUP,
                **_ON_PINS,
            ),
            _operation("remove_pin", "member_remove", "group", **_GROUP, **_ON_PINS),
            _operation("say", "custom", valid_in={"instance_states": ["running"]}),
            _operation("stop", "stop"),
            _operation("start", "start"),
            _operation("reconcile", "reconcile"),
            _operation(
                "decommission",
                "delete",
                destructive=True,
                confirmation={"title": "Take it down?", "text": "Every note is lost."},
            ),
        ],
        "health": [
            {"word": "readable", "health": "healthy"},
            {"word": "bare", "health": "degraded"},
        ],
        "lifecycle": {"delete": {"destroys": "Every note.", "verifies_absence": True}},
        "runbook_url": "https://example.test/notes",
    }


def _procedures(boards: Boards) -> dict[str, Procedure]:
    async def deploy(ctx: Context) -> Sequence[Step]:
        return [Hang(boards, "paper", ctx.members), Hang(boards, "ink", ctx.members)]

    async def add(ctx: Context) -> Sequence[Step]:
        return [Hang(boards, "paper", [ctx.member]), Hang(boards, "ink", [ctx.member])]

    async def remove(ctx: Context) -> Sequence[Step]:
        return [Clear(boards, [ctx.member])]

    async def delete(ctx: Context) -> Sequence[Step]:
        return [Clear(boards, ctx.members)]

    async def stop(ctx: Context) -> Sequence[Step]:
        return [Clear(boards, ctx.members)]

    async def say(ctx: Context) -> Sequence[Step]:
        return [Hang(boards, "said", ctx.target.of("board"))]

    return {
        "deploy": Procedure(deploy, _deployed),
        "add_pin": Procedure(add),
        "remove_pin": Procedure(remove, _gone),
        "say": Procedure(say),
        "stop": Procedure(stop),
        "start": Procedure(deploy),
        "decommission": Procedure(delete, _gone),
    }


async def _deployed(ctx: Context) -> Facts:
    return Facts(
        InstanceReport(
            health=Health.HEALTHY,
            runtime_version="notes 1",
            settings_revision=ctx.instance.settings_revision,
        )
    )


async def _gone(ctx: Context) -> Facts:
    whole = ctx.operation.member_id is None
    return Facts(members=tuple(_absent(m) for m in (ctx.members if whole else (ctx.member,))))


def _health(target: Target, seen: dict[str, set[str]]) -> Facts:
    bare = sorted(one for one, notes in seen.items() if "paper" not in notes)
    del target
    return Facts(
        InstanceReport(
            health=Health.DEGRADED if bare else Health.HEALTHY,
            adapter_detail=DetailReport(
                summary=f"{len(bare)} boards are bare" if bare else "every board has paper",
                detail={"bare": bare},
            ),
        )
    )


def _absent(member: Member) -> MemberReport:
    return MemberReport(
        member_id=member.id,
        status=MemberStatus.REMOVED,
        absence=AbsenceReport(runtime_verified_absent=True, evidence={"notes": 0}),
    )


def _operation(
    kind: str,
    purpose: str,
    target: str = "instance",
    **more: Any,  # noqa: ANN401 - fields of a manifest
) -> dict[str, Any]:
    title = kind.replace("_", " ").capitalize()
    return {"kind": kind, "title": title, "purpose": purpose, "target": target} | more


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "required": required,
    }
