"""A real OCI registry for a test: Debian's docker-registry as a process of its own, on loopback.

The program is the host's, or that of Debian's package unpacked into the cache: installing the
package would start a registry that is open to everybody.
"""

import hashlib
import json
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from eventually import eventually_sync

_CACHE = Path(__file__).parents[2] / ".cache" / "docker-registry"
_PROGRAM = "docker-registry"
MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
INDEX_TYPE = "application/vnd.oci.image.index.v1+json"
USER, PASSWORD = "puller", "canary-registry-password"


@dataclass(frozen=True)
class Registry:
    """A running registry, which asks for a password where it was told to."""

    process: "subprocess.Popen[bytes]"
    host: str
    folder: Path
    login: tuple[str, str] | None

    def push(self, repository: str, layers: list[bytes]) -> str:
        """An image of these layers; the digest of its manifest."""
        config = json.dumps({"architecture": "amd64", "os": "linux"}).encode()
        described = [self._blob(repository, content) for content in (config, *layers)]
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPE,
            "config": described[0] | {"mediaType": "application/vnd.oci.image.config.v1+json"},
            "layers": [
                one | {"mediaType": "application/vnd.oci.image.layer.v1.tar"}
                for one in described[1:]
            ],
        }
        return self.manifest(repository, manifest, MANIFEST_TYPE)

    def index(self, repository: str, images: dict[str, str]) -> str:
        """An index of images by their architecture; its digest."""
        listed = [
            {
                "mediaType": MANIFEST_TYPE,
                "digest": digest,
                "size": 1,
                "platform": {"os": "linux", "architecture": architecture},
            }
            for architecture, digest in images.items()
        ]
        for one in listed:
            head = self._ask("HEAD", f"/v2/{repository}/manifests/{one['digest']}")
            one["size"] = int(head.headers["content-length"])
        said = {"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": listed}
        return self.manifest(repository, said, INDEX_TYPE)

    def manifest(self, repository: str, said: dict[str, Any], kind: str) -> str:
        """Any manifest; its digest."""
        body = json.dumps(said).encode()
        digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
        path = f"/v2/{repository}/manifests/{digest}"
        answer = self._ask("PUT", path, content=body, headers={"Content-Type": kind})
        assert answer.status_code == 201, answer.text
        return digest

    def damage(self, digest: str) -> None:
        """Change a byte of a blob where the registry keeps it."""
        hexes = digest.removeprefix("sha256:")
        path = next(self.folder.rglob(f"{hexes}/data"))
        content = bytearray(path.read_bytes())
        content[0] ^= 1
        path.write_bytes(content)

    def _blob(self, repository: str, content: bytes) -> dict[str, Any]:
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        begun = self._ask("POST", f"/v2/{repository}/blobs/uploads/")
        assert begun.status_code == 202, begun.text
        where = httpx2.URL(begun.headers["location"])
        done = self._ask(
            "PUT",
            str(where.copy_merge_params({"digest": digest})),
            content=content,
            headers={"Content-Type": "application/octet-stream"},
        )
        assert done.status_code == 201, done.text
        return {"digest": digest, "size": len(content)}

    def _ask(self, method: str, path: str, **how: Any) -> httpx2.Response:
        url = path if path.startswith("http") else f"http://{self.host}{path}"
        headers = how.pop("headers", {}) | {"Accept": f"{MANIFEST_TYPE}, {INDEX_TYPE}"}
        return httpx2.request(method, url, auth=self.login, headers=headers, timeout=60, **how)


@contextmanager
def registry_running(
    *, closed: bool = False, data: Path | None = None, auth: dict[str, Any] | None = None
) -> Iterator[Registry]:
    """A registry for as long as the block runs; nothing of it is left.

    `closed`: it asks for the password. `data`: it has what another one has. `auth`: as its
    configuration says.
    """
    program = registry_program()
    assert program is not None
    folder = Path(tempfile.mkdtemp(prefix="gpuaas-registry-"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{free.getsockname()[1]}"
    said: dict[str, Any] = {
        "version": 0.1,
        "storage": {"filesystem": {"rootdirectory": str(data or folder / "data")}},
        "http": {"addr": host, "secret": secrets.token_hex(8)},
    }
    if closed:
        (folder / "htpasswd").write_text(f"{USER}:{_bcrypt(PASSWORD)}\n")
        said["auth"] = {"htpasswd": {"realm": "test", "path": str(folder / "htpasswd")}}
    if auth is not None:
        said["auth"] = auth
    (folder / "config.yml").write_text(json.dumps(said))
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [str(program), "serve", str(folder / "config.yml")],
            stdout=log,
            stderr=subprocess.STDOUT,
            env={"OTEL_TRACES_EXPORTER": "none"},
        )
    registry = Registry(process, host, folder, (USER, PASSWORD) if closed else None)
    try:
        _wait(registry)
        yield registry
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder)


def registry_program() -> Path | None:
    """The registry's program, or None where it cannot be had."""
    found = shutil.which(_PROGRAM)
    if found is not None:
        return Path(found)
    kept = _CACHE / "usr" / "bin" / _PROGRAM
    if kept.exists():
        return kept
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        return None
    _CACHE.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=_CACHE.parent) as folder:
        Path(folder).chmod(0o777)
        command = ["apt-get", "-qq", "download", _PROGRAM]
        if subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode != 0:
            return None
        package, whole = next(Path(folder).glob("*.deb")), Path(folder) / "whole"
        subprocess.run(["dpkg-deb", "-x", str(package), str(whole)], check=True)
        try:
            whole.rename(_CACHE)
        except OSError:  # tests beside these may have been faster
            if not kept.exists():
                raise
    return kept


def _wait(registry: Registry) -> None:
    log = registry.folder / "log"

    def answers() -> bool:
        assert registry.process.poll() is None, f"the registry ended: {log.read_text()}"
        try:
            return httpx2.get(f"http://{registry.host}/v2/").status_code in {200, 401}
        except httpx2.TransportError:
            return False

    eventually_sync(answers, within=120, what=lambda: f"an answer; the log is {log.read_text()}")


def _bcrypt(password: str) -> str:
    """What htpasswd would write; Perl asks the C library."""
    salt = "$2b$05$" + "".join(secrets.choice("abcdefghijklmnop") for _ in range(22))
    command = ["perl", "-e", "print crypt($ARGV[0], $ARGV[1])", password, salt]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
