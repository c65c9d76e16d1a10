"""Slows down guessing without locking anybody out of their account.

Failed sign-ins are counted by account and origin together, and by origin alone: the right password
from an origin without failed attempts is accepted whatever others try. An origin is an address, or
a device the account is known on. While an account has many failures, each origin gets fewer free
attempts. An attempt is counted before the password is looked at, and taken back when it was right.
The same for codes of terminals that wait to be let in, and for the terminals themselves.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv6Network, ip_address
from typing import Final

from gpuaas_contract.errors import ErrorCode
from gpuaas_platform.identity.known_devices import KnownDevice
from gpuaas_platform.identity.store import throttles as store
from gpuaas_platform.identity.store.people import email_key
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.database import Connection
from gpuaas_platform.kernel.problems import PlatformError

QUIET: Final = timedelta(hours=1)
NOTICED: Final = frozenset({5, 50, 500, 5000})  # failures of an account that are worth an event
_PRESSED_FROM: Final = 50
_PAIR: Final = store.Throttle(5, timedelta(minutes=15), QUIET)
_CODES: Final = store.Throttle(20, timedelta(minutes=15), QUIET)
_PAIR_PRESSED: Final = store.Throttle(1, timedelta(minutes=15), QUIET)
_ADDRESS: Final = store.Throttle(20, timedelta(minutes=15), QUIET)
_TERMINALS: Final = store.Throttle(30, timedelta(minutes=15), QUIET)
_HOST_NETWORK: Final = 64
_GUESSES: Final = store.Throttle(10, timedelta(minutes=15), QUIET)


@dataclass(frozen=True)
class Attempt:
    """A sign-in by password: the account it names, and the origin it comes from."""

    account: str
    address: str
    device: KnownDevice | None = None

    @property
    def pair(self) -> bytes:
        """The account and the origin together."""
        origin = self.address if self.device is None else f"device {self.device.id}"
        return _subject(b"pair", f"{email_key(self.account)}\0{origin}")


def attempt_of(call: Call, account: str, device: KnownDevice | None = None) -> Attempt:
    """A sign-in as it is counted."""
    return Attempt(account, origin_of(call.source), device)


async def attempt_begin(call: Call, attempt: Attempt) -> None:
    """Count an attempt, or refuse it while its origin has to wait."""
    now = call.platform.clock.now()
    async with call.db.connection() as conn:
        until = None
        if attempt.device is None:  # what others try from the same address is not the device's
            until = await store.attempt_count(conn, _address(attempt.address), now, _ADDRESS)
        if until is None:
            failures = await store.failures_read(conn, _account(attempt.account), now - QUIET)
            pressed = failures >= _PRESSED_FROM and attempt.device is None
            throttle = _PAIR_PRESSED if pressed else _PAIR
            until = await store.attempt_count(conn, attempt.pair, now, throttle)
    _passed(until, now)


async def attempt_succeeded(attempt: Attempt, conn: Connection) -> None:
    """The password was right: the account starts over at this origin, and only there."""
    address = None if attempt.device is not None else _address(attempt.address)
    await store.attempt_forgive(conn, attempt.pair, address)


async def attempt_failed(call: Call, attempt: Attempt) -> int:
    """The password was wrong; how many failures the account has had of late, from anywhere."""
    now = call.platform.clock.now()
    async with call.db.connection() as conn:
        return await store.failure_count(conn, _account(attempt.account), now, QUIET)


async def code_attempt_begin(call: Call, attempt: Attempt, *, short: bool) -> None:
    """Count a code of a second factor, or refuse it while its origin has to wait.

    Whoever gets here knows the password. Short codes can be guessed from many origins together, so
    the account as a whole waits too, but for devices it is known on.
    """
    now = call.platform.clock.now()
    async with call.db.connection() as conn:
        until = await store.attempt_count(conn, _code_pair(attempt), now, _PAIR)
        if until is None and short and attempt.device is None:
            until = await store.attempt_count(conn, _codes(attempt), now, _CODES)
    _passed(until, now)


async def code_succeeded(attempt: Attempt, conn: Connection) -> None:
    """The code was right: it starts over at this origin, and so does the account."""
    await store.attempt_forget(conn, _code_pair(attempt))
    await store.attempt_forget(conn, _codes(attempt))


def origin_of(source: str) -> str:
    """What counts as one origin: an address, or the network a host has in IPv6."""
    try:
        address = ip_address(source)
    except ValueError:
        return source
    if isinstance(address, IPv4Address):
        return source
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(IPv6Network((address, _HOST_NETWORK), strict=False))


async def attempt_returned(attempt: Attempt, conn: Connection) -> None:
    """The password was right for some accounts of the address: the others' guesses stay counted.

    Else who has one account at an address could guess the password of another one without end.
    """
    await store.attempt_return(conn, attempt.pair)
    if attempt.device is None:
        await store.attempt_return(conn, _address(attempt.address))


async def device_begins(call: Call) -> None:
    """Count a terminal's sign-in, or refuse it while too many from its address wait."""
    await _counted(call, _subject(b"terminal", call.source), _TERMINALS)


async def device_fetched(call: Call, conn: Connection) -> None:
    """A terminal was let in and has its token: its address starts over."""
    await store.attempt_forget(conn, _subject(b"terminal", call.source))


async def guess_begins(call: Call) -> None:
    """Count a look at a code or at the own password, or refuse it while this person has to wait."""
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


def _code_pair(attempt: Attempt) -> bytes:
    return _subject(b"code", attempt.pair.hex())


def _codes(attempt: Attempt) -> bytes:
    return _subject(b"codes", email_key(attempt.account))


def _address(origin: str) -> bytes:
    return _subject(b"address", origin)


def _subject(kind: bytes, who: str) -> bytes:
    return hashlib.sha256(kind + b"\0" + who.encode()).digest()
