"""Secrets in HashiCorp Vault or OpenBao: key-value version 2, encrypted by transit before.

The platform signs in by AppRole, renews its token while it can and signs in anew when it cannot.
The client library blocks, so each call runs in a thread. Whatever keeps the server from answering
is `Unavailable`; a value is written by one request, so there is no half of one.
"""

import asyncio
import base64
import contextvars
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import hvac  # type: ignore[import-untyped] # the library has no types
import structlog
from hvac.exceptions import (  # type: ignore[import-untyped] # the library has no types
    Forbidden,
    InvalidPath,
    InvalidRequest,
    Unauthorized,
    VaultError,
)
from requests.exceptions import RequestException

from gpuaas_contract.errors import ErrorCode
from gpuaas_platform.custody.secret_store import SecretMissing, SecretTampered
from gpuaas_platform.kernel.problems import PlatformError, Unavailable
from gpuaas_platform.kernel.settings import Settings

T = TypeVar("T")
_NAME: Final = "The secret store"
_THREADS: Final = 16
# A token is renewed when this share of its life is left, so that a slow hour costs nobody a call.
_RENEW_BELOW: Final = 0.5
_log = structlog.get_logger(__name__)


@dataclass
class _Token:
    """What is known of the token in use: when it ends, how long it was given."""

    ends_at: float = 0.0
    seconds: float = 0.0
    renewable: bool = False


class VaultStore:
    """Secrets on a Vault or OpenBao server."""

    def __init__(self, settings: Settings) -> None:
        if settings.vault_addr is None or settings.vault_role_id is None:
            raise PlatformError(
                ErrorCode.UNAVAILABLE,
                "GPUAAS_SECRET_STORE=vault needs GPUAAS_VAULT_ADDR, GPUAAS_VAULT_ROLE_ID and"
                " GPUAAS_VAULT_SECRET_ID_FILE.",
            )
        self._settings = settings
        self._client = hvac.Client(
            url=settings.vault_addr,
            token="",  # else the library looks for one in the environment and the home folder
            namespace=settings.vault_namespace,
            verify=True if settings.vault_ca_file is None else str(settings.vault_ca_file),
            timeout=settings.vault_timeout_seconds,
        )
        self._token = _Token()
        self._lock = threading.Lock()
        # Threads of its own: a server that hangs must not hold up what others do in threads.
        self._threads = ThreadPoolExecutor(_THREADS, "secret-store")

    async def put(self, path: str, value: bytes) -> int:
        """Keep a value as the path's next version; returns its number."""
        return await self._asked(lambda: self._put(path, value))

    async def get(self, path: str, version: int | None = None) -> bytes:
        """A version, or the newest."""
        return await self._asked(lambda: self._get(path, version))

    async def versions(self, path: str) -> list[int]:
        """Numbers of the versions there are, oldest first."""
        return await self._asked(lambda: self._versions(path))

    async def delete(self, path: str) -> None:
        """Forget a path with all its versions."""
        await self._asked(lambda: self._delete(path))

    def close(self) -> None:
        """Give the connections back."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._client.adapter.close()

    def _put(self, path: str, value: bytes) -> int:
        answer = self._client.secrets.transit.encrypt_data(
            name=self._settings.vault_transit_key,
            plaintext=base64.b64encode(value).decode(),
            associated_data=_bound(path),
            mount_point=self._settings.vault_transit_mount,
        )
        written = self._kv.create_or_update_secret(
            path=self._full(path),
            secret={"ciphertext": answer["data"]["ciphertext"]},
            mount_point=self._settings.vault_kv_mount,
        )
        return int(written["data"]["version"])

    def _get(self, path: str, version: int | None) -> bytes:
        try:
            found = self._kv.read_secret_version(
                path=self._full(path),
                version=version,
                mount_point=self._settings.vault_kv_mount,
                raise_on_deleted_version=True,
            )
        except InvalidPath:
            raise SecretMissing(path) from None
        try:
            answer = self._client.secrets.transit.decrypt_data(
                name=self._settings.vault_transit_key,
                ciphertext=found["data"]["data"]["ciphertext"],
                associated_data=_bound(path),
                mount_point=self._settings.vault_transit_mount,
            )
        except (InvalidRequest, KeyError) as error:
            raise SecretTampered(path) from error
        return base64.b64decode(answer["data"]["plaintext"])

    def _versions(self, path: str) -> list[int]:
        try:
            found = self._kv.read_secret_metadata(
                path=self._full(path), mount_point=self._settings.vault_kv_mount
            )
        except InvalidPath:
            return []
        return sorted(int(number) for number in found["data"]["versions"])

    def _delete(self, path: str) -> None:
        self._kv.delete_metadata_and_all_versions(
            path=self._full(path), mount_point=self._settings.vault_kv_mount
        )

    @property
    def _kv(self) -> Any:  # noqa: ANN401 - the library has no types
        return self._client.secrets.kv.v2

    def _full(self, path: str) -> str:
        return f"{self._settings.vault_kv_prefix}/{path}"

    async def _asked(self, question: Callable[[], T]) -> T:
        run = partial(contextvars.copy_context().run, self._ask, question)
        return await asyncio.get_running_loop().run_in_executor(self._threads, run)

    def _ask(self, question: Callable[[], T]) -> T:
        """Ask with a live token; one that was revoked meanwhile is replaced once."""
        try:
            self._token_keep()
            try:
                return question()
            except (Forbidden, Unauthorized):
                with self._lock:
                    self._sign_in()
                return question()
        except (RequestException, VaultError, OSError) as error:
            _log.warning("secret_store_failed", kind=type(error).__name__)
            raise Unavailable(_NAME) from error

    def _token_keep(self) -> None:
        """Have a token that lives a good while longer: as it is, renewed, or new."""
        with self._lock:
            left = self._token.ends_at - time.monotonic()
            if left > self._token.seconds * _RENEW_BELOW:
                return
            if left > 0 and self._token.renewable and self._renewed():
                return
            self._sign_in()

    def _renewed(self) -> bool:
        """Whether the token's life was lengthened; near its longest life it no longer is."""
        try:
            answer = self._client.auth.token.renew_self()
        except (Forbidden, Unauthorized, InvalidRequest):
            return False
        before = self._token.seconds
        self._token_set(answer["auth"])
        return self._token.seconds > before * _RENEW_BELOW

    def _sign_in(self) -> None:
        file = self._settings.vault_secret_id_file
        answer = self._client.auth.approle.login(
            role_id=self._settings.vault_role_id,
            secret_id=None if file is None else Path(file).read_text().strip(),
            mount_point=self._settings.vault_approle_mount,
        )
        self._token_set(answer["auth"])

    def _token_set(self, auth: dict[str, Any]) -> None:
        self._client.token = auth["client_token"]
        seconds = float(auth["lease_duration"])
        self._token = _Token(time.monotonic() + seconds, seconds, bool(auth["renewable"]))


def _bound(path: str) -> str:
    """What a ciphertext is bound to: copied to another path, it does not open."""
    return base64.b64encode(f"custody:{path}".encode()).decode()
