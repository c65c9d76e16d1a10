"""A bounded cache for what can never be stale: things named by the digest they were made from."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Cache(Generic[K, V]):
    """Keeps the `size` entries used last."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: dict[K, V] = {}

    def get(self, key: K, make: Callable[[], V]) -> V:
        """The kept value, or a new one that is kept from now on."""
        value = self._kept.pop(key) if key in self._kept else make()
        self._kept[key] = value
        if len(self._kept) > self._size:
            del self._kept[next(iter(self._kept))]
        return value
