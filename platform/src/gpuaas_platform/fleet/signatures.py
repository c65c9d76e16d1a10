"""SSH signatures (OpenSSH's PROTOCOL.sshsig) with Ed25519: made for agents, checked from agents.

Agents use their machine's own `ssh-keygen -Y`, so that no cryptography of ours runs there. Called
by this room. Pure.
"""

import base64
import binascii
import hashlib
import struct
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization.ssh import load_ssh_public_key

_MAGIC: Final = b"SSHSIG"
_VERSION: Final = 1
_KIND: Final = b"ssh-ed25519"
_HASH: Final = b"sha512"
_BEGIN: Final = "-----BEGIN SSH SIGNATURE-----"
_END: Final = "-----END SSH SIGNATURE-----"
_WIDTH: Final = 70


class BadSignature(ValueError):
    """It is no signature, not of this key, not for this purpose, or of another text."""


def signature_make(key: Ed25519PrivateKey, namespace: str, message: bytes) -> str:
    """A signature as `ssh-keygen -Y sign` would write it."""
    name = namespace.encode()
    raw = key.sign(_signed(name, _HASH, message))
    public = _string(_KIND) + _string(key.public_key().public_bytes_raw())
    blob = (
        _MAGIC + struct.pack(">I", _VERSION) + _string(public) + _string(name) + _string(b"")
        + _string(_HASH) + _string(_string(_KIND) + _string(raw))
    )  # fmt: skip
    text = base64.b64encode(blob).decode()
    lines = [text[at : at + _WIDTH] for at in range(0, len(text), _WIDTH)]
    return "\n".join([_BEGIN, *lines, _END, ""])


def signature_check(public_key: str, namespace: str, message: bytes, armoured: str) -> None:
    """Pass if this key signed this text for this purpose; else `BadSignature`."""
    parts = _Reader(_unarmoured(armoured))
    if parts.take(len(_MAGIC)) != _MAGIC or parts.number() != _VERSION:
        raise BadSignature("no SSH signature")
    key, name = _Reader(parts.string()), parts.string()
    parts.string()  # reserved
    hashed, signature = parts.string(), _Reader(parts.string())
    if key.string() != _KIND or signature.string() != _KIND:
        raise BadSignature("not made with an Ed25519 key")
    if name != namespace.encode() or hashed not in {b"sha512", b"sha256"}:
        raise BadSignature("made for another purpose")
    known = identity_key(public_key)
    if key.string() != known.public_bytes_raw():
        raise BadSignature("made with another key")
    try:
        known.verify(signature.string(), _signed(name, hashed, message))
    except InvalidSignature:
        raise BadSignature("not of this text") from None


def identity_key(line: str) -> Ed25519PublicKey:
    """The key of a line as OpenSSH writes it."""
    try:
        key = load_ssh_public_key(line.encode())
    except ValueError:
        raise BadSignature("no public key") from None
    if not isinstance(key, Ed25519PublicKey):
        raise BadSignature("not an Ed25519 key")
    return key


def public_line(key: Ed25519PrivateKey) -> str:
    """The public half as OpenSSH writes it."""
    return (
        key.public_key()
        .public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
        .decode()
    )


def fingerprint(line: str) -> str:
    """A key's fingerprint as `ssh-keygen -l` shows it."""
    digest = hashlib.sha256(base64.b64decode(line.split()[1])).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def _signed(name: bytes, hashed: bytes, message: bytes) -> bytes:
    digest = hashlib.new(hashed.decode(), message).digest()
    return _MAGIC + _string(name) + _string(b"") + _string(hashed) + _string(digest)


def _unarmoured(text: str) -> bytes:
    lines = text.strip().splitlines()
    if len(lines) < 3 or lines[0].strip() != _BEGIN or lines[-1].strip() != _END:
        raise BadSignature("no SSH signature")
    try:
        return base64.b64decode("".join(line.strip() for line in lines[1:-1]), validate=True)
    except binascii.Error:
        raise BadSignature("no SSH signature") from None


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


class _Reader:
    """Takes what SSH's wire format holds, one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def take(self, count: int) -> bytes:
        if count > len(self._data):
            raise BadSignature("it ends too early")
        head, self._data = self._data[:count], self._data[count:]
        return head

    def number(self) -> int:
        found: int = struct.unpack(">I", self.take(4))[0]
        return found

    def string(self) -> bytes:
        return self.take(self.number())
