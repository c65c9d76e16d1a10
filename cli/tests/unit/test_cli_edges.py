"""Whatever the output is (closed, full, gone, of few characters), a command says no traceback."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = str(Path(sys.executable).with_name("gpuaas"))
PATIENCE = 120
LINES = ["schema Manifest", "explain Manifest", "--help"]


@pytest.mark.parametrize("line", LINES)
def test_a_reader_that_has_gone_ends_it_as_other_programs_end(line: str) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = ran(line, stdout=write)
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("line", LINES)
def test_a_full_disk_is_said(line: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = ran(line, stdout=full.fileno())
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["error: the output: No space left on device"]


def test_an_output_that_was_closed_is_no_trouble() -> None:
    shell = f"exec {PROGRAM} schema Manifest >&-"
    done = subprocess.run(
        ["sh", "-c", shell], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_terminal_of_few_characters_gets_those_it_has() -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    told = ran("explain instance", stdout=subprocess.PIPE, **plain)
    assert (told.returncode, told.stderr) == (0, "")
    code = "from gpuaas_cli.output import show; show({'name': 'Zo\\xeb \\u2713'}, 'json')"
    whole = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | plain,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert whole.stdout == '{\n  "name": "Zo\\u00eb \\u2713"\n}\n'


def test_ctrl_c_ends_a_command_that_asks(tmp_path: Path) -> None:
    """The event loop alone would note it, and wait for the line."""
    ours, theirs = pty.openpty()
    line = "login --email ada@example.test --url http://127.0.0.1:9"
    process = subprocess.Popen(
        [PROGRAM, *line.split()],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env=os.environ | {"GPUAAS_CONFIG": str(tmp_path / "contexts.json")},
    )
    os.close(theirs)
    try:
        said = b""
        while b"password: " not in said:
            said += os.read(ours, 1024)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
    finally:
        os.close(ours)


def test_ctrl_c_ends_what_serves_an_agent(tmp_path: Path) -> None:
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    asked = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    with subprocess.Popen(
        [PROGRAM, "mcp", "serve", "--url", "http://127.0.0.1:9"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"GPUAAS_CONFIG": str(tmp_path / "contexts.json")},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(asked).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "gpuaas"
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == -signal.SIGINT


def ran(line: str, *, stdout: int, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command line that needs no platform."""
    return subprocess.run(
        [PROGRAM, *line.split()],
        stdout=stdout,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env=os.environ | environment,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
