"""When a failed delivery is tried again. Pure: randomness is an argument."""

from typing import Final

_FIRST_SECONDS: Final = 5.0
_MOST_SECONDS: Final = 600.0
_ASKED_MOST_SECONDS: Final = 3600.0


def retry_delay(attempts: int, chance: float, asked: float | None = None) -> float:
    """Seconds to wait after so many attempts: doubling, with jitter (`chance` from 0 to 1).

    A target that asks for more time (`Retry-After`) gets it, up to an hour.
    """
    ceiling = min(_FIRST_SECONDS * 2.0 ** min(attempts - 1, 30), _MOST_SECONDS)
    jittered = ceiling * (0.5 + chance / 2)
    return max(jittered, min(asked or 0.0, _ASKED_MOST_SECONDS))
