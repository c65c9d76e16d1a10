"""Slows down guessing: each account and each address waits longer after each wrong sign-in.

An attempt is counted before the password is looked at, and taken back when it was right. The same
for codes of terminals that wait to be let in, and for the terminals themselves.
"""

import hashlib
from datetime import datetime, timedelta
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
_TERMINALS: Final = store.Throttle(30, timedelta(minutes=15), QUIET)
_GUESSES: Final = store.Throttle(10, timedelta(minutes=15), QUIET)


async def attempt_begin(call: Call, email: str) -> None:
    """Count an attempt, or refuse it while the account or the address has to wait."""
    now = call.platform.clock.now()
    async with call.db.connection() as conn:
        until = await store.attempt_count(conn, _address(call), now, _ADDRESS)
        if until is None:
            until = await store.attempt_count(conn, _account(email), now, _ACCOUNT)
    _passed(until, now)


async def attempt_succeeded(call: Call, email: str, conn: Connection) -> None:
    """The sign-in was right."""
    await store.attempt_forgive(conn, _account(email), _address(call))


async def attempt_returned(call: Call, email: str, conn: Connection) -> None:
    """The password was right for some accounts of the address: the others' guesses stay counted.

    Else who has one account at an address could guess the password of another one without end.
    """
    await store.attempt_return(conn, _account(email))
    await store.attempt_return(conn, _address(call))


async def device_begins(call: Call) -> None:
    """Count a terminal's sign-in, or refuse it while too many from its address wait."""
    await _counted(call, _subject(b"terminal", call.source), _TERMINALS)


async def device_fetched(call: Call, conn: Connection) -> None:
    """A terminal was let in and has its token: its address starts over."""
    await store.attempt_forget(conn, _subject(b"terminal", call.source))


async def guess_begins(call: Call) -> None:
    """Count a look at a code, or refuse it while this person has to wait."""
    await _counted(call, _subject(b"guess", call.caller.id), _GUESSES)


async def guessed(call: Call, conn: Connection) -> None:
    """The code was one that waits."""
    await store.attempt_forget(conn, _subject(b"guess", call.caller.id))


async def _counted(call: Call, subject: bytes, throttle: store.Throttle) -> None:
    now = call.platform.clock.now()
    async with call.db.connection() as conn:
        until = await store.attempt_count(conn, subject, now, throttle)
    _passed(until, now)


def _passed(until: datetime | None, now: datetime) -> None:
    if until is not None:
        raise PlatformError(
            ErrorCode.RATE_LIMITED,
            "Too many attempts to sign in; wait a little.",
            retry_after=(until - now).total_seconds(),
        )


def _account(email: str) -> bytes:
    # Hashed, because people type all kinds of things into this field.
    return _subject(b"account", email_key(email))


def _address(call: Call) -> bytes:
    return _subject(b"address", call.source)


def _subject(kind: bytes, who: str) -> bytes:
    return hashlib.sha256(kind + b"\0" + who.encode()).digest()
