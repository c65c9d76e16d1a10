"""What opens a delivery: a signed statement that names it and its end. Nothing of it is stored.

Signed by the installation's keyring, so any replica that has it can check a token made by another.
Bound to one delivery, which is bound to one artifact, one allocation and one purpose.
"""

import base64
import binascii
from datetime import UTC, datetime
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from gpuaas_contract.errors import ErrorCode
from gpuaas_platform.kernel.keyring import Keyring
from gpuaas_platform.kernel.problems import PlatformError

PREFIX: Final = "gpd_"
_PURPOSE: Final = "artifact-delivery"
_SIGNATURE_BYTES: Final = 64
_TIME_BYTES: Final = 5


def token_make(keyring: Keyring, delivery_id: str, expires_at: datetime) -> str:
    """A token for a delivery until a moment."""
    moment = int(expires_at.timestamp()).to_bytes(_TIME_BYTES)
    signature = keyring.signer(_PURPOSE).key.sign(_statement(delivery_id, moment))
    return PREFIX + base64.urlsafe_b64encode(moment + signature).decode().rstrip("=")


def token_require(keyring: Keyring, delivery_id: str, token: str, now: datetime) -> None:
    """Pass for a token that was made for this delivery and has not ended."""
    moment, signature = _parsed(token)
    statement = _statement(delivery_id, moment)
    if not any(_made(key, signature, statement) for key in keyring.public_keys(_PURPOSE).values()):
        raise _wrong()
    if now >= datetime.fromtimestamp(int.from_bytes(moment), UTC):
        raise PlatformError(ErrorCode.TOKEN_EXPIRED, "The delivery has ended; ask for another one.")


def _parsed(token: str) -> tuple[bytes, bytes]:
    text = token.removeprefix(PREFIX)
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise _wrong() from error
    if not token.startswith(PREFIX) or len(raw) != _TIME_BYTES + _SIGNATURE_BYTES:
        raise _wrong()
    return raw[:_TIME_BYTES], raw[_TIME_BYTES:]


def _statement(delivery_id: str, moment: bytes) -> bytes:
    return b"gpuaas-artifact-delivery\0" + delivery_id.encode() + b"\0" + moment


def _made(public: bytes, signature: bytes, statement: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, statement)
    except InvalidSignature:
        return False
    return True


def _wrong() -> PlatformError:
    return PlatformError(
        ErrorCode.UNAUTHENTICATED, "The token does not open this delivery; ask for another one."
    )
