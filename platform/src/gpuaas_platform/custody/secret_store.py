"""Where secrets lie: one small interface, two stores behind it, chosen by a setting.

Called by the services of this room, always outside a database transaction: a store may be another
machine. A secret is written under a path of its own first; then the row that names it commits.
"""

import secrets
from datetime import timedelta
from typing import Final, Protocol

from gpuaas_contract.errors import ErrorCode
from gpuaas_platform.custody.store import values
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.problems import PlatformError, Unavailable
from gpuaas_platform.kernel.work import Work

PART: Final = "custody.secret_store"
SWEEP: Final = "custody.sweep"
# Longer than any request lives: what is not named by a row after this long never will be.
_ORPHANED_AFTER: Final = timedelta(hours=1)


class SecretMissing(PlatformError):
    """The store has no such secret, though somebody names it."""

    def __init__(self, path: str) -> None:
        super().__init__(ErrorCode.UNAVAILABLE, "The secret is not in the secret store.")
        self.add_note(path)


class SecretTampered(PlatformError):
    """What the store holds is not what was put there."""

    def __init__(self, path: str) -> None:
        super().__init__(
            ErrorCode.UNAVAILABLE,
            "A stored secret was changed or belongs elsewhere; it is not used.",
        )
        self.add_note(path)


class SecretStore(Protocol):
    """Secrets by path, in versions counted from 1. Every failure to reach it is `Unavailable`."""

    async def put(self, path: str, value: bytes) -> int:
        """Keep a value as the path's next version; returns its number."""

    async def get(self, path: str, version: int | None = None) -> bytes:
        """A version, or the newest. Raises `SecretMissing` or `SecretTampered`."""

    async def versions(self, path: str) -> list[int]:
        """Numbers of the versions there are, oldest first; none for an unknown path."""

    async def delete(self, path: str) -> None:
        """Forget a path with all its versions for good. An unknown path is no error."""


def secret_store_of(platform: Platform) -> SecretStore:
    """The store this process uses."""
    store: SecretStore = platform.parts[PART]
    return store


async def secret_stash(platform: Platform, kind: str, value: bytes) -> str:
    """Write a secret that no row names yet; returns its path. `secret_keep` makes it stay."""
    path = f"{kind}/{secrets.token_hex(16)}"
    async with platform.db.connection() as conn:
        await values.sweep_add(conn, path, platform.clock.now() + _ORPHANED_AFTER)
    await secret_store_of(platform).put(path, value)
    return path


async def secret_keep(work: Work, path: str) -> None:
    """Let a stashed secret stay: part of the transaction that writes its path into a row."""
    if not await values.sweep_cancel(work.conn, path):
        raise Unavailable("The secret store")


async def secret_drop(work: Work, path: str) -> None:
    """Have a secret deleted once this transaction has committed."""
    await values.sweep_add(work.conn, path, work.now)
    work.signal(SWEEP)
