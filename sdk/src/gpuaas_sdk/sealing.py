"""The key that secrets for a service account are sealed to, and how they are opened.

Used by whatever takes something out of custody. The private half stays with whoever made it; its
public half is registered with the service account.
"""

import base64
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from gpuaas_contract.custody import SEALING_SUITE, Sealed
from gpuaas_sdk.errors import GpuaasError


class SealingKey:
    """A private key that opens what was sealed to its public half (HPKE, RFC 9180)."""

    def __init__(self, key: X25519PrivateKey | None = None) -> None:
        self._key = key or X25519PrivateKey.generate()

    def __repr__(self) -> str:
        return f"<SealingKey for {self.public_key}>"

    @classmethod
    def load(cls, path: Path) -> "SealingKey":
        """The key in a file, base64 as `save` writes it."""
        raw = base64.b64decode(path.read_text().strip(), validate=True)
        return cls(X25519PrivateKey.from_private_bytes(raw))

    def save(self, path: Path) -> None:
        """Write it into a new file that only its owner can read."""
        path.touch(mode=0o600, exist_ok=False)
        path.write_text(base64.b64encode(self._key.private_bytes_raw()).decode() + "\n")

    @property
    def public_key(self) -> str:
        """What is registered with the service account."""
        return base64.b64encode(self._key.public_key().public_bytes_raw()).decode()

    def open(self, sealed: Sealed) -> bytes:
        """What was sealed."""
        if sealed.suite != SEALING_SUITE:
            raise GpuaasError(f"This SDK cannot open the suite {sealed.suite}.")
        suite = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)
        try:
            box = base64.b64decode(sealed.ciphertext, validate=True)
            return suite.decrypt(box, self._key, sealed.info.encode())
        except (InvalidTag, ValueError) as error:
            raise GpuaasError(
                "This was not sealed to the key at hand, or was changed on its way: is another"
                " public key registered with the service account?"
            ) from error
