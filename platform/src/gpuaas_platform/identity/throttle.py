"""Slows down guessing: each account and each address waits longer after each wrong sign-in.

An attempt is counted before the password is looked at, and taken back when it was right.
"""

import hashlib
from datetime import timedelta
from typing import Final

from gpuaas_contract.errors import ErrorCode
from gpuaas_platform.identity.store import throttles as store
from gpuaas_platform.identity.store.people import email_key
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.database import Connection
from gpuaas_platform.kernel.problems import PlatformError

QUIET: Final = timedelta(hours=1)
_ACCOUNT: Final = store.Throttle(5, timedelta(minutes=15), QUIET)
_ADDRESS: Final = store.Throttle(20, timedelta(minutes=15), QUIET)


async def attempt_begin(call: Call, email: str) -> None:
    """Count an attempt, or refuse it while the account or the address has to wait."""
    now = call.platform.clock.now()
    async with call.db.connection() as conn:
        until = await store.attempt_count(conn, _address(call), now, _ADDRESS)
        if until is None:
            until = await store.attempt_count(conn, _account(email), now, _ACCOUNT)
    if until is not None:
        raise PlatformError(
            ErrorCode.RATE_LIMITED,
            "Too many attempts to sign in; wait a little.",
            retry_after=(until - now).total_seconds(),
        )


async def attempt_succeeded(call: Call, email: str, conn: Connection) -> None:
    """The sign-in was right."""
    await store.attempt_forgive(conn, _account(email), _address(call))


def _account(email: str) -> bytes:
    # Hashed, because people type all kinds of things into this field.
    return hashlib.sha256(b"account\0" + email_key(email).encode()).digest()


def _address(call: Call) -> bytes:
    return hashlib.sha256(b"address\0" + call.source.encode()).digest()
