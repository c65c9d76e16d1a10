"""A passkey in memory: answers challenges as an authenticator and its browser do (WebAuthn)."""

import base64
import hashlib
import json
import secrets
import struct
from typing import Any

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256

_PRESENT, _VERIFIED, _ATTESTED = 0x01, 0x04, 0x40


class SoftPasskey:
    """One key pair, for one site."""

    def __init__(self, origin: str, host: str) -> None:
        self.origin = origin
        self.host = host
        self.id = secrets.token_bytes(16)
        self.count = 0
        self._key = ec.generate_private_key(ec.SECP256R1())

    def made(self, options: dict[str, Any]) -> dict[str, Any]:
        """What `navigator.credentials.create` gives for these options."""
        point = self._key.public_key().public_numbers()
        cose = {1: 2, 3: -7, -1: 1, -2: point.x.to_bytes(32), -3: point.y.to_bytes(32)}
        attested = bytes(16) + struct.pack(">H", len(self.id)) + self.id + cbor2.dumps(cose)
        data = self._data(_ATTESTED) + attested
        whole = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        client = self._client("webauthn.create", options["challenge"])
        return self._credential(clientDataJSON=client, attestationObject=whole)

    def signed(self, options: dict[str, Any]) -> dict[str, Any]:
        """What `navigator.credentials.get` gives for these options."""
        self.count += 1
        data, client = self._data(), self._client("webauthn.get", options["challenge"])
        message = data + hashlib.sha256(client).digest()
        signature = self._key.sign(message, ec.ECDSA(SHA256()))
        return self._credential(clientDataJSON=client, authenticatorData=data, signature=signature)

    def _data(self, flags: int = 0) -> bytes:
        flags |= _PRESENT | _VERIFIED
        host = hashlib.sha256(self.host.encode()).digest()
        return host + struct.pack(">BI", flags, self.count)

    def _client(self, kind: str, challenge: str) -> bytes:
        return json.dumps({"type": kind, "challenge": challenge, "origin": self.origin}).encode()

    def _credential(self, **response: bytes) -> dict[str, Any]:
        return {
            "id": _text(self.id),
            "rawId": _text(self.id),
            "type": "public-key",
            "clientExtensionResults": {},
            "response": {name: _text(value) for name, value in response.items()},
        }


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
