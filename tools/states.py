"""Writes docs/states.md: every state machine as a diagram, and what operations do to them.

`python -m tools.states` writes the file; a test compares it with what would be written. It knows
the contract's tables and nothing else.
"""

from pathlib import Path

from gpuaas_contract.effects import EFFECTS, Effect
from gpuaas_contract.states import MACHINES, StateMachine

FILE = Path(__file__).parent.parent / "docs" / "states.md"

_INTRODUCTION = (
    "Made by `python -m tools.states` from `gpuaas_contract`; the platform refuses every"
    " transition that is not here with `state_conflict`.\n"
)
_EFFECTS = (
    "An operation's kind is the app's word; its purpose says what it does to the states. A"
    " report that says something more exact (degraded instead of running) wins. In whatever state"
    " a failure leaves its target, the same can be retried or asked for again; a delete that failed"
    " goes on when it is asked for again."
)
_WORDS = {
    "instance": "One deployed app. `failed` and `degraded` are left by operations;"
    " `cleanup_blocked` by the app's statement that nothing is left, or by another delete.",
    "member": "One component on one allocation. A removed member stays as a tombstone."
    " `unreachable` is a condition beside the state, never a state: unreachable is not gone.",
    "operation": "One piece of work. `accepted` and `running` have a lease; a lapsed or released"
    " lease leads back to `requested`. `failed` is left by retry or abandon.",
    "app version": "A published version of an app; its manifest never changes.",
    "allocation": "A machine held by a project.",
    "node": "A machine of the platform. `cleaning` while it goes from one tenant to others;"
    " `set_aside` when that failed. Both are left by evidence or by `retired`, never by a change of"
    " the status.",
    "cleaning of a node": "Sessions are ended and the agent's identity is revoked (`closing`), the"
    " machine is cleaned as its region says (`wiping`), its agent enrols afresh (`enrolling`) and"
    " is heard (`checking`). `set_aside` is left by a retry, by an operator who confirms, or by"
    " `retired`.",
    "enrolment": "A permission to enrol one host, once.",
    "node agent": "What speaks for a machine. `leaving` until the host has said that it is clean;"
    " absent is a condition of the node, never a state: absent is not gone.",
    "node task": "Work for a machine. `running` begins before anything is done there, so that what"
    " expires has never begun; it ends by the machine's own word.",
    "artifact": "What can be installed, from the intent to publish it. `ingesting` puts it together"
    " and verifies its digest; `promoted` means that a channel points at it; the content of what is"
    " `retired` or `failed` is deleted, its record stays.",
    "artifact trust": "Whether a key its source trusts vouches for an artifact. `revoked` is"
    " final: what is good after all is published anew.",
}


def document() -> str:
    """The whole page."""
    parts = [
        "# State machines\n",
        _INTRODUCTION,
    ]
    parts += [_machine(machine) for machine in MACHINES]
    parts += [_effects()]
    return "\n".join(parts)


def _machine(machine: StateMachine) -> str:
    title = machine.name.capitalize()
    return f"## {title}\n\n{_WORDS[machine.name]}\n\n```mermaid\n{machine.mermaid()}\n```\n"


def _effects() -> str:
    lines = [
        "## What operations do",
        "",
        _EFFECTS,
        "",
        "| purpose | alone | asked for when | while it runs | when it succeeded | when given up |",
        "|---|---|---|---|---|---|",
    ]
    for purpose, effect in EFFECTS.items():
        cells = [f"`{purpose}`", "yes" if effect.exclusive else "no", _requires(effect)]
        cells += [_cell(effect, name) for name in ("during", "after", "given_up")]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _requires(effect: Effect) -> str:
    found = []
    for what, part in (("instance", effect.instance), ("member", effect.member)):
        if part is not None and part.requires:
            found.append(f"{what} {', '.join(sorted(part.requires))}")
    return "; ".join(found) or "any time before deleting"


def _cell(effect: Effect, name: str) -> str:
    parts = [
        f"{what} {getattr(part, name)}"
        for what, part in (("instance", effect.instance), ("member", effect.member))
        if part is not None and getattr(part, name) is not None
    ]
    return ", ".join(parts) or ""


if __name__ == "__main__":
    FILE.write_text(document())
