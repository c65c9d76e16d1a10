"""Passwords of local users: argon2id, in a thread, a few at a time.

One per process, kept in the platform's parts. An unknown person's password is checked too, against
a hash nobody has the password of, so that both answers take the same time.
"""

import asyncio
import base64
import os
import unicodedata
from collections.abc import Sequence
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from gpuaas_platform.identity.password_rules import password_fault

_TIME: Final = 3
_MEMORY_KIB: Final = 32 * 1024
_LANES: Final = 1
_AT_ONCE: Final = 2  # each takes a core and 32 MiB for a while: a flood of sign-ins must queue


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode().rstrip("=")


_NOBODY: Final = (
    f"$argon2id$v=19$m={_MEMORY_KIB},t={_TIME},p={_LANES}"
    f"${_text(os.urandom(16))}${_text(os.urandom(32))}"
)


class Passwords:
    """Hashes and checks passwords without stopping the event loop."""

    def __init__(self) -> None:
        self._hasher = PasswordHasher(_TIME, _MEMORY_KIB, _LANES)
        self._gate = asyncio.Semaphore(_AT_ONCE)

    async def fault(self, password: str, names: Sequence[str]) -> str | None:
        """Why a new password is refused, or None."""
        async with self._gate:
            return await asyncio.to_thread(password_fault, password, names)

    async def hash(self, password: str) -> str:
        """What the database keeps."""
        async with self._gate:
            return await asyncio.to_thread(self._hasher.hash, _normal(password))

    async def verify(self, stored: str | None, password: str) -> bool:
        """Whether the password is right; takes as long when there is none to compare with."""
        async with self._gate:
            return await asyncio.to_thread(self._verify, stored or _NOBODY, password)

    def outdated(self, stored: str) -> bool:
        """Whether a hash was made with other parameters than today's."""
        return self._hasher.check_needs_rehash(stored)

    def _verify(self, stored: str, password: str) -> bool:
        # Hashes older than the normal form were made of what was typed.
        return any(self._matches(stored, typed) for typed in {_normal(password), password})

    def _matches(self, stored: str, password: str) -> bool:
        try:
            return self._hasher.verify(stored, password)
        except (VerificationError, InvalidHashError):
            return False


def _normal(password: str) -> str:
    """One form of a password, whichever way a keyboard composes its letters."""
    return unicodedata.normalize("NFKC", password)
