"""The command line: what it says on errors, its exit codes, and how quickly it starts to speak."""

import pytest

from gpuaas_cli.main import called
from gpuaas_cli.session import exit_code, explain
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


def test_places_read_as_people_say_them() -> None:
    assert place({"kind": "platform"}) == "platform"
    named = {"org_id": "org_1", "project_id": "proj_1", "org_name": "acme"}
    assert place(named | {"project_name": "research"}) == "acme/research"
    assert place({"org_id": "org_1"}) == "org_1"
