"""Which processes belong to logins by certificate, from sshd's log and what /proc shows."""

import json
import os
from pathlib import Path

from gpuaas_agent.sessions import Login, booted_at, logins_read, processes_of

CERTIFICATE = (
    "Accepted publickey for root from 10.0.0.9 port 40222 ssh2: ED25519-CERT SHA256:abc ID"
    " grant_1 (serial 7) CA ED25519 SHA256:def"
)
PLAIN = "Accepted publickey for root from 10.0.0.8 port 40111 ssh2: ED25519 SHA256:abc"


def line(message: object, pid: str = "41") -> str:
    return json.dumps({"MESSAGE": message, "_PID": pid})


def process(
    proc: Path, pid: int, name: str, parent: int = 1, environment: tuple[str, ...] = ()
) -> None:
    folder = proc / str(pid)
    folder.mkdir(parents=True)
    (folder / "status").write_text(f"Name:\t{name}\nPid:\t{pid}\nPPid:\t{parent}\n")
    (folder / "environ").write_bytes("\0".join(environment).encode() + b"\0")


def test_only_logins_by_certificate_are_taken_from_the_log() -> None:
    lines = [line(CERTIFICATE), line(PLAIN, "42"), line([80, 81]), "no JSON", "{}", ""]
    assert logins_read(lines) == [Login(41, b"SSH_CONNECTION=10.0.0.9 40222 ")]


def test_a_login_is_ended_with_what_it_detached_and_no_other(tmp_path: Path) -> None:
    mine = "SSH_CONNECTION=10.0.0.9 40222 10.0.0.1 22"
    process(tmp_path, 41, "sshd")
    process(tmp_path, 51, "sshd", parent=41)  # runs as the user
    process(tmp_path, 52, "bash", parent=51, environment=("HOME=/root", mine))
    process(tmp_path, 53, "sleep", environment=(mine,))  # detached
    process(tmp_path, 60, "sshd")  # the listener
    process(tmp_path, 61, "sshd", parent=60)  # a login by the host's own key
    process(tmp_path, 62, "sh", parent=61, environment=("SSH_CONNECTION=10.0.0.8 40111 a 22",))
    process(tmp_path, 63, "sh", environment=("SSH_CONNECTION=10.0.0.9 402221 a 22",))
    (tmp_path / "meminfo").write_text("")
    logins = logins_read([line(CERTIFICATE), line(PLAIN, "61")])
    assert processes_of(logins, tmp_path) == {41, 51, 52, 53}
    assert processes_of([], tmp_path) == set()


def test_the_log_is_read_from_the_start_of_the_first_process_on(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text("cpu 1 2 3\nbtime 1700000000\nprocesses 9\n")
    (tmp_path / "1").mkdir()
    fields = " ".join(["S", "0", *("7" for _ in range(17)), str(60 * os.sysconf("SC_CLK_TCK"))])
    (tmp_path / "1" / "stat").write_text(f"1 (init (x)) {fields} 0 0\n")
    assert booted_at(tmp_path) == 1700000060


def test_a_number_that_was_given_to_another_program_is_left_alone(tmp_path: Path) -> None:
    process(tmp_path, 41, "postgres")
    assert processes_of([Login(41, b"SSH_CONNECTION=10.0.0.9 40222 ")], tmp_path) == set()
