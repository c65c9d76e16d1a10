"""The command line: what it says on errors, its exit codes, and how quickly it starts to speak."""

import pytest

from gpuaas_cli.main import app
from gpuaas_cli.session import credentials, exit_code, explain
from gpuaas_cli.whoami import place
from gpuaas_contract.access import NamedScope
from gpuaas_contract.common import ScopeKind
from gpuaas_contract.errors import KINDS, ErrorCode, FieldError, Problem
from gpuaas_sdk import Anonymous, BearerToken, GpuaasError, ServiceAccountKey, UnreachableError
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
        (ErrorCode.PRECONDITION_FAILED, 5),
    ],
)
def test_exit_codes(code: ErrorCode, expected: int) -> None:
    assert exit_code(problem_error(problem(code))) == expected


def test_silence_is_the_servers_fault_and_a_wrong_option_the_clients() -> None:
    assert exit_code(UnreachableError("http://x", "refused")) == 2
    assert exit_code(GpuaasError("--body is not JSON")) == 1


def test_errors_show_code_field_next_action_and_correlation() -> None:
    said = explain(problem_error(problem(ErrorCode.NAME_TAKEN)))
    assert said.splitlines() == [
        "error: name_taken: because",
        "  /name: is taken",
        "  next: choose other name",
        "  correlation id: cor_1",
    ]


def test_identity_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pytest.TempPathFactory
) -> None:
    for name in ("GPUAAS_TOKEN", "GPUAAS_KEY_FILE"):
        monkeypatch.delenv(name, raising=False)
    assert isinstance(credentials(), Anonymous)
    monkeypatch.setenv("GPUAAS_KEY_FILE", f"{tmp_path}/missing")
    with pytest.raises(GpuaasError, match="cannot be read"):
        credentials()
    monkeypatch.setenv("GPUAAS_KEY_FILE", __file__)
    assert isinstance(credentials(), ServiceAccountKey)
    monkeypatch.setenv("GPUAAS_TOKEN", "gpp_x")
    assert isinstance(credentials(), BearerToken)


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        app("--help")
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert all(command in shown for command in ("status", "whoami", "api"))


def test_places_read_as_people_say_them() -> None:
    assert place(NamedScope(kind=ScopeKind.PLATFORM)) == "platform"
    named = NamedScope(
        kind=ScopeKind.PROJECT,
        org_id="org_1",
        project_id="proj_1",
        org_name="acme",
        project_name="research",
    )
    assert place(named) == "acme/research"
