"""Commands made from the contract: every operation has one, and its flags are its fields."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpuaas_cli.body import body_make, missing, value_set
from gpuaas_cli.book import Flag, nouns, operation, operations
from gpuaas_cli.explain import explain, schema
from gpuaas_cli.main import called
from gpuaas_cli.options import Body
from gpuaas_cli.output import FIELD, NoSuchField, show
from gpuaas_cli.session import Stop
from gpuaas_cli.tree import make_app


def test_every_operation_can_be_typed() -> None:
    app = make_app((), whole=True)
    for noun, verbs in nouns().items():
        for verb in verbs:
            if noun == "whoami":
                continue  # a command of its own
            found, _, _ = app.parse_commands([noun, verb.verb])
            assert found == (noun, verb.verb)


@pytest.mark.parametrize("one", operations(), ids=lambda one: one.id)
def test_its_help_can_be_read(one: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert called([one.noun, one.verb, "--help"]) == 0
    shown = "".join(capsys.readouterr().out.split())
    flags = [flag for flag in one.fields if flag.name != "set"]
    assert [f.name for f in flags if f.name.replace("_", "-") not in shown.replace("_", "-")] == []


def test_names_people_use_lead_to_the_contracts(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["worker", "list"], ["op", "show"], ["app-instance", "list"]):
        assert called([*words, "--help"]) == 0
    assert "read" in capsys.readouterr().out


def test_a_body_comes_from_file_set_and_flags_in_this_order(tmp_path: Path) -> None:
    (tmp_path / "body.yaml").write_text("name: a\nsku: small\nintegration: {x: 1}\n")
    given = Body(file=tmp_path / "body.yaml", set=("integration.y=2", "sku=big", "note=a=b"))
    fields = operation("allocation_create").fields
    made = body_make(given, fields, {"name": "c", "region": None})
    assert made == {"name": "c", "sku": "big", "integration": {"x": 1, "y": 2}, "note": "a=b"}
    assert [flag.name for flag in missing(fields, made)] == ["region"]


def test_values_are_json_where_they_read_as_such() -> None:
    body: dict[str, Any] = {}
    for one in ("a=1", "b=true", 'c=["x"]', "d=n1", "e.f=null"):
        value_set(body, one)
    assert body == {"a": 1, "b": True, "c": ["x"], "d": "n1", "e": {"f": None}}
    for wrong in ("a", "=1", "a.b=1"):
        with pytest.raises(Stop):
            value_set(body, wrong)
    with pytest.raises(Stop, match="not JSON"):
        body_make(None, (Flag("settings", "json"),), {"settings": "{"})


def test_every_form_of_output(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"id": "a_1", "status": "running", "tags": ["x", "y"], "empty": None}]
    show(rows, "table", ("id", "status", "empty", "tags"))
    assert capsys.readouterr().out.split() == ["ID", "STATUS", "TAGS", "a_1", "running", "x,", "y"]
    show(rows, "wide", ("id", "empty"))
    assert capsys.readouterr().out.split() == ["ID", "EMPTY", "a_1", "-"]
    show(rows, "csv", ("id", "tags", "empty"))
    assert capsys.readouterr().out == 'id,tags,empty\na_1,"[""x"", ""y""]",\n'
    show(rows[0], "yaml")
    assert "- x" in capsys.readouterr().out
    show(rows, "json")
    assert json.loads(capsys.readouterr().out) == rows


def test_a_field_nobody_has_is_not_an_empty_line(capsys: pytest.CaptureFixture[str]) -> None:
    chosen = FIELD.set("nme")
    try:
        with pytest.raises(NoSuchField, match="there are: id, name"):
            show([{"id": "a_1", "name": "n1"}], "table")
        show([], "table")
    finally:
        FIELD.reset(chosen)
    assert capsys.readouterr().out == ""


def test_the_contract_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert explain("instance") == 0
    shown = capsys.readouterr().out
    assert "gpuaas instance list" in shown
    assert "conditions" in shown
    assert explain("instance.status") == 0
    assert "running" in capsys.readouterr().out
    assert explain() == 0
    assert "A machine held by a project." in capsys.readouterr().out
    assert explain("instance.nonsense") == 1
    assert explain("nonsense") == 1
    capsys.readouterr()
    assert schema("AllocationCreate") == 0
    assert json.loads(capsys.readouterr().out)["required"] == ["name", "sku", "region"]
    assert schema("AppInstance") == 0
    assert "#/components" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "line", ["--help", "allocation list --help", "login --help", "__complete l"]
)
def test_help_loads_neither_the_parser_nor_the_sdk(line: str) -> None:
    words = line.split()
    code = f"""
import sys
from gpuaas_cli.main import called
called({words!r})
loaded = {{name.partition(".")[0] for name in sys.modules}}
heavy = {{"cyclopts", "rich", "gpuaas_sdk", "httpx2", "pydantic", "yaml", "asyncio"}} & loaded
sys.exit(",".join(sorted(heavy)) or 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
