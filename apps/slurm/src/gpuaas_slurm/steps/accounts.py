"""Accounting's tree: the cluster and the project's account, there before a job can be."""

from collections.abc import Iterable
from typing import ClassVar

from gpuaas_sdk import Context, Step, TemporaryFailure
from gpuaas_slurm.commands import Association, ControllerSilentError
from gpuaas_slurm.commands.jobs import TRIAL_ACCOUNT, TRIAL_USER
from gpuaas_slurm.documents import ClusterDocument
from gpuaas_slurm.ground import Ground


class Accounts(Step):
    """Accounting knows the cluster, every account, and the user of the app's test jobs."""

    name = "accounts"
    deadline_seconds: ClassVar[int | None] = 120

    def __init__(self, ground: Ground) -> None:
        self.ground = ground

    async def check(self, ctx: Context) -> bool:
        """Whether all of it is there."""
        del ctx
        if self.ground.associations is None:
            self.ground.associations = await self._known()
        return not _missing(await self.ground.known(), self.ground.associations)

    async def do(self, ctx: Context) -> None:
        """Add what is missing."""
        document = await self.ground.known()
        slurm = await self.ground.slurm()
        name = document.cluster.name
        said, known = await slurm.tree_add(name, tuple(document.accounts.values()))
        self.ground.associations = known
        missing = _missing(document, known)
        if missing:
            lacks = ", ".join(
                sorted(f"{user} of {account}" if user else account for account, user in missing)
            )
            raise TemporaryFailure(
                "accounts_missing",
                f"Accounting did not take {lacks}; it said: {said.strip()[-800:]}",
            )
        ctx.say(f"cluster {name}, account {', '.join(document.accounts.values())}")

    async def verify(self, ctx: Context) -> bool:
        """It is there: `do` looked."""
        del ctx
        return True

    async def _known(self) -> tuple[Association, ...]:
        try:
            return await (await self.ground.slurm()).associations()
        except ControllerSilentError as error:
            text = f"slurmdbd does not answer: {error}"
            raise TemporaryFailure("accounting_silent", text, delay=5) from error


def _missing(document: ClusterDocument, known: Iterable[Association]) -> set[tuple[str, str]]:
    """Accounts, each with an empty name, and accounts with a user that are not there."""
    name = document.cluster.name
    wanted = {(one, "") for one in ("root", *document.accounts.values())}
    wanted.add((TRIAL_ACCOUNT, TRIAL_USER))
    return wanted - {(one.account, one.user) for one in known if one.cluster == name}
