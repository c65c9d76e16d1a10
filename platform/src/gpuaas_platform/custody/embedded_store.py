"""The embedded secret store: envelope encryption in PostgreSQL.

Each version has a random data key (AES-256-GCM); the installation's keyring, which is no part of
the database, wraps it. A new keyring key takes effect by wrapping data keys anew, in small batches
beside normal work; secrets themselves are never decrypted for that.
"""

import secrets
from dataclasses import replace
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from gpuaas_platform.custody.secret_store import SecretMissing, SecretTampered
from gpuaas_platform.custody.store import values
from gpuaas_platform.custody.store.values import SealedValue
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.keyring import Keyring, keyring_of

_BATCH: Final = 200


class EmbeddedStore:
    """Secrets in the platform's own database."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    async def put(self, path: str, value: bytes) -> int:
        """Keep a value as the path's next version; returns its number."""
        keyring = await keyring_of(self._platform)
        async with self._platform.db.transaction() as conn:
            version = await values.version_next(conn, path)
            sealed = _sealed(keyring, path, version, value)
            await values.value_insert(conn, sealed, self._platform.clock.now())
        return version

    async def get(self, path: str, version: int | None = None) -> bytes:
        """A version, or the newest."""
        keyring = await keyring_of(self._platform)
        async with self._platform.db.connection() as conn:
            found = await values.value_read(conn, path, version)
        if found is None:
            raise SecretMissing(path)
        return _opened(keyring, found)

    async def versions(self, path: str) -> list[int]:
        """Numbers of the versions there are, oldest first."""
        async with self._platform.db.connection() as conn:
            return await values.version_list(conn, path)

    async def delete(self, path: str) -> None:
        """Forget a path with all its versions."""
        async with self._platform.db.connection() as conn:
            await values.value_delete(conn, path)

    async def rewrap(self) -> int:
        """Wrap a batch of data keys by the keyring's newest key; returns how many there were."""
        keyring = await keyring_of(self._platform)
        async with self._platform.db.transaction() as conn:
            old = await values.values_lock_old(conn, keyring.active_id, _BATCH)
            for value in old:
                data_key = keyring.unseal(value.wrapped_key, _context(value.path, value.version))
                await values.value_rewrap(conn, _wrapped(keyring, value, data_key))
        return len(old)


def _sealed(keyring: Keyring, path: str, version: int, value: bytes) -> SealedValue:
    data_key, nonce = secrets.token_bytes(32), secrets.token_bytes(12)
    ciphertext = AESGCM(data_key).encrypt(nonce, value, _context(path, version).encode())
    bare = SealedValue(path, version, "", b"", nonce, ciphertext)
    return _wrapped(keyring, bare, data_key)


def _wrapped(keyring: Keyring, value: SealedValue, data_key: bytes) -> SealedValue:
    wrapped = keyring.seal(data_key, _context(value.path, value.version))
    return replace(value, key_id=keyring.active_id, wrapped_key=wrapped)


def _opened(keyring: Keyring, value: SealedValue) -> bytes:
    context = _context(value.path, value.version)
    try:
        data_key = keyring.unseal(value.wrapped_key, context)
        return AESGCM(data_key).decrypt(value.nonce, value.ciphertext, context.encode())
    except InvalidTag as error:
        raise SecretTampered(value.path) from error


def _context(path: str, version: int) -> str:
    """What a wrapped key and a ciphertext are bound to: moved elsewhere, neither opens."""
    return f"custody:{version}:{path}"
