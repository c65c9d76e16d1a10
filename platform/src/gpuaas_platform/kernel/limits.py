"""Limits in memory, per replica: the rate of each caller, and how much is open at once.

Asked by the HTTP layer before any work is done. The time is an argument. Buckets of callers that
have been quiet long enough to be full again are forgotten, so memory follows the active callers.
"""

import ipaddress
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

Networks = tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class RateLimiter:
    """Token buckets with one common rate and burst."""

    def __init__(self, per_second: float, burst: int) -> None:
        self._rate = per_second
        self._burst = float(burst)
        self._buckets: dict[str, _Bucket] = {}
        self._sweep_at = 0.0

    def wait_for(self, who: str, now: float) -> float:
        """Take one token; 0 when there was one, else the seconds until there will be."""
        if now >= self._sweep_at:
            self._sweep(now)
        bucket = self._buckets.get(who)
        if bucket is None:
            self._buckets[who] = _Bucket(self._burst - 1, now)
            return 0.0
        bucket.tokens = min(self._burst, bucket.tokens + (now - bucket.at) * self._rate)
        bucket.at = now
        if bucket.tokens >= 1:
            bucket.tokens -= 1
            return 0.0
        return (1 - bucket.tokens) / self._rate

    def _sweep(self, now: float) -> None:
        full_after = self._burst / self._rate
        self._buckets = {
            who: bucket for who, bucket in self._buckets.items() if now - bucket.at < full_after
        }
        self._sweep_at = now + full_after


class OpenLimit:
    """How much each key (an address, a tenant) may have open at once."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._open: Counter[str] = Counter()

    def enter(self, key: str) -> bool:
        """Count one more; False when the key has as much open as it may."""
        if self._open[key] >= self.most:
            return False
        self._open[key] += 1
        return True

    def leave(self, key: str) -> None:
        """One that was counted is over."""
        self._open[key] -= 1
        if self._open[key] <= 0:
            del self._open[key]

    def __len__(self) -> int:
        """How many keys have anything open."""
        return len(self._open)


@lru_cache(4096)
def address_shared(address: str, proxies: Networks) -> bool:
    """Whether an address stands for many people: a proxy's, or this host's own."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return True  # no address: a test's, or a socket in the file system
    known = (*_THIS_HOST, *proxies)
    return any(parsed in network for network in known if network.version == parsed.version)


_THIS_HOST: Networks = (ipaddress.ip_network("127.0.0.1/32"), ipaddress.ip_network("::1/128"))
