"""The steps operations are made of. Each works on some members and can be run twice.

What is on a machine: `COMPONENT/owner`, `COMPONENT/package`, `COMPONENT/config.json`,
`COMPONENT/unit`, and at the gateway one file per server that takes requests.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from gpuaas_sdk import ConflictFailure, Context, Step, TemporaryFailure
from gpuaas_sdk.contract import Member
from gpuaas_template.machines import Machines, Unreachable

RUNNING: Final = "running"
STOPPED: Final = "stopped"


class _WithMembers(Step):
    """A step on the machines of some members."""

    def __init__(self, machines: Machines, members: Sequence[Member]) -> None:
        self.machines = machines
        self.members = tuple(members)

    async def text(self, member: Member, name: str) -> str | None:
        """A file of the member's component."""
        path = f"{member.component_key}/{name}"
        return await self.machines.read(member.allocation_id, path)

    async def put(self, member: Member, name: str, text: str) -> None:
        """Write a file of the member's component."""
        path = f"{member.component_key}/{name}"
        await self.machines.write(member.allocation_id, path, text)


class AskMembers(_WithMembers):
    """A step that only asks: it leaves nothing behind, so each attempt asks again."""

    async def do(self, ctx: Context) -> None:
        """Ask every machine."""
        with _reachable():
            for member in self.members:
                await self.ask(ctx, member)

    @abstractmethod
    async def ask(self, ctx: Context, member: Member) -> None:
        """Ask one machine; raise when the answer is not what it must be."""


class OnMembers(_WithMembers):
    """A step that makes something so on the machines of some members."""

    async def check(self, ctx: Context) -> bool:
        """Whether it is so on every machine."""
        with _reachable():
            return all([await self.holds(ctx, member) for member in self.members])

    async def do(self, ctx: Context) -> None:
        """Make it so where it is not."""
        with _reachable():
            for member in self.members:
                if not await self.holds(ctx, member):
                    await self.make(ctx, member)

    @abstractmethod
    async def holds(self, ctx: Context, member: Member) -> bool:
        """Whether it is so on one machine."""

    @abstractmethod
    async def make(self, ctx: Context, member: Member) -> None:
        """Make it so on one machine."""


class Preflight(AskMembers):
    """Every machine answers, and nothing of somebody else is where we want to be."""

    name = "preflight"

    async def ask(self, ctx: Context, member: Member) -> None:
        """The machine is free, or ours."""
        owner = await self.text(member, "owner")
        if owner not in {None, ctx.instance.id}:
            raise ConflictFailure(
                "machine_taken",
                f"{member.allocation_id} carries the {member.component_key} of {owner};"
                " remove it there or choose another machine.",
                detail={"member_id": member.id, "owner": owner},
            )


class Install(OnMembers):
    """The package in one version."""

    name = "install"

    def __init__(self, machines: Machines, members: Sequence[Member], version: str) -> None:
        super().__init__(machines, members)
        self._version = version

    async def holds(self, ctx: Context, member: Member) -> bool:
        """Whether this version is installed, and by us."""
        owner = await self.text(member, "owner")
        return owner == ctx.instance.id and await self.text(member, "package") == self._version

    async def make(self, ctx: Context, member: Member) -> None:
        """Install it."""
        await self.put(member, "owner", ctx.instance.id)
        await self.put(member, "package", self._version)
        ctx.say(f"{self._version} on {len(self.members)} members")

    async def undo(self, ctx: Context) -> None:
        """Take the package away."""
        del ctx
        for member in self.members:
            await self.machines.remove(member.allocation_id, member.component_key)


class Configure(OnMembers):
    """The configuration, as the settings say."""

    name = "configure"

    def __init__(self, machines: Machines, members: Sequence[Member], config: str) -> None:
        super().__init__(machines, members)
        self._config = config

    async def holds(self, ctx: Context, member: Member) -> bool:
        """Whether it is written as it should be."""
        del ctx
        return await self.text(member, "config.json") == self._config

    async def make(self, ctx: Context, member: Member) -> None:
        """Write it."""
        del ctx
        await self.put(member, "config.json", self._config)


class Unit(OnMembers):
    """The units run, or do not."""

    def __init__(self, machines: Machines, members: Sequence[Member], wanted: str) -> None:
        super().__init__(machines, members)
        self._wanted = wanted

    @property
    def title(self) -> str:
        """What it does."""
        return "start" if self._wanted == RUNNING else "stop"

    async def holds(self, ctx: Context, member: Member) -> bool:
        """Whether the unit is in the wanted state."""
        del ctx
        found = await self.text(member, "unit")
        return found == self._wanted or (self._wanted == STOPPED and found is None)

    async def make(self, ctx: Context, member: Member) -> None:
        """Start or stop it."""
        del ctx
        await self.put(member, "unit", self._wanted)


class Joined(OnMembers):
    """The gateway hands requests to these servers, or no longer does."""

    def __init__(
        self, machines: Machines, gateway: Member, servers: Sequence[Member], *, wanted: bool
    ) -> None:
        super().__init__(machines, servers)
        self._gateway = gateway
        self._wanted = wanted

    @property
    def title(self) -> str:
        """What it does."""
        return "join" if self._wanted else "leave"

    async def holds(self, ctx: Context, member: Member) -> bool:
        """Whether the gateway knows the server as wanted."""
        del ctx
        known = await self.text(self._gateway, f"servers/{member.id}") is not None
        return known == self._wanted

    async def make(self, ctx: Context, member: Member) -> None:
        """Tell the gateway."""
        del ctx
        name = f"servers/{member.id}"
        if self._wanted:
            await self.put(self._gateway, name, member.allocation_id)
        else:
            path = f"{self._gateway.component_key}/{name}"
            await self.machines.remove(self._gateway.allocation_id, path)


class Answers(AskMembers):
    """Each member answers."""

    name = "verify"

    async def ask(self, ctx: Context, member: Member) -> None:
        """Its unit runs."""
        if await self.text(member, "unit") != RUNNING:
            raise TemporaryFailure(
                "member_silent",
                f"The {member.component_key} {member.id} of {ctx.instance.id} does not answer.",
                detail={"member_id": member.id},
            )


class Uninstall(OnMembers):
    """Nothing of the app is left on the machines."""

    name = "uninstall"

    async def holds(self, ctx: Context, member: Member) -> bool:
        """Whether nothing is there."""
        del ctx
        return not await self.machines.names(member.allocation_id, member.component_key)

    async def make(self, ctx: Context, member: Member) -> None:
        """Take everything away."""
        del ctx
        await self.machines.remove(member.allocation_id, member.component_key)


@contextmanager
def _reachable() -> Iterator[None]:
    """A machine that cannot be asked may answer later."""
    try:
        yield
    except Unreachable as error:
        raise TemporaryFailure("machine_unreachable", f"{error}.", delay=30) from error
