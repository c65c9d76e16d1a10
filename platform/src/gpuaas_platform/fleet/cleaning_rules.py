"""What comes next in the cleaning of a node, decided from what was seen of it. Pure."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from gpuaas_contract.capacity import CleaningMethod
from gpuaas_contract.cleaning import CleaningAction
from gpuaas_contract.states import CleaningStatus

HOOK_ATTEMPTS: Final = 5
# Nothing goes on before an operator confirms; also where a region gave up cleaning meanwhile.
_BY_HAND: Final = frozenset({CleaningMethod.ATTESTED, CleaningMethod.SAME_TENANT_ONLY})


class Move(StrEnum):
    """What to do with a cleaning."""

    WAIT = "wait"
    REVOKE = "revoke"
    ASK_HOOK = "ask_hook"
    AWAIT_ENROLMENT = "await_enrolment"
    CHECK = "check"
    SUCCEED = "succeed"
    SET_ASIDE = "set_aside"


@dataclass(frozen=True)
class Seen:
    """What is known of a cleaning at one moment."""

    status: CleaningStatus
    method: CleaningMethod
    had_agent: bool
    late: bool
    """The deadline of the present step has passed."""
    attempt: int = 0
    asked: bool = False
    """A request to the hook is under way, or its next attempt is not due yet."""
    taken: bool = False
    confirmed: bool = False
    closed: bool = False
    """The agent has confirmed that it lets nobody in."""
    gone: bool = False
    failed: str = ""
    """Why the provider gave up; empty while it has not."""
    enrolled: bool = False
    settled: bool = False


def next_move(seen: Seen) -> tuple[Move, str]:
    """The next move, with the reason where it is a failure. `ready` needs evidence at each step."""
    decide = _RULES.get(seen.status)
    return (Move.WAIT, "") if decide is None else decide(seen)


def _closing(seen: Seen) -> tuple[Move, str]:
    waits = seen.had_agent and not seen.closed and not seen.late
    if waits and seen.method is not CleaningMethod.RECREATE:
        return Move.WAIT, ""
    return Move.REVOKE, ""


def _wiping(seen: Seen) -> tuple[Move, str]:
    if seen.confirmed:
        return (Move.AWAIT_ENROLMENT if seen.had_agent else Move.SUCCEED), ""
    if seen.method is CleaningMethod.RECREATE:
        return _recreating(seen)
    if seen.method is CleaningMethod.REIMAGE:
        return _reimaging(seen)
    return Move.WAIT, ""


def _recreating(seen: Seen) -> tuple[Move, str]:
    if seen.gone:
        return Move.SUCCEED, ""
    if seen.failed:
        return Move.SET_ASIDE, seen.failed
    return Move.WAIT, ""


def _reimaging(seen: Seen) -> tuple[Move, str]:
    if seen.failed:
        return Move.SET_ASIDE, seen.failed
    if seen.taken:
        return Move.AWAIT_ENROLMENT, ""
    if seen.asked:
        return Move.WAIT, ""
    if seen.attempt >= HOOK_ATTEMPTS:
        return Move.SET_ASIDE, f"The hook did not begin after {seen.attempt} requests."
    return Move.ASK_HOOK, ""


def _enrolling(seen: Seen) -> tuple[Move, str]:
    if seen.enrolled:
        return Move.CHECK, ""
    if seen.late:
        return Move.SET_ASIDE, "The machine did not enrol afresh before the deadline."
    return Move.WAIT, ""


def _checking(seen: Seen) -> tuple[Move, str]:
    if seen.settled and seen.enrolled:
        return Move.SUCCEED, ""
    if seen.late:
        return Move.SET_ASIDE, "The new agent did not confirm in time that it lets nobody in."
    return Move.WAIT, ""


_RULES: Final = {
    CleaningStatus.CLOSING: _closing,
    CleaningStatus.WIPING: _wiping,
    CleaningStatus.ENROLLING: _enrolling,
    CleaningStatus.CHECKING: _checking,
}


def next_actions(
    method: CleaningMethod, status: CleaningStatus, *, confirmed: bool
) -> list[CleaningAction]:
    """What an operator can do about a cleaning."""
    if status in {CleaningStatus.SUCCEEDED, CleaningStatus.RETIRED}:
        return []
    aside = status is CleaningStatus.SET_ASIDE
    waits = status is CleaningStatus.WIPING and method in _BY_HAND and not confirmed
    actions = [CleaningAction.RETRY] if aside else []
    if waits or (aside and method is not CleaningMethod.RECREATE):
        actions.append(CleaningAction.CONFIRM)
    if method is not CleaningMethod.RECREATE:
        actions.append(CleaningAction.RETIRE)
    return actions
