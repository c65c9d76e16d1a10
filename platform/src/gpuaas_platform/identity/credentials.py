"""Secrets that prove an identity: how they look, how they are hashed, what follows from them.

Called by the authenticator and by the services that hand secrets out. Pure: randomness is an
argument. All secrets here carry 256 random bits, so a plain SHA-256 is enough to keep them by;
passwords are another matter (`passwords.py`).
"""

import base64
import hashlib
import hmac
from typing import Final

from gpuaas_contract.identity import KEY_PREFIX
from gpuaas_contract.ids import Prefix, id_valid

SECRET_BYTES: Final = 32


def secret_make(prefix: str, randomness: bytes) -> str:
    """A bearer secret of this kind; the prefix lets people and scanners recognise it."""
    return f"{prefix}_{text_of(randomness)}"


def secret_hash(secret: str) -> bytes:
    """What the database keeps of a secret."""
    return hashlib.sha256(secret.encode()).digest()


def secret_matches(secret: str, stored: bytes) -> bool:
    """Whether this is the secret that was hashed, told in constant time."""
    return hmac.compare_digest(secret_hash(secret), stored)


def key_secret_make(key_id: str, randomness: bytes) -> str:
    """The secret of a service account's key; it names the key, so that it is found at once."""
    return f"{KEY_PREFIX}_{key_id.removeprefix(f'{Prefix.KEY}_')}_{text_of(randomness)}"


def key_id_of(secret: str) -> str | None:
    """The id of the key a secret names, or None when it has not the form of one."""
    head, _, rest = secret.partition("_")
    body, separator, random = rest.partition("_")
    key_id = f"{Prefix.KEY}_{body}"
    if head != KEY_PREFIX or not separator or not random or not id_valid(key_id, Prefix.KEY):
        return None
    return key_id


def csrf_token(session_secret: str) -> str:
    """The token scripts of our own pages send along; follows from the session, reveals it not."""
    return text_of(hashlib.sha256(b"gpuaas-csrf\0" + session_secret.encode()).digest())


def csrf_matches(session_secret: str, given: str) -> bool:
    """Whether a request carries its session's token."""
    return hmac.compare_digest(csrf_token(session_secret).encode(), given.encode())


def text_of(data: bytes) -> str:
    """Bytes in the letters of addresses and cookies."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def bytes_of(text: str) -> bytes:
    """The bytes `text_of` wrote; a `ValueError` for a text it did not write."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
