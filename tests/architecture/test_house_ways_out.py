"""Every app's manifest leaves a way out of its own failures: to ask for the same again."""

import json
from pathlib import Path

import pytest

from gpuaas_contract.effects import EFFECTS
from gpuaas_contract.manifest_check import manifest_check
from gpuaas_contract.states import InstanceStatus

ROOT = Path(__file__).parents[2]
MANIFESTS = sorted(ROOT.glob("apps/*/src/*/manifest.json"))


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.parent.name)
def test_what_failed_can_be_asked_for_again_in_the_state_it_left(path: Path) -> None:
    manifest, problems = manifest_check(json.loads(path.read_text()))
    assert manifest is not None, problems
    for one in manifest.operations:
        effect, valid = EFFECTS[one.purpose], one.valid_in
        given_up = effect.instance.given_up
        if valid.instance_states and given_up is not None:
            assert {given_up, InstanceStatus.FAILED} <= set(valid.instance_states), one.kind
        left = None if effect.member is None else effect.member.given_up
        if valid.member_states and left is not None:
            assert left in valid.member_states, one.kind
