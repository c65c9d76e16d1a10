"""The public surface: what an app may import, fixed name by name; and its small parts."""

import json
import logging
from pathlib import Path

import pytest

import gpuaas_sdk
from gpuaas_sdk import (
    FolderState,
    JsonLines,
    Log,
    MemoryState,
    StateStore,
    contract,
    machines,
    testing,
)

SURFACE = """
AccessRefused Anonymous App AuthenticationError BearerToken BriefClient Client ConflictError
ConflictFailure Context Controller Credentials Facts File FolderState GpuaasError JsonLines Log Look
Machine MachineFailure MachineUnreachable Machines MemoryState Metrics NoMetrics NotFoundError
Options PermanentError PermanentFailure PermissionDeniedError Plan ProblemError Procedure Ran
Request Retries Schedule ScriptFailed ScriptTimedOut SealingKey ServiceAccountKey StateStore Step
StepFailure StopRequested Target TemporaryError TemporaryFailure Together Unit UnreachableError
follow
"""
MACHINES = """
About Access AccessRefused AgentAccess CertificateAccess File Machine MachineFailure
MachineUnreachable Machines Order Output Patience Ran ScriptFailed ScriptTimedOut SealedKeyAccess
SshAccess Unit Wire ssh_access
"""
TESTING = """
FakeClock MemoryPlatform ProofFailed Proven Stage controller_running operation_ended
operation_run prove_operation
"""
CONTRACT = """
Absence AbsenceReport AdapterDetail Allocation AppInstance Condition ConditionReport ConditionType
CustodyRevoke CustodyStatus DetailReport ErrorFamily EventFilter GrantLogin Health InstanceCreate
InstanceReport InstanceStatus Json Manifest Member MemberReport MemberStatus Operation
OperationCreate OperationError OperationSpec OperationStatus Permission Person PlacedMember
PlacementIntent Purpose Requested RuntimeSecret RuntimeSecretCreate RuntimeSecretDeliver
RuntimeSecretDelivered SecretEncoding SecretRandom Severity StepState manifest_check
"""


def test_the_public_names_are_these() -> None:
    assert gpuaas_sdk.__all__ == SURFACE.split()
    assert machines.__all__ == MACHINES.split()
    assert testing.__all__ == TESTING.split()
    assert contract.__all__ == CONTRACT.split()


def test_every_public_name_is_explained() -> None:
    for module in (gpuaas_sdk, machines, testing):
        for name in module.__all__:
            assert getattr(module, name).__doc__, name


def test_the_readme_names_the_whole_surface() -> None:
    page = (Path(__file__).parents[2] / "README.md").read_text()
    missing = [name for name in _all_names() if f"`{name}`" not in page]
    assert missing == []


def _all_names() -> list[str]:
    return [*SURFACE.split(), *MACHINES.split(), *TESTING.split()]


@pytest.mark.parametrize("kind", ["memory", "folder"])
async def test_documents_are_kept_by_instance_and_key(kind: str, tmp_path: Path) -> None:
    store: StateStore = MemoryState() if kind == "memory" else FolderState(tmp_path)
    assert await store.read("inst_1", "ids") is None
    await store.write("inst_1", "ids", {"next": 7})
    await store.write("inst_1", "ids", {"next": 8})
    assert await store.read("inst_1", "ids") == {"next": 8}
    assert await store.read("inst_2", "ids") is None
    await store.remove("inst_1", "ids")
    await store.remove("inst_1", "ids")
    assert await store.read("inst_1", "ids") is None


async def test_a_document_cannot_leave_its_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot name"):
        await FolderState(tmp_path).write("..", "x", {})


def test_a_log_line_is_json_with_its_ids(caplog: pytest.LogCaptureFixture) -> None:
    log = Log(logging.getLogger("surface"), {"app": "notes"}).bind(correlation_id="cor_1")
    log.warning("hello %s", "you", extra={"step": "paper"})
    line = json.loads(JsonLines().format(caplog.records[0]))
    assert line["message"] == "hello you"
    assert (line["app"], line["correlation_id"], line["step"]) == ("notes", "cor_1", "paper")
    assert line["level"] == "warning"
