"""The order of a cleaning: no evidence is skipped, and every end is reached by its own evidence."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gpuaas_contract.capacity import CleaningMethod
from gpuaas_contract.cleaning import CleaningAction
from gpuaas_contract.states import CLEANING, CleaningStatus
from gpuaas_platform.fleet.cleaning_rules import Move, Seen, next_actions, next_move

SEEN = st.builds(
    Seen,
    status=st.sampled_from(CleaningStatus),
    method=st.sampled_from(CleaningMethod),
    had_agent=st.booleans(),
    late=st.booleans(),
    attempt=st.integers(0, 6),
    asked=st.booleans(),
    taken=st.booleans(),
    confirmed=st.booleans(),
    closed=st.booleans(),
    gone=st.booleans(),
    failed=st.sampled_from(["", "the rack does not answer"]),
    enrolled=st.booleans(),
    settled=st.booleans(),
)
TARGETS = {
    Move.REVOKE: CleaningStatus.WIPING,
    Move.ASK_HOOK: CleaningStatus.WIPING,
    Move.AWAIT_ENROLMENT: CleaningStatus.ENROLLING,
    Move.CHECK: CleaningStatus.CHECKING,
    Move.SUCCEED: CleaningStatus.SUCCEEDED,
    Move.SET_ASIDE: CleaningStatus.SET_ASIDE,
}


@given(SEEN)
def test_every_move_is_a_transition_and_every_failure_has_a_reason(seen: Seen) -> None:
    move, reason = next_move(seen)
    assert move is Move.WAIT or CLEANING.allows(seen.status, TARGETS[move])
    assert bool(reason) == (move is Move.SET_ASIDE)


@given(SEEN)
def test_nothing_succeeds_without_its_evidence(seen: Seen) -> None:
    move, _ = next_move(seen)
    if move is not Move.SUCCEED:
        return
    enrolled = seen.status is CleaningStatus.CHECKING and seen.enrolled and seen.settled
    by_hand = seen.status is CleaningStatus.WIPING and seen.confirmed and not seen.had_agent
    gone = seen.status is CleaningStatus.WIPING and seen.gone
    assert enrolled or by_hand or (gone and seen.method is CleaningMethod.RECREATE)


@given(SEEN)
def test_the_identity_is_revoked_before_anything_else(seen: Seen) -> None:
    move, _ = next_move(seen)
    if seen.status is CleaningStatus.CLOSING:
        assert move in {Move.WAIT, Move.REVOKE}
    else:
        assert move is not Move.REVOKE


@given(SEEN)
def test_what_is_set_aside_waits_for_an_operator(seen: Seen) -> None:
    settled = {CleaningStatus.SET_ASIDE, CleaningStatus.SUCCEEDED, CleaningStatus.RETIRED}
    if seen.status in settled:
        assert next_move(seen) == (Move.WAIT, "")


@given(st.sampled_from(CleaningMethod), st.sampled_from(CleaningStatus), st.booleans())
def test_no_cleaning_that_stands_still_is_without_a_way_out(
    method: Any, status: Any, by: Any
) -> None:
    actions = next_actions(method, status, confirmed=by)
    if status in CLEANING.terminal:
        assert actions == []
    if status is CleaningStatus.SET_ASIDE:
        assert CleaningAction.RETRY in actions
    if status is CleaningStatus.WIPING and method is CleaningMethod.ATTESTED and not by:
        assert CleaningAction.CONFIRM in actions
