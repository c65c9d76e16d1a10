"""The command line of the template."""

import json
from pathlib import Path

import pytest

from gpuaas_sdk.contract import manifest_check
from gpuaas_template.main import main


def test_the_manifest_it_prints_is_valid(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manifest"]) == 0
    manifest, problems = manifest_check(json.loads(capsys.readouterr().out))
    assert problems == []
    assert manifest is not None


def test_a_missing_key_is_said_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "none"
    assert main(["controller", "--key-file", str(missing), "--state", str(tmp_path)]) == 1
    assert str(missing) in capsys.readouterr().err
