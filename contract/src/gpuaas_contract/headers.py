"""Where the API lives and the headers a call carries: names and forms, for whoever makes calls.

Told apart from the types, because a program that only makes a call need not load them. Pure.
"""

from typing import Final

API_PREFIX: Final = "/api/v1"
CORRELATION_HEADER: Final = "X-Correlation-ID"
CORRELATION_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$"
IDEMPOTENCY_HEADER: Final = "Idempotency-Key"
IDEMPOTENT_REPLAY_HEADER: Final = "Idempotent-Replay"
CSRF_HEADER: Final = "X-CSRF-Token"
CSRF_COOKIE: Final = "gpuaas_csrf"
