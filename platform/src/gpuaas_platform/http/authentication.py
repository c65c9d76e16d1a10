"""Who is calling: placeholder of the composition until the identity room answers."""

from fastapi import Request

from gpuaas_contract.errors import ErrorCode
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.caller import Caller
from gpuaas_platform.kernel.problems import PlatformError


async def authenticate(_: Platform, __: Request) -> Caller:
    """Nobody can sign in before there are identities."""
    raise PlatformError(ErrorCode.UNAUTHENTICATED, "Sign in first.")
