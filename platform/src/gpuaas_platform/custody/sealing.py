"""Secrets on their way to one reader: sealed by HPKE (RFC 9180) to the reader's public key.

Called inside the transaction that records the delivery. What it returns is worth nothing to anybody
but the holder of the private key, and nothing to that one under another name.
"""

import base64
from typing import Final

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from gpuaas_contract.custody import Sealed
from gpuaas_contract.errors import ErrorCode
from gpuaas_platform.identity.service import service_account_facts
from gpuaas_platform.kernel.caller import CallerKind
from gpuaas_platform.kernel.problems import PlatformError
from gpuaas_platform.kernel.work import Work

_SUITE: Final = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)


async def reader_key(work: Work) -> bytes:
    """The public key registered for the calling service account; only such a caller can read."""
    caller = work.call.caller
    facts = None
    if caller.kind is CallerKind.SERVICE_ACCOUNT:
        facts = await service_account_facts(work.conn, caller.id)
    if facts is None or facts.public_key is None:
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            "Secrets are delivered to service accounts with a public key; register one first.",
        )
    return facts.public_key


def sealed_to(public_key: bytes, value: bytes, what: str, reader: str) -> Sealed:
    """The value for its reader. It opens only as what it is, for whom it is."""
    info = f"gpuaas:{what}:{reader}"
    try:
        box = _SUITE.encrypt(value, X25519PublicKey.from_public_bytes(public_key), info.encode())
    except ValueError:  # a point of small order, with which anybody could open it
        raise PlatformError(
            ErrorCode.STATE_CONFLICT, "The registered public key cannot be sealed to; replace it."
        ) from None
    return Sealed(info=info, ciphertext=base64.b64encode(box).decode())
