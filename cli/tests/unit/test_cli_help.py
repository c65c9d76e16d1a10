"""Help and completion: said of every command, at once, and understood by real shells."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from gpuaas_cli.completion import candidates, completion
from gpuaas_cli.main import called
from gpuaas_cli.surface import command

_PATIENCE = 60.0


def words(*typed: str) -> list[str]:
    return [word for word, _ in candidates(typed)]


@pytest.fixture
def contexts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "contexts.json"
    file.write_text('{"current": "lab", "contexts": {"lab": {}, "prod": {}}}')
    monkeypatch.setenv("GPUAAS_CONFIG", str(file))


def test_help_of_a_command_has_its_words_options_and_examples(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert called(["deploy", "--help"]) == 0
    said = capsys.readouterr().out
    assert "Usage: gpuaas deploy APP [OPTIONS]" in said
    assert "$ gpuaas deploy notes --name first" in said
    assert re.search(r"-f, --file FILE +JSON or YAML body", said)


def test_every_command_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    nouns = command(()).verbs
    lines = [(noun, verb) for noun in nouns for verb in command((noun,)).verbs]
    for line in [(noun,) for noun in nouns] + lines:
        assert called([*line, "--help"]) == 0
        assert f"Usage: gpuaas {' '.join(line)}" in capsys.readouterr().out


def test_other_names_lead_to_the_same_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert called(["op", "read", "-h"]) == 0
    assert "Usage: gpuaas operation show" in capsys.readouterr().out


def test_help_that_belongs_to_another_program_is_not_taken(
    capsys: pytest.CaptureFixture[str], contexts: None
) -> None:
    # The words behind `--` go to the machine; here the command itself misses its project.
    assert called(["ssh", "n1", "--", "ls", "--help"]) == 1
    assert "Usage" not in capsys.readouterr().out


def test_a_noun_nobody_knows_is_not_helped(capsys: pytest.CaptureFixture[str]) -> None:
    assert called(["nonsense", "list"]) == 1
    assert "nonsense" in capsys.readouterr().err


def test_completion_knows_commands_options_and_values(contexts: None) -> None:
    assert words("alloc") == ["allocation"]
    assert "list" in words("allocation", "")
    assert words("allocation", "list", "--corr") == ["--correlation-id"]
    assert words("allocation", "list", "-o", "j") == ["json"]
    assert words("allocation", "list", "--output=j") == ["--output=json"]
    assert words("allocation", "list", "--output", "=") == words("allocation", "list", "-o", "")
    assert words("allocation", "list", "--context", "") == ["lab", "prod"]
    assert words("context", "use", "p") == ["prod"]
    assert words("op", "wat") == ["watch"]
    assert words("completion", "") == ["bash", "zsh", "fish"]
    assert words("completion", "bash", "") == []
    assert words("deploy", "notes", "--file", "x") == [":files"]
    assert words("nonsense", "") == []


def test_bash_completes(tmp_path: Path) -> None:
    script = scripted("bash", tmp_path)
    code = f"""
source {script}
asked() {{
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
    _gpuaas gpuaas "${{!#}}" ""
    echo "${{COMPREPLY[*]}}"
}}
asked gpuaas alloc
asked gpuaas allocation list -o y
complete -p gpuaas
"""
    done = shell(["bash", "--norc", "-c", code])
    assert done == ["allocation", "yaml", "complete -F _gpuaas gpuaas"]


def test_bash_completes_a_line_as_it_is_typed(tmp_path: Path) -> None:
    script = scripted("bash", tmp_path)
    typed(["bash", "--norc", "--noprofile", "-i"], f"source {script}\n")


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh; make test brings it")
def test_zsh_completes_a_line_as_it_is_typed(tmp_path: Path) -> None:
    script = scripted("zsh", tmp_path)
    begin = f"autoload -U compinit; compinit -D; source {script}\n"
    typed(["zsh", "-f", "-i"], begin)


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish; make test brings it")
def test_fish_completes(tmp_path: Path) -> None:
    script = scripted("fish", tmp_path)
    code = f"source {script}; complete -C 'gpuaas alloc'; complete -C 'gpuaas allocation list -o y'"
    done = shell(["fish", "--no-config", "-c", code], HOME=str(tmp_path))
    assert [line.split("\t")[0] for line in done] == ["allocation", "yaml"]


def scripted(kind: Any, folder: Path) -> Path:
    """The script `gpuaas completion` prints."""
    file = folder / f"gpuaas.{kind}"
    done = shell([str(program()), "completion", kind])
    file.write_text("\n".join(done) + "\n")
    return file


def test_a_script_is_small(capsys: pytest.CaptureFixture[str]) -> None:
    assert completion("bash") == 0
    assert len(capsys.readouterr().out) < 2000


def shell(argv: list[str], **more: str) -> list[str]:
    done = subprocess.run(
        argv, capture_output=True, text=True, check=False, env=environment() | more, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def typed(argv: list[str], begin: str) -> None:
    """Type a line with Tab into a shell on a terminal, and see what the line became."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(argv[0], argv, environment())  # noqa: S606 - the shell under test, no other
    try:
        for text, until in (
            (f"PS1='rea''dy> '; {begin}", "ready> "),  # the prompt, not the echo of this
            ("gpuaas alloc\t", "allocation "),
            ("li\t", "list "),
            ("\x01echo said: \n", "said: gpuaas allocation list"),
        ):
            os.write(terminal, text.encode())
            seen(terminal, until)
    finally:
        os.close(terminal)
        os.kill(pid, 9)
        os.waitpid(pid, 0)


def seen(terminal: int, text: str) -> None:
    found, end = "", time.monotonic() + _PATIENCE
    while text not in found:
        ready, _, _ = select.select([terminal], [], [], max(0.0, end - time.monotonic()))
        assert ready, f"{text!r} is not in {found!r}"
        found += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", os.read(terminal, 4096).decode())


def environment() -> dict[str, str]:
    path = f"{program().parent}:{os.environ['PATH']}"
    return {"PATH": path, "HOME": os.environ.get("HOME", "/"), "TERM": "dumb", "LANG": "C.UTF-8"}


def program() -> Path:
    return Path(sys.executable).parent / "gpuaas"
