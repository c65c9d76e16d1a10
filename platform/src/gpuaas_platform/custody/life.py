"""This room's life in a process: its secret store, and the loops that tidy it."""

import importlib
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from typing import Any, Final

from gpuaas_platform.custody.credentials import credential_expire
from gpuaas_platform.custody.embedded_store import EmbeddedStore
from gpuaas_platform.custody.runtime_secrets import secret_expire
from gpuaas_platform.custody.secret_store import PART, SWEEP, secret_store_of
from gpuaas_platform.custody.store import credentials as credential_rows
from gpuaas_platform.custody.store import secrets as secret_rows
from gpuaas_platform.custody.store import values
from gpuaas_platform.kernel.call import Platform, system_call
from gpuaas_platform.kernel.loops import Loop, loop_running
from gpuaas_platform.kernel.work import Handler, Undone, mutate

_SWEEP_SECONDS: Final = 60.0
_REWRAP_SECONDS: Final = 300.0
_BATCH: Final = 100


@asynccontextmanager
async def custody_life(platform: Platform) -> AsyncIterator[None]:
    """Run for as long as the process serves."""
    if platform.settings.secret_store == "vault":  # noqa: S105 - the name of a kind of store
        async with _vault(platform), _sweeping(platform):
            yield
        return
    embedded = EmbeddedStore(platform)
    platform.parts[PART] = embedded
    turn = partial(_rewrap, embedded)
    rewrap = Loop("custody-rewrap", turn, _REWRAP_SECONDS, "custody.rewrap")
    async with _sweeping(platform), loop_running(platform.signals, rewrap):
        yield


async def sweep_turn(platform: Platform) -> None:
    """End what has expired; delete secrets nobody names: given up, or never named at all."""
    await _expire(platform)
    while True:
        async with platform.db.connection() as conn:
            paths = await values.sweep_take(conn, platform.clock.now(), _BATCH)
        for path in paths:
            await secret_store_of(platform).delete(path)
            async with platform.db.connection() as conn:
                await values.sweep_done(conn, path)
        if len(paths) < _BATCH:
            return


async def _expire(platform: Platform) -> None:
    """End credentials and secrets whose time is over, each in a transaction of its own."""
    now = platform.clock.now()
    async with platform.db.connection() as conn:
        credentials = await credential_rows.credentials_due(conn, now, _BATCH)
        leases = await secret_rows.secrets_due(conn, now, _BATCH)
    for credential_id in credentials:
        end = partial(credential_expire, credential_id=credential_id)
        await _ended(platform, "custody.credential.expire", end)
    for secret_id in leases:
        finish = partial(secret_expire, secret_id=secret_id)
        await _ended(platform, "custody.secret.expire", finish)


async def _ended(platform: Platform, action: str, handler: Handler[Any]) -> None:
    story = f"expiry-{platform.clock.randomness(8).hex()}"
    with suppress(Undone):  # another replica was first
        await mutate(system_call(platform, "/custody/expiry", story), action, handler)


async def _rewrap(store: EmbeddedStore) -> None:
    """Have every data key wrapped by the newest key of the keyring."""
    while await store.rewrap():
        pass


@asynccontextmanager
async def _vault(platform: Platform) -> AsyncIterator[None]:
    # Not imported by those who keep their secrets here: it brings Vault's client and its HTTP.
    module = importlib.import_module("gpuaas_platform.custody.vault_store")
    vault = module.VaultStore(platform.settings)
    platform.parts[PART] = vault
    try:
        yield
    finally:
        vault.close()


def _sweeping(platform: Platform) -> AbstractAsyncContextManager[None]:
    sweep = Loop("custody-sweep", partial(sweep_turn, platform), _SWEEP_SECONDS, SWEEP)
    return loop_running(platform.signals, sweep)
