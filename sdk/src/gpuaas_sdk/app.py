"""What an app team writes: an `App` of procedures made of steps, an observer, a planner.

Read by the runtime and by the testing kit. Nothing here makes a call: a step works on machines
through its `Context`, a planner and a health mapping are pure.
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar, Generic, TypeVar

from gpuaas_contract.apps import AppInstance, Member, Operation
from gpuaas_contract.controllers import InstanceReport, MemberReport
from gpuaas_sdk.failures import PermanentFailure, StopRequested
from gpuaas_sdk.machines.machines import Machines
from gpuaas_sdk.state import StateStore
from gpuaas_sdk.telemetry import Log

S = TypeVar("S")


@dataclass(frozen=True)
class Target:
    """What is wanted: the instance and its live members, as the platform has them."""

    instance: AppInstance
    members: tuple[Member, ...]

    def member(self, member_id: str | None) -> Member:
        """The live member with this id."""
        for one in self.members:
            if one.id == member_id:
                return one
        raise PermanentFailure("member_missing", f"The member {member_id} is not there any more.")

    def of(self, component: str) -> tuple[Member, ...]:
        """The members of one component."""
        return tuple(one for one in self.members if one.component_key == component)


@dataclass(frozen=True)
class Facts:
    """What is now true, for the platform: what is left out stays as it was."""

    instance: InstanceReport | None = None
    members: tuple[MemberReport, ...] = ()


@dataclass
class Cancellation:
    """Whether somebody asked to stop. Read by steps that take long."""

    requested: bool = False


@dataclass
class Context:
    """Everything one step may use. One per attempt, shared by its steps."""

    target: Target
    operation: Operation
    state: StateStore
    machines: Machines
    log: Log
    cancellation: Cancellation = field(default_factory=Cancellation)
    deadline: datetime | None = None
    said: str = ""
    teller: Callable[[str], Awaitable[None]] | None = None
    kept: dict[str, object] = field(default_factory=dict)
    """What the planning of an attempt leaves for its finish, so that nothing is looked at twice."""

    @property
    def instance(self) -> AppInstance:
        """The instance."""
        return self.target.instance

    @property
    def members(self) -> tuple[Member, ...]:
        """Its live members."""
        return self.target.members

    @property
    def member(self) -> Member:
        """The member the operation acts on."""
        return self.target.member(self.operation.member_id)

    @property
    def new_member(self) -> Member:
        """The member that takes the other's place in a replacement."""
        return self.target.member(self.operation.new_member_id)

    @property
    def look(self) -> "Look":
        """What an observer is given, for a step that wants to see what an observer sees."""
        return Look(self.target, self.state, self.machines, self.log)

    @property
    def correlation_id(self) -> str:
        """The id that is on everything that follows from one request."""
        return self.operation.correlation_id

    def say(self, message: str) -> None:
        """One sentence people see beside the step when it ends."""
        self.said = message

    async def tell(self, message: str) -> None:
        """One sentence people see beside the step now, while it goes on: what it waits for."""
        self.said = message
        if self.teller is not None:
            await self.teller(message)

    def safe_point(self) -> None:
        """Stop here if a cancel was asked for: nothing is half done at this moment."""
        if self.cancellation.requested:
            raise StopRequested


class Step(ABC):
    """One named piece of an operation. Running any of its methods twice is harmless.

    `check` says whether the effect is there already; `do` makes it; `verify` looks whether it is
    there now; `undo` takes it back. A step without `check` is one without a lasting effect, such
    as a preflight: it is done again by every attempt.
    """

    name: ClassVar[str] = ""
    deadline_seconds: ClassVar[int | None] = None

    async def check(self, ctx: Context) -> bool:
        """Whether the effect is there already. Changes nothing."""
        del ctx
        return False

    @abstractmethod
    async def do(self, ctx: Context) -> None:
        """Make the effect."""

    async def verify(self, ctx: Context) -> bool:
        """Whether the effect is there now; `check` unless the step knows better."""
        return type(self).check is Step.check or await self.check(ctx)

    async def undo(self, ctx: Context) -> None:
        """Take the effect back, or what is there of it. Not every step can."""
        raise PermanentFailure("not_undoable", f"{self.title} cannot be undone: {ctx.operation.id}")

    @property
    def title(self) -> str:
        """The name it is reported by; steps made for one member each add the member to it."""
        return self.name

    @property
    def undoable(self) -> bool:
        """Whether it can be taken back."""
        return type(self).undo is not Step.undo


class Together:
    """Branches of steps that need nothing of each other: all at once, each in its own order.

    A branch is a step or some. What comes next waits for all of them. When a step fails, those that
    run beside it end and no other begins.
    """

    def __init__(self, *branches: Step | Sequence[Step]) -> None:
        self.branches: tuple[tuple[Step, ...], ...] = tuple(
            (one,) if isinstance(one, Step) else tuple(one) for one in branches
        )


Ordered = Sequence[Step | Together]
Load = Callable[[Context], Awaitable[Ordered]]
Finish = Callable[[Context], Awaitable[Facts]]


@dataclass(frozen=True)
class Procedure:
    """How one kind of operation is done.

    `steps` is the list, or a function that looks at what is there and plans it; `Together` in it
    are steps that run beside each other. `finish` says what is true at the end; it looks, it does
    not remember, since another replica may have done the steps.
    """

    steps: Ordered | Load
    finish: Finish | None = None

    async def load(self, ctx: Context) -> tuple[Step | Together, ...]:
        """The steps of this attempt, each with a name of its own."""
        found = tuple(await self.steps(ctx) if callable(self.steps) else self.steps)
        titles = [step.title for step in steps_of(found)]
        if "" in titles or len(set(titles)) != len(titles):
            raise PermanentFailure("steps_unnamed", f"Each step needs a name of its own: {titles}.")
        return found


def steps_of(ordered: Ordered) -> tuple[Step, ...]:
    """Every step, in the order in which they are listed."""
    return tuple(
        step
        for one in ordered
        for branch in (one.branches if isinstance(one, Together) else ((one,),))
        for step in branch
    )


@dataclass(frozen=True)
class Plan:
    """What would bring an instance to what is wanted, and why. Empty: it is there."""

    steps: tuple[Step, ...] = ()
    reasons: tuple[str, ...] = ()

    @property
    def converged(self) -> bool:
        """Nothing to do."""
        return not self.steps


@dataclass(frozen=True)
class Look:
    """What an observer may use."""

    target: Target
    state: StateStore
    machines: Machines
    log: Log


@dataclass(frozen=True)
class App(Generic[S]):
    """An app. `S` is what its observer sees.

    `plan` and `health` are pure: from what is wanted and what was seen (and the time) to what to
    do and what to say. `self_heal`: drift found on schedule becomes a reconcile operation.
    """

    slug: str
    version: str
    operations: Mapping[str, Procedure]
    observe: Callable[[Look], Awaitable[S]]
    plan: Callable[[Target, S, datetime], Plan]
    health: Callable[[Target, S], Facts]
    reconcile: str = "reconcile"
    self_heal: bool = False
