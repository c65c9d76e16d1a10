"""Time-based one-time passwords (RFC 6238) as every authenticator app makes them. Pure."""

import base64
import hmac
import struct
from datetime import datetime
from typing import Final
from urllib.parse import quote, urlencode

SECRET_BYTES: Final = 20
DIGITS: Final = 6
_STEP_SECONDS: Final = 30
_SKEW_STEPS: Final = 1


def code_at(secret: bytes, step: int) -> str:
    """The code of one step of half a minute."""
    digest = hmac.digest(secret, struct.pack(">Q", step), "sha1")
    offset = digest[-1] & 0xF
    number = struct.unpack(">I", digest[offset : offset + 4])[0] & 0x7FFF_FFFF
    return f"{number % 10**DIGITS:0{DIGITS}}"


def step_of(secret: bytes, code: str, now: datetime, after: int | None) -> int | None:
    """The step a code belongs to, of those around now and later than `after`; None for none."""
    current = int(now.timestamp()) // _STEP_SECONDS
    for step in range(current - _SKEW_STEPS, current + _SKEW_STEPS + 1):
        later = after is None or step > after
        if later and hmac.compare_digest(code_at(secret, step).encode(), code.encode()):
            return step
    return None


def secret_text(secret: bytes) -> str:
    """A secret as people type it into an app."""
    return base64.b32encode(secret).decode()


def secret_uri(secret: bytes, account: str, issuer: str) -> str:
    """A secret as an app reads it from a QR code."""
    label = quote(f"{issuer}:{account}", safe="")
    query = urlencode({"secret": secret_text(secret), "issuer": issuer})
    return f"otpauth://totp/{label}?{query}"
