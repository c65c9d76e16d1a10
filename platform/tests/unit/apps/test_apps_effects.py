"""Effects stay within the state machines, and the drawn page says what the tables say."""

import pytest

from gpuaas_contract.effects import EFFECTS
from gpuaas_contract.manifest import Purpose
from gpuaas_contract.states import INSTANCE, MEMBER
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


def test_the_page_of_states_is_up_to_date() -> None:
    assert FILE.read_text() == document(), "run: python -m tools.states"
