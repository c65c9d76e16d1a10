"""Contexts: what is kept, who may read it, and what the environment changes."""

from pathlib import Path

import pytest

from gpuaas_cli.config import (
    Config,
    ConfigError,
    Context,
    config_path,
    config_read,
    config_write,
    context_chosen,
)
from gpuaas_cli.main import called
from gpuaas_cli.session import credentials
from gpuaas_sdk import Anonymous, BearerToken, GpuaasError, ServiceAccountKey

LAB = Context(url="https://lab.test", token="gpp_secret", project="research", who="ada")


def test_contexts_are_kept_for_their_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "gpuaas" / "contexts.json"
    config_write(path, Config().having("lab", LAB))
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert config_read(path) == Config("lab", {"lab": LAB})
    assert [one.name for one in path.parent.iterdir()] == ["contexts.json"]


def test_no_file_is_no_context_and_a_broken_one_is_said(tmp_path: Path) -> None:
    assert config_read(tmp_path / "none") == Config()
    (tmp_path / "broken").write_text("{")
    with pytest.raises(ConfigError, match="not a file of contexts"):
        config_read(tmp_path / "broken")


def test_the_environment_wins() -> None:
    config = Config("lab", {"lab": LAB, "other": Context(url="https://other.test")})
    assert context_chosen(config, None, environ={}) == LAB
    assert context_chosen(config, None, environ={"GPUAAS_CONTEXT": "other"}).token is None
    narrowed = context_chosen(config, None, environ={"GPUAAS_PROJECT": "else"})
    assert (narrowed.project, narrowed.token) == ("else", LAB.token)
    keyed = context_chosen(config, None, environ={"GPUAAS_KEY_FILE": "key"})
    assert (keyed.token, keyed.key_file) == (None, "key")
    with pytest.raises(ConfigError, match="known: lab, other"):
        context_chosen(config, "missing", environ={})


@pytest.mark.parametrize("how", ["option", "environment"])
def test_a_token_goes_to_its_own_platform_alone(how: str) -> None:
    config = Config("lab", {"lab": LAB})
    url = "https://evil.test" if how == "option" else None
    environ = {} if url else {"GPUAAS_URL": "https://evil.test"}
    chosen = context_chosen(config, None, url, environ=environ)
    assert (chosen.url, chosen.token, chosen.key_file) == ("https://evil.test", None, None)
    same = context_chosen(config, None, "https://lab.test/", environ={})
    assert same.token == LAB.token


def test_identity_comes_from_the_context(tmp_path: Path) -> None:
    assert isinstance(credentials(Context()), Anonymous)
    assert isinstance(credentials(LAB), BearerToken)
    with pytest.raises(GpuaasError, match="cannot be read"):
        credentials(Context(key_file=str(tmp_path / "missing")))
    (tmp_path / "key").write_text("gpk_x\n")
    assert isinstance(credentials(Context(key_file=str(tmp_path / "key"))), ServiceAccountKey)


def test_where_they_are_kept() -> None:
    assert config_path({"XDG_CONFIG_HOME": "/x"}) == Path("/x/gpuaas/contexts.json")
    assert config_path({"HOME": "/h"}) == Path("/h/.config/gpuaas/contexts.json")
    assert config_path({"HOME": "/h", "GPUAAS_CONFIG": "/c"}) == Path("/c")


def test_a_context_is_shown_without_its_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "contexts"
    monkeypatch.setenv("GPUAAS_CONFIG", str(path))
    config_write(path, Config().having("lab", LAB).having("b", Context(url="https://b.test")))
    assert called(["context", "use", "lab"]) == 0
    assert called(["context", "set", "--project", "p2"]) == 0
    for words in (["context", "list"], ["context", "show", "-o", "json"]):
        assert called(words) == 0
    shown = capsys.readouterr().out
    assert "p2" in shown
    assert "gpp_secret" not in shown
    assert called(["context", "remove", "lab"]) == 0
    assert called(["context", "show"]) == 1
    assert "known: b" in capsys.readouterr().err
