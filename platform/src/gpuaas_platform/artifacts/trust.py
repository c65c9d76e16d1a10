"""Signatures: ECDSA over P-256 with SHA-256, as `cosign sign-blob` and openssl write them. Pure.

What is signed is the file (or, for OCI, the manifest), and a signature of this kind is over its
SHA-256. The platform knows that digest and has verified it, so no content is read to judge a
signature: `cosign verify-blob`, `openssl dgst -sha256 -verify` and this agree.
"""

import base64
import binascii
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_public_key,
)

from gpuaas_platform.kernel.problems import invalid

_PREHASHED: Final = ec.ECDSA(Prehashed(SHA256()))


@dataclass(frozen=True)
class TrustedKey:
    """A key whose signatures count."""

    id: str
    public_key: str


def public_key_parse(text: str) -> tuple[str, str]:
    """A key in its one writing, and its fingerprint. Refuses what is not a P-256 key."""
    try:
        key = load_pem_public_key(text.strip().encode())
    except (ValueError, UnsupportedAlgorithm) as error:
        raise invalid("/public_key", "is not a public key in PEM") from error
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, ec.SECP256R1):
        raise invalid("/public_key", "must be an ECDSA key on P-256, as cosign makes them")
    der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return pem.decode(), hashlib.sha256(der).hexdigest()


def signature_verify(digest: str, signature: str, keys: Iterable[TrustedKey]) -> str | None:
    """The id of the first key that made this signature over what has this digest; else None."""
    try:
        raw = base64.b64decode(signature, validate=True)
    except (binascii.Error, ValueError):
        return None
    signed = bytes.fromhex(digest.removeprefix("sha256:"))
    return next((key.id for key in keys if _made_by(key, raw, signed)), None)


def _made_by(key: TrustedKey, signature: bytes, signed: bytes) -> bool:
    loaded = load_pem_public_key(key.public_key.encode())
    if not isinstance(loaded, ec.EllipticCurvePublicKey):
        return False
    try:
        loaded.verify(signature, signed, _PREHASHED)
    except InvalidSignature:
        return False
    return True
