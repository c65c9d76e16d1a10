"""The set-up: what it lets through, what it says when something is missing, when it is cached."""

from __future__ import annotations

import fcntl
import os
import threading
from pathlib import Path

import pytest

from tools import host, progress, setup
from tools.progress import Failure, Stage


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs, locks and stamps of these tests are not the checkout's."""
    monkeypatch.setattr(progress, "LOGS", tmp_path / "logs")
    monkeypatch.setattr(progress, "ROOT", tmp_path)
    monkeypatch.setattr(setup, "CACHE", tmp_path)
    monkeypatch.setattr(setup, "ROOT", tmp_path)


def test_the_hosts_index_reaches_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("UV_")]:
        monkeypatch.delenv(name)
    listing = (
        ":env:.cert='/ca.crt'\nglobal.index-url='https://mirror.example/simple'\n"
        "global.extra-index-url='file:///a file:///b'\ninstall.find-links='/wheels'\n"
    )

    assert host.uv_indexes(listing) == {
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_DEFAULT_INDEX": "https://mirror.example/simple",
        "UV_INDEX": "file:///a file:///b",
        "UV_FIND_LINKS": "/wheels",
    }


def test_an_index_named_to_uv_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://own.example/simple")

    indexes = host.uv_indexes("global.index-url='https://mirror.example/simple'\n")

    assert "UV_DEFAULT_INDEX" not in indexes


def test_what_bends_an_install_is_not_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"PIP_INDEX_URL": "i", "UV_HTTP_TIMEOUT": "9", "SSL_CERT_FILE": "c", "HTTPS_PROXY": "p"}
    bends = {"PIP_TARGET": "t", "PYTHONPATH": "x", "VIRTUAL_ENV": "v", "UV_NO_BINARY": "b"}
    for name, value in (kept | bends).items():
        monkeypatch.setenv(name, value)

    env = host.environment()

    assert {name: env.get(name) for name in kept} == kept
    assert set(bends) & set(env) == set()
    assert env["PIP_USER"] == "0"


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("write error: No space left on device", "the disk is full"),
        ("Temporary failure resolving 'mirror'", "package servers cannot be reached"),
        ("invalid peer certificate: UnknownIssuer", "certificate is not trusted"),
        ("THESE PACKAGES DO NOT MATCH THE HASHES", "differs from its locked hash"),
        ("E: Could not get lock /var/lib/dpkg/lock", "another apt is running"),
        ("something new", "sh ended with 3: something new"),
    ],
)
def test_a_failure_is_one_line_with_its_remedy(said: str, remedy: str) -> None:
    stage = Stage("packages")

    with pytest.raises(Failure) as caught:
        stage.run("sh", "-c", f'echo "{said}"; exit 3', cwd=Path("/"))

    assert remedy in str(caught.value)
    assert "\n" not in str(caught.value)
    assert said in stage.log.read_text()


def test_without_root_the_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("GPUAAS_GOAL", "check")
    monkeypatch.setattr(host, "packages_missing", lambda _: ["python3-venv"])

    with pytest.raises(Failure, match=r"missing: python3-venv\): run sudo make check"):
        setup._packages(["uv", "env"], lenient=True)


def test_a_lenient_run_goes_on_without_the_lab(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    missing = {"lab": ["mmdebstrap"]}
    monkeypatch.setattr(host, "packages_missing", lambda stage: missing.get(stage, []))

    assert setup._packages(["uv", "env", "lab"], lenient=True) == ["uv", "env"]
    assert "going on without lab" in capsys.readouterr().out
    with pytest.raises(Failure):
        setup._packages(["uv", "env", "lab"], lenient=False)


def test_a_stage_brings_the_stages_it_stands_on() -> None:
    assert setup._with_bases(["console"]) == ["uv", "env", "console"]


def test_a_stamp_holds_until_an_input_changes(tmp_path: Path) -> None:
    source, product = tmp_path / "source", tmp_path / "product"
    source.write_text("one")
    product.touch()
    first = setup._Stamp("it", setup._digest([source]), product)
    assert not first.fresh()

    first.write()
    assert setup._Stamp("it", setup._digest([source]), product).fresh()

    source.write_text("two")
    assert not setup._Stamp("it", setup._digest([source]), product).fresh()
    product.unlink()
    assert not first.fresh()


def test_a_second_set_up_waits_for_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entered = threading.Event()

    def second() -> None:
        with setup._alone():
            entered.set()

    with (tmp_path / "setup.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        thread = threading.Thread(target=second)
        thread.start()
        assert not entered.wait(0.3)
    assert entered.wait(10)
    thread.join()
    assert "another set-up runs" in capsys.readouterr().out
