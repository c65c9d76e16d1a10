"""The facts of the machine the tests run on: the real kernel, through the real command."""

import json

import pytest

from gpuaas_agent.main import main

pytestmark = pytest.mark.integration


def test_the_machine_the_tests_run_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["facts"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["cpu"]["threads"] >= 1
    assert facts["memory"]["total"] > 0
    assert any("127.0.0.1/8" in (i["addresses"] or []) for i in facts["network"]["interfaces"])
    assert all(entry["reason"] for entry in facts["unknown"])
