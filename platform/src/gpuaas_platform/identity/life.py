"""This room's life in a process: its parts, the administrator named by settings, tidying up."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import Final

import httpx2

from gpuaas_platform.identity.bootstrap import bootstrap_from_settings
from gpuaas_platform.identity.dns import DnsResolver
from gpuaas_platform.identity.oidc import Provider, operator_config
from gpuaas_platform.identity.parts import Parts, parts_keep
from gpuaas_platform.identity.passwords import Passwords
from gpuaas_platform.identity.providers import Providers
from gpuaas_platform.identity.resolving import Resolver
from gpuaas_platform.identity.store import (
    devices,
    failures,
    federation,
    second_factors,
    throttles,
    tokens,
)
from gpuaas_platform.identity.throttle import QUIET
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.loops import Loop, loop_running
from gpuaas_platform.kernel.outbound import Guard
from gpuaas_platform.kernel.tls import client_context

_REMEMBER_ENDED: Final = timedelta(days=1)
_REMEMBER_FAILURES: Final = timedelta(days=30)
_SWEEP_SECONDS: Final = 600.0
_PROVIDER_SECONDS: Final = 10.0


@asynccontextmanager
async def identity_life(platform: Platform) -> AsyncIterator[None]:
    """Run for as long as the process serves."""
    sweep = Loop("identity-sweep", partial(_sweep, platform), _SWEEP_SECONDS, "identity.sweep")
    async with httpx2.AsyncClient(timeout=_PROVIDER_SECONDS, verify=client_context()) as http:
        settings = platform.settings
        configured = settings.oidc_issuer is not None
        provider = Provider(operator_config(settings), http) if configured else None
        providers = Providers(Guard(settings.provider_allowed_networks))
        resolver = Resolver(platform.db, platform.clock)
        names = DnsResolver(settings)
        parts_keep(platform, Parts(Passwords(), resolver, provider, providers, names))
        await bootstrap_from_settings(platform)
        try:
            async with loop_running(platform.signals, sweep):
                yield
        finally:
            await providers.close()


async def _sweep(platform: Platform) -> None:
    """Forget tokens and terminals' sign-ins that ended a while ago, and attempts long past."""
    now = platform.clock.now()
    async with platform.db.connection() as conn:
        await tokens.tokens_sweep(conn, now - _REMEMBER_ENDED)
        await devices.devices_sweep(conn, now - _REMEMBER_ENDED)
        await federation.pending_sweep(conn, now)
        await throttles.throttles_sweep(conn, now - QUIET)
        await second_factors.challenges_sweep(conn, now)
        await failures.failures_sweep(conn, now - _REMEMBER_FAILURES)
