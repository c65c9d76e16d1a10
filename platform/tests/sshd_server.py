"""A real OpenSSH server for a test, on loopback, and the real client to meet it with."""

import fcntl
import getpass
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from eventually import eventually_sync

_PRIVILEGE_SEPARATION = Path("/run/sshd")
_OURS = 0o711
_CONFIG = """
ListenAddress 127.0.0.1:{port}
HostKey {folder}/host_key
PidFile none
TrustedUserCAKeys {folder}/trusted
AuthorizedPrincipalsFile {folder}/principals
RevokedKeys {folder}/revoked
AuthorizedKeysFile none
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
UsePAM no
StrictModes no
LogLevel VERBOSE
"""
# Newer servers shut out an address that was refused a few times: here all come from one.
_LENIENT = "PerSourcePenalties no\n"


@dataclass(frozen=True)
class Sshd:
    """A server whose trust is written by the test."""

    folder: Path
    port: int
    host_key: str

    def trust(self, keys: Sequence[str]) -> None:
        """Which authority's certificates are taken."""
        (self.folder / "trusted").write_text("".join(f"{key}\n" for key in keys))

    def principals(self, names: Sequence[str]) -> None:
        """Which principals may log in."""
        (self.folder / "principals").write_text("".join(f"{name}\n" for name in names))

    def revoke(self, krl: bytes) -> None:
        """Which certificates are taken no more."""
        (self.folder / "revoked").write_bytes(krl)

    @property
    def log(self) -> str:
        """What the server wrote."""
        return (self.folder / "log").read_text()


@dataclass(frozen=True)
class Client:
    """A key pair of somebody who connects."""

    folder: Path

    @property
    def public_key(self) -> str:
        """The public half."""
        return (self.folder / "key.pub").read_text().strip()

    def run(
        self, server: Sshd, certificate: str, known_hosts: Sequence[str], *command: str
    ) -> "subprocess.CompletedProcess[str]":
        """`ssh` with exactly this key, certificate and knowledge of hosts."""
        (self.folder / "key-cert.pub").write_text(f"{certificate}\n")
        (self.folder / "known").write_text("".join(f"{line}\n" for line in known_hosts))
        options = {
            "IdentityFile": self.folder / "key",
            "CertificateFile": self.folder / "key-cert.pub",
            "UserKnownHostsFile": self.folder / "known",
            "GlobalKnownHostsFile": "/dev/null",
            "HostKeyAlias": known_hosts[0].split()[0],
            "StrictHostKeyChecking": "yes",
            "IdentitiesOnly": "yes",
            "BatchMode": "yes",
            "ConnectTimeout": "20",
        }
        given = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        where = [f"-p{server.port}", f"{getpass.getuser()}@127.0.0.1"]
        return subprocess.run(
            ["ssh", "-F", "/dev/null", *given, *where, *command],
            capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL,
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder)},
        )  # fmt: skip


def client_make(folder: Path) -> Client:
    """A new key pair in a folder."""
    folder.mkdir()
    _keygen(folder / "key")
    return Client(folder)


@contextmanager
def sshd_running() -> Iterator[Sshd]:
    """A server for as long as the block runs; nothing of it is left."""
    program = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    if program is None:
        pytest.skip("there is no sshd: apt install openssh-server, or make setup")
    folder = Path(tempfile.mkdtemp(prefix="gpuaas-sshd-"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    _keygen(folder / "host_key")
    config = _CONFIG.format(port=port, folder=folder)
    if b"persourcepenalties" in Path(program).read_bytes():
        config += _LENIENT
    (folder / "config").write_text(config)
    words = (folder / "host_key.pub").read_text().split()[:2]
    server = Sshd(folder, port, " ".join(words))
    server.trust([])
    server.principals([])
    server.revoke(b"")
    with _privilege_separation():
        process = subprocess.Popen(
            [program, "-D", "-f", folder / "config", "-E", folder / "log"],
            stdin=subprocess.DEVNULL,
        )
        try:
            _wait(process, server)
            yield server
        finally:
            process.terminate()
            process.wait()
            shutil.rmtree(folder)


@contextmanager
def _privilege_separation() -> Iterator[None]:
    """The folder sshd wants of root, where the host has none; the last of those beside us, in
    this run or another one on the host, takes it away. Its mode tells it from the host's own."""
    if os.geteuid() != 0:
        yield
        return
    while True:
        with suppress(FileExistsError):
            _PRIVILEGE_SEPARATION.mkdir(mode=_OURS)
        with suppress(FileNotFoundError):
            held = os.open(_PRIVILEGE_SEPARATION, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(held, fcntl.LOCK_SH)
            if os.fstat(held).st_nlink > 0:
                break
            os.close(held)
    try:
        yield
    finally:
        with suppress(BlockingIOError):
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(held).st_mode & 0o777 == _OURS:
                _PRIVILEGE_SEPARATION.rmdir()
        os.close(held)


def _wait(process: "subprocess.Popen[bytes]", server: Sshd) -> None:
    def listens() -> bool:
        assert process.poll() is None, server.log
        try:
            socket.create_connection(("127.0.0.1", server.port), timeout=60).close()
        except OSError:
            return False
        return True

    eventually_sync(listens, within=120, what=lambda: f"a connection; the log is {server.log}")


def _keygen(path: Path) -> None:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", str(path)]
    subprocess.run(command, check=True)
