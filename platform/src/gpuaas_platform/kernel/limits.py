"""Rate limits: one token bucket per caller, in memory, per replica.

Asked by the HTTP layer before any work is done. The time is an argument. Buckets of callers that
have been quiet long enough to be full again are forgotten, so memory follows the active callers.
"""

from dataclasses import dataclass


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
