"""Keys the database does not hold: a file beside the data, readable by the platform alone.

Rooms seal what must be read again (a webhook's secret) and sign what must not be forged (heads of
the audit chain). All replicas share one file. The database remembers which keys exist, so that a
replica without the file says so instead of making keys of its own that nobody else can read.
"""

import base64
import json
import os
import secrets
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from gpuaas_contract.errors import ErrorCode
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.problems import PlatformError

_PART: Final = "kernel.keyring"
_ID_BYTES: Final = 8
_NONCE_BYTES: Final = 12
_LOCK: Final = 0x6B65_7972_696E_67  # "keyring"


class KeyringError(PlatformError):
    """The keys are missing or unusable; the sentence says which file and what to do."""

    def __init__(self, detail: str) -> None:
        super().__init__(ErrorCode.UNAVAILABLE, detail)


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
        self._keys = {_key_id(key): key for key in keys}
        self._active = _key_id(keys[-1])

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
        key_id, nonce = sealed[:_ID_BYTES], sealed[_ID_BYTES : _ID_BYTES + _NONCE_BYTES]
        if key_id not in self._keys:
            raise KeyringError(f"The keyring has no key {key_id.hex()}; restore it to the file.")
        try:
            cipher = AESGCM(self._derived(key_id, "seal"))
            return cipher.decrypt(nonce, sealed[_ID_BYTES + _NONCE_BYTES :], context.encode())
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
    """The installation's keyring; made when it is needed for the very first time."""
    keyring: Keyring | None = platform.parts.get(_PART)
    if keyring is None:
        settings = platform.settings
        path = settings.keyring_file or settings.data_dir / "keyring.json"
        async with platform.db.transaction() as conn:
            await conn.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
            known = {row["key_id"] for row in await conn.fetch("SELECT key_id FROM keyring_keys")}
            keyring = _opened(path, known)
            await conn.execute(
                "INSERT INTO keyring_keys (key_id, at) SELECT unnest($1::text[]), $2"
                " ON CONFLICT DO NOTHING",
                keyring.ids,
                platform.clock.now(),
            )
        platform.parts[_PART] = keyring
    return keyring


def _opened(path: Path, known: set[str]) -> Keyring:
    """The keys in the file, if they are this database's; a new file for a new database."""
    if not path.exists():
        if known:
            raise KeyringError(
                f"This installation's keys are not in {path}. Copy keyring.json from another"
                " replica, or name it with GPUAAS_KEYRING_FILE."
            )
        _create(path)
    if path.stat().st_mode & 0o077:
        raise KeyringError(f"{path} can be read by others; run: chmod 600 {path}")
    try:
        keys = [
            base64.b64decode(key, validate=True) for key in json.loads(path.read_text())["keys"]
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise KeyringError(f"{path} does not hold keys; restore it from a backup.") from error
    if not keys or any(len(key) != 32 for key in keys):
        raise KeyringError(f"{path} does not hold keys of 32 bytes; restore it from a backup.")
    keyring = Keyring(keys)
    if known and not known & set(keyring.ids):
        raise KeyringError(
            f"The keys in {path} are another installation's; restore the right file."
        )
    return keyring


def _create(path: Path) -> None:
    """Write a new key aside and link it: two processes that do this end with one file."""
    path.parent.mkdir(mode=0o711, parents=True, exist_ok=True)
    aside = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump({"keys": [base64.b64encode(secrets.token_bytes(32)).decode()]}, file)
        file.flush()
        os.fsync(file.fileno())
    try:
        path.hardlink_to(aside)
    except FileExistsError:
        pass
    finally:
        aside.unlink()


def _key_id(key: bytes) -> bytes:
    return sha256(b"gpuaas-key-id\0" + key).digest()[:_ID_BYTES]
