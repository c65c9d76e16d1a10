"""State machines: whole, reachable, with a way out of every state that is not an end."""

import pytest

from gpuaas_contract.states import INSTANCE, MACHINES, MEMBER, StateMachine

machines = pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)


@machines
def test_every_state_is_reachable(machine: StateMachine) -> None:
    seen, frontier = {machine.initial}, [machine.initial]
    while frontier:
        new = machine.table[frontier.pop()] - seen
        seen |= new
        frontier += new
    assert seen == set(machine.table)


@machines
def test_every_state_can_come_to_an_end(machine: StateMachine) -> None:
    ending = set(machine.terminal)
    while True:
        more = {s for s, targets in machine.table.items() if targets & ending} | ending
        if more == ending:
            break
        ending = more
    assert ending == set(machine.table)


@machines
def test_nothing_leaves_an_end(machine: StateMachine) -> None:
    for end in machine.terminal:
        assert not any(machine.allows(end, other) for other in machine.table if other != end)


def test_unreachable_is_no_status() -> None:
    assert "unreachable" not in MEMBER.table
    assert "unreachable" not in INSTANCE.table


def test_gone_is_reached_only_through_removal() -> None:
    """Nothing is reported gone that was not taken down: one way in, besides a verified block."""
    assert {s for s in MEMBER.table if MEMBER.allows(s, "removed")} == {
        "removing",
        "cleanup_blocked",
        "removed",
    }
    assert {s for s in INSTANCE.table if INSTANCE.allows(s, "deleted")} == {
        "deleting",
        "cleanup_blocked",
        "deleted",
    }


@machines
def test_diagram_shows_every_transition(machine: StateMachine) -> None:
    drawn = machine.mermaid()
    for source, targets in machine.table.items():
        assert all(f"    {source} --> {target}" in drawn for target in targets)
