"""Time and ids, behind one small object so that a test can hold both still."""

import os
from datetime import UTC, datetime

from gpuaas_contract.ids import RANDOM_BYTES, Prefix, id_make


class Clock:
    """The real clock and the real source of randomness."""

    def now(self) -> datetime:
        """The present moment, with its time zone (UTC)."""
        return datetime.now(UTC)

    def randomness(self, count: int) -> bytes:
        """Bytes nobody can guess."""
        return os.urandom(count)

    def new_id(self, prefix: Prefix) -> str:
        """A new id of this kind; ids sort by the time they were made."""
        milliseconds = int(self.now().timestamp() * 1000)
        return id_make(prefix, milliseconds, self.randomness(RANDOM_BYTES))
