"""Keys the database does not hold: a file beside the data, readable by the platform alone.

Rooms seal what must be read again (a webhook's secret) and sign what must not be forged (heads of
the audit chain). All replicas share one file. The database remembers which keys exist, so that a
replica without the file says so instead of making keys of its own that nobody else can read.
"""

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.keyring_file import (
    ID_BYTES,
    KeyringError,
    file_stamp,
    key_id_of,
    keys_create,
    keys_read,
)
from gpuaas_platform.kernel.settings import Settings

_PART: Final = "kernel.keyring"
_NONCE_BYTES: Final = 12
_LOCK: Final = 0x6B65_7972_696E_67  # "keyring"


@dataclass(frozen=True, repr=False)
class Signer:
    """A signing key for one purpose, and the name of the key it comes from."""

    key_id: str
    key: Ed25519PrivateKey

    @property
    def public(self) -> bytes:
        """The public half, raw."""
        return self.key.public_key().public_bytes_raw()


class Keyring:
    """One or more keys; the last one is used for what is new, all for what is old."""

    def __init__(self, keys: list[bytes]) -> None:
        self._keys = {key_id_of(key): key for key in keys}
        self._active = key_id_of(keys[-1])

    @property
    def ids(self) -> list[str]:
        """Names of the keys; they tell nothing of the keys."""
        return [key_id.hex() for key_id in self._keys]

    @property
    def active_id(self) -> str:
        """Name of the key that seals what is new."""
        return self._active.hex()

    def seal(self, plain: bytes, context: str) -> bytes:
        """Encrypt for storage. Only `unseal` with the same context opens it."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        cipher = AESGCM(self._derived(self._active, "seal"))
        return self._active + nonce + cipher.encrypt(nonce, plain, context.encode())

    def unseal(self, sealed: bytes, context: str) -> bytes:
        """Decrypt what `seal` made."""
        key_id, nonce = sealed[:ID_BYTES], sealed[ID_BYTES : ID_BYTES + _NONCE_BYTES]
        if key_id not in self._keys:
            raise KeyringError(f"The keyring has no key {key_id.hex()}; restore it to the file.")
        try:
            cipher = AESGCM(self._derived(key_id, "seal"))
            return cipher.decrypt(nonce, sealed[ID_BYTES + _NONCE_BYTES :], context.encode())
        except InvalidTag as error:
            raise KeyringError("A sealed value was changed or belongs elsewhere.") from error

    def signer(self, purpose: str) -> Signer:
        """The signing key for a purpose."""
        seed = self._derived(self._active, f"sign:{purpose}")
        return Signer(self._active.hex(), Ed25519PrivateKey.from_private_bytes(seed))

    def signers(self, purpose: str) -> list[Signer]:
        """The signing keys of all keys for a purpose; the last is the one for what is new."""
        return [
            Signer(key_id.hex(), Ed25519PrivateKey.from_private_bytes(seed))
            for key_id in self._keys
            for seed in [self._derived(key_id, f"sign:{purpose}")]
        ]

    def public_keys(self, purpose: str) -> dict[str, bytes]:
        """Public halves of all keys for a purpose, by the name of the key."""
        seeds = {key_id: self._derived(key_id, f"sign:{purpose}") for key_id in self._keys}
        return {
            key_id.hex(): Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
            for key_id, seed in seeds.items()
        }

    def _derived(self, key_id: bytes, purpose: str) -> bytes:
        info = f"gpuaas:{purpose}".encode()
        return HKDF(SHA256(), length=32, salt=None, info=info).derive(self._keys[key_id])


async def keyring_of(platform: Platform) -> Keyring:
    """The installation's keyring, made when it is first needed, read again when its file changed.

    So a key that was added while the platform runs is used without a restart.
    """
    path = keyring_path(platform.settings)
    kept: tuple[tuple[int, int], Keyring] | None = platform.parts.get(_PART)
    if kept is not None and file_stamp(path) in (kept[0], None):
        return kept[1]
    async with platform.db.transaction() as conn:
        await conn.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        known = {row["key_id"] for row in await conn.fetch("SELECT key_id FROM keyring_keys")}
        if not known:
            keys_create(path)
        stamp, keyring = file_stamp(path), _opened(path, known)
        await conn.execute(
            "INSERT INTO keyring_keys (key_id, at) SELECT unnest($1::text[]), $2"
            " ON CONFLICT DO NOTHING",
            keyring.ids,
            platform.clock.now(),
        )
    platform.parts[_PART] = (stamp, keyring)
    return keyring


def keyring_path(settings: Settings) -> Path:
    """Where the keys are."""
    return settings.keyring_file or settings.data_dir / "keyring.json"


def _opened(path: Path, known: set[str]) -> Keyring:
    """The keys in the file, if they are this database's."""
    if not path.exists():
        raise KeyringError(
            f"This installation's keys are not in {path}. Copy keyring.json from another"
            " replica, or name it with GPUAAS_KEYRING_FILE."
        )
    keyring = Keyring(keys_read(path))
    if known and not known & set(keyring.ids):
        raise KeyringError(
            f"The keys in {path} are another installation's; restore the right file."
        )
    return keyring
