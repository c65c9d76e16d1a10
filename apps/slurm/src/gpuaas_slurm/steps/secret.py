"""The cluster's key in custody, when nobody needs it any more."""

from gpuaas_sdk import Context, Step
from gpuaas_slurm.services import Services


class KeyRevoked(Step):
    """Custody has no key of this instance."""

    name = "key"

    def __init__(self, services: Services) -> None:
        self.services = services

    async def check(self, ctx: Context) -> bool:
        """Whether there is none."""
        return not await self.services.munge_key_kept(ctx.instance)

    async def do(self, ctx: Context) -> None:
        """Revoke it; its value is deleted."""
        await self.services.munge_key_forget(ctx)
