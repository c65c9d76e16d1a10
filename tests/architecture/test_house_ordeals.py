"""No step is spared: every step of every operation is killed and failed by some system test.

Compares the tables those tests go by with the app's own lists of steps, so that a step nobody kills
or fails cannot be added unnoticed.
"""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import slurm_faults
from slurm_faults import ORDEALS
from slurm_world import NOW, instance, member

from gpuaas_sdk import Client, Context, Log, Machines, MemoryState, Target
from gpuaas_sdk.app import steps_of
from gpuaas_sdk.contract import Member, Operation
from gpuaas_slurm.app import slurm_app
from gpuaas_slurm.plan import ORDER
from gpuaas_slurm.services import Services

CLIENT = Client("http://127.0.0.1:9")
APP = slurm_app(Services(CLIENT))
PLACEMENTS = (
    (member("n1", "controller"), member("n2", "worker"), member("n3", "worker")),
    (member("n1", "controller"), member("n1", "worker"), member("n3", "worker")),
)
"""Jobs run elsewhere, or beside the controller."""
INPUTS: tuple[dict[str, str], ...] = ({}, {"jobs": "requeue"})
"""What changes which steps there are."""


def operation(kind: str, members: tuple[Member, ...], given: dict[str, str]) -> Operation:
    """Of the first worker, whom the second replaces."""
    values = {
        "id": "op_1", "instance_id": "inst_1", "org_id": "org_1", "project_id": "proj_1",
        "app_slug": "slurm", "kind": kind, "purpose": "custom", "exclusive": True,
        "target": {"kind": "instance", "id": "inst_1"},
        "member_id": members[1].id, "new_member_id": members[2].id,
        "group_id": None, "waits_for": None, "input": given, "target_version": None,
        "status": "running", "ready": True, "progress": [], "conditions": [], "attempt": 1,
        "max_attempts": 3, "not_before": NOW, "lease": None, "cancel_requested": False,
        "error": None, "revision": 1, "correlation_id": "cor_1", "requested_by": "user_1",
        "reason": "", "requested_at": NOW, "started_at": NOW, "ended_at": None,
        "next_actions": [],
    }  # fmt: skip
    return Operation.model_validate(values)


def contexts(kind: str) -> Iterator[Context]:
    """Every situation in which an operation may have other steps."""
    for members in PLACEMENTS:
        for given in INPUTS:
            yield Context(
                target=Target(instance(), members),
                operation=operation(kind, members, given),
                state=MemoryState(),
                machines=Machines(CLIENT),
                log=Log(logging.getLogger(), {}),
            )


async def own_steps(kind: str) -> set[str]:
    """The names of all steps an operation can have."""
    if kind == APP.reconcile:
        return {f"repair_{repair}" for repair in ORDER}
    found = [await APP.operations[kind].load(ctx) for ctx in contexts(kind)]
    return {step.title for ordered in found for step in steps_of(ordered)}


def test_every_operation_has_its_ordeal() -> None:
    assert set(ORDEALS) == set(APP.operations)


@pytest.mark.parametrize("kind", APP.operations)
async def test_every_step_is_killed_and_fails_for_a_cause(kind: str) -> None:
    steps = [item for faults in ORDEALS[kind] for group in faults for item in group.items()]
    # Where it has a cause it fails by it, and kills once it has gone (`slurm_ordeal.py` counts).
    assert {step for step, cause in steps if cause is not None} == await own_steps(kind)
    assert {step for step, _ in steps} == await own_steps(kind)


def test_every_table_is_gone_by() -> None:
    folder = Path(slurm_faults.__file__).parents[1] / "system" / "slurm"
    texts = [path.read_text() for path in folder.glob("test_*.py")]
    tables = {id(faults) for listed in ORDEALS.values() for faults in listed}
    names = [name for name, value in vars(slurm_faults).items() if id(value) in tables]
    assert [name for name in names if not any(f" {name}," in text for text in texts)] == []
