"""Effects stay within the state machines, and the drawn page says what the tables say."""

import pytest

from gpuaas_contract.effects import EFFECTS
from gpuaas_contract.manifest import Purpose
from gpuaas_contract.states import INSTANCE, MEMBER, InstanceStatus
from tools.states import FILE, document


def test_every_purpose_has_an_effect() -> None:
    assert set(EFFECTS) == set(Purpose)


@pytest.mark.parametrize("purpose", list(Purpose))
def test_effects_follow_the_tables(purpose: Purpose) -> None:
    effect = EFFECTS[purpose]
    for machine, part in ((INSTANCE, effect.instance), (MEMBER, effect.member)):
        if part is None or part.during is None:
            continue
        for start in part.requires:
            assert machine.allows(start, part.during), (purpose, start)
        for end in (part.after, part.given_up):
            assert end is None or machine.allows(part.during, end), (purpose, end)


@pytest.mark.parametrize("purpose", [one for one in Purpose if one is not Purpose.DELETE])
def test_what_a_failure_leaves_the_same_can_start_from(purpose: Purpose) -> None:
    """Every failure leaves a way out, and asking for the same again is one of them.

    A decommission that failed leaves `deleting`: asked for again, it is the same one that goes on.
    """
    effect = EFFECTS[purpose]
    instance, member = effect.instance, effect.member
    if instance.during is not None:
        # By itself, said to be unusable, and looked at again after a while.
        left = {instance.given_up, InstanceStatus.FAILED, InstanceStatus.DEGRADED}
        assert left <= instance.requires
    if member is not None and member.during is not None:
        assert member.given_up is not None
        assert not member.requires or member.given_up in member.requires


@pytest.mark.parametrize("purpose", [one for one in Purpose if EFFECTS[one].exclusive])
def test_what_waited_may_begin_in_any_settled_state(purpose: Purpose) -> None:
    """What was asked for before something else ended finds another state when its turn comes."""
    during = EFFECTS[purpose].instance.during
    assert during is not None
    for state in ("running", "degraded", "stopped", "failed"):
        assert INSTANCE.allows(state, during), state


def test_the_page_of_states_is_up_to_date() -> None:
    assert FILE.read_text() == document(), "run: python -m tools.states"
