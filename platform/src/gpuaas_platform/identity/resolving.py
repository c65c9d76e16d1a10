"""Looks tokens up for all who ask at the same time, in one statement.

Every request asks, so under load many ask at once. Whoever asks while a look-up is under way is
served by the next one, never by that: what was revoked before a request came is revoked for it.
"""

import asyncio

from gpuaas_platform.identity.store import tokens as store
from gpuaas_platform.kernel.clock import Clock
from gpuaas_platform.kernel.database import Database, Record

_Asker = asyncio.Future[Record | None]


class Resolver:
    """One per process; at most one look-up at a time."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock
        self._asked: dict[bytes, list[_Asker]] = {}
        self._looking: asyncio.Task[None] | None = None

    async def resolve(self, token_hash: bytes) -> Record | None:
        """A token by its hash, with what its principal holds; None when there is none."""
        asker: _Asker = asyncio.get_running_loop().create_future()
        self._asked.setdefault(token_hash, []).append(asker)
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
        return await asker

    async def _look(self) -> None:
        try:
            while self._asked:
                asked, self._asked = self._asked, {}
                await self._answer(asked)
        finally:
            self._looking = None

    async def _answer(self, asked: dict[bytes, list[_Asker]]) -> None:
        try:
            async with self._db.connection() as conn:
                rows = await store.tokens_resolve(conn, list(asked), self._clock.now())
        except Exception as error:  # noqa: BLE001 - it is each asker's to handle
            for asker in _still_there(asked):
                asker.set_exception(error)
            return
        found = {row["hash"]: row for row in rows}
        for token_hash, askers in asked.items():
            for asker in askers:
                if not asker.done():
                    asker.set_result(found.get(token_hash))


def _still_there(asked: dict[bytes, list[_Asker]]) -> list[_Asker]:
    return [asker for askers in asked.values() for asker in askers if not asker.done()]
