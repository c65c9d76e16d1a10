"""The command line: what it says on errors, its exit codes, and how quickly it starts to speak."""

from pathlib import Path

import pytest

from gpuaas_cli.main import called
from gpuaas_cli.session import NoSuchName, exit_code, explain
from gpuaas_cli.whoami import place
from gpuaas_contract.errors import KINDS, ErrorCode, FieldError, Problem
from gpuaas_sdk import GpuaasError, UnreachableError
from gpuaas_sdk.errors import problem_error


def problem(code: ErrorCode) -> Problem:
    kind = KINDS[code]
    return Problem(
        title=kind.title,
        status=kind.status,
        detail="because",
        code=code,
        correlation_id="cor_1",
        retryable=kind.retryable,
        errors=[FieldError(pointer="/name", message="is taken")],
        next_actions=list(kind.next_actions),
    )


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (ErrorCode.INVALID_REQUEST, 1),
        (ErrorCode.INTERNAL, 2),
        (ErrorCode.UNAVAILABLE, 2),
        (ErrorCode.UNAUTHENTICATED, 3),
        (ErrorCode.PERMISSION_DENIED, 3),
        (ErrorCode.NOT_FOUND, 4),
        (ErrorCode.NAME_TAKEN, 5),
        (ErrorCode.OPERATION_IN_PROGRESS, 5),
        (ErrorCode.PRECONDITION_FAILED, 5),
    ],
)
def test_exit_codes(code: ErrorCode, expected: int) -> None:
    assert exit_code(problem_error(problem(code).model_dump(mode="json"))) == expected


def test_silence_is_the_servers_fault_and_a_wrong_option_the_clients() -> None:
    assert exit_code(UnreachableError("http://x", "refused")) == 2
    assert exit_code(GpuaasError("--body is not JSON")) == 1


@pytest.mark.parametrize("code", list(ErrorCode))
def test_every_error_has_a_next_action(code: ErrorCode) -> None:
    said = explain(problem_error(problem(code).model_dump(mode="json"))).splitlines()
    assert [line for line in said if line.startswith("  next: ")]
    assert said[-1] == "  correlation id: cor_1"


def test_silence_is_told_with_what_to_look_at_and_the_correlation_id() -> None:
    error = UnreachableError("http://x", "refused")
    error.correlation_id = "cor_2"
    said = explain(error).splitlines()
    assert said[0] == "error: unreachable: http://x does not answer: refused"
    assert "gpuaas status" in said[1]
    assert said[2] == "  correlation id: cor_2"


def test_a_name_nobody_has_is_told_with_the_list_of_those_there_are() -> None:
    said = explain(NoSuchName("allocation", "n9"))
    assert "there is no allocation 'n9'" in said
    assert "`gpuaas allocation list`" in said
    assert exit_code(NoSuchName("allocation", "n9")) == 4


def test_what_the_sentence_says_is_not_said_again() -> None:
    given = problem(ErrorCode.INVALID_REQUEST).model_dump(mode="json")
    said = explain(problem_error(given | {"detail": "/name: is taken"}))
    assert said.count("/name: is taken") == 1


def test_errors_show_code_field_next_action_and_correlation() -> None:
    said = explain(problem_error(problem(ErrorCode.NAME_TAKEN).model_dump(mode="json")))
    assert said.splitlines() == [
        "error: name_taken: because",
        "  /name: is taken",
        "  next: choose other name",
        "  correlation id: cor_1",
    ]


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert called(["--help"]) == 0
    shown = capsys.readouterr().out
    known = ("login", "status", "whoami", "api", "deploy", "instance", "allocation")
    assert [word for word in known if word not in shown] == []


def test_a_word_nobody_knows_is_the_clients_fault(capsys: pytest.CaptureFixture[str]) -> None:
    assert called(["allocation", "list", "--nonsense"]) == 1
    said = capsys.readouterr().err
    assert "--nonsense" in said
    assert "gpuaas allocation list --help" in said


@pytest.mark.parametrize(
    ("line", "said", "helped"),
    [
        ("allocation shew n1", '"show"', "`gpuaas allocation --help`"),
        ("alocation list", '"allocation"', "`gpuaas --help`"),
        ("allocation show", "allocation show needs ALLOCATION-ID", "allocation show --help"),
        ("node enroll", "node enroll needs NAME", "node enroll --help"),
    ],
)
def test_a_wrong_line_names_what_is_wrong_and_the_help_there_is(
    line: str, said: str, helped: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert called(line.split()) == 1
    told = capsys.readouterr().err
    assert said in told
    assert helped in told


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("allocation list --url nonsense", "is no address of a platform"),
        ("allocation list --url http://x:99999999", "is no address of a platform"),
        ("allocation list --correlation-id é!", "--correlation-id takes"),
    ],
)
def test_what_cannot_be_asked_is_not_asked(
    line: str, said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:  # fmt: skip
    monkeypatch.setenv("GPUAAS_CONFIG", str(tmp_path / "contexts.json"))
    assert called(line.split()) == 1
    assert said in capsys.readouterr().err


def test_places_read_as_people_say_them() -> None:
    assert place({"kind": "platform"}) == "platform"
    named = {"org_id": "org_1", "project_id": "proj_1", "org_name": "acme"}
    assert place(named | {"project_name": "research"}) == "acme/research"
    assert place({"org_id": "org_1"}) == "org_1"
