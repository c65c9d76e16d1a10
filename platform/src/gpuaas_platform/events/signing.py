"""Signatures of deliveries, after the Standard Webhooks scheme, and the secrets they need. Pure.

The signed text is `<id>.<timestamp>.<body>`; a receiver recomputes it with the secret it was shown
once. While a secret is being replaced, both sign.
"""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from gpuaas_contract.events import (
    CLOUDEVENTS_MEDIA_TYPE,
    WEBHOOK_ID_HEADER,
    WEBHOOK_SECRET_PREFIX,
    WEBHOOK_SIGNATURE_HEADER,
    WEBHOOK_TIMESTAMP_HEADER,
)

SECRET_BYTES: Final = 32


def secret_text(key: bytes) -> str:
    """A key as it is shown to people."""
    return WEBHOOK_SECRET_PREFIX + base64.b64encode(key).decode()


def signature(key: bytes, message_id: str, timestamp: int, body: bytes) -> str:
    """One signature, with the version of the scheme before it."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    digest = hmac.new(key, signed, hashlib.sha256).digest()
    return "v1," + base64.b64encode(digest).decode()


def delivery_headers(
    keys: Sequence[bytes], message_id: str, now: datetime, body: bytes
) -> list[tuple[str, str]]:
    """The headers of a delivery, signed with every key that is valid now."""
    timestamp = int(now.timestamp())
    signatures = [signature(key, message_id, timestamp, body) for key in keys]
    return [
        ("content-type", CLOUDEVENTS_MEDIA_TYPE),
        ("user-agent", "gpuaas-webhooks"),
        (WEBHOOK_ID_HEADER, message_id),
        (WEBHOOK_TIMESTAMP_HEADER, str(timestamp)),
        (WEBHOOK_SIGNATURE_HEADER, " ".join(signatures)),
    ]
