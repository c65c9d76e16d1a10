"""What can go wrong on the way to a machine and on it. All are step failures.

TemporaryFailure
├── MachineUnreachable   it could not be asked: nothing is known about it, least of all that it is
│                        gone; what a script did that was running is not known either
└── ScriptTimedOut       the script was ended, with everything it had started, at its time limit
PermanentFailure
├── AccessRefused        the platform gave no access, the machine did not take it, or another
│                        machine answered in its place
└── ScriptFailed         the script came to its end and says that it failed

Raised by sessions; an app may let them pass: each says which machine, what was tried, and what to
do, and carries the same as `detail`.
"""

from typing import Final

from gpuaas_sdk.failures import PermanentFailure, StepFailure, TemporaryFailure
from gpuaas_sdk.machines.values import Ran

MachineFailure = StepFailure
"""How the work on one machine of many ended badly: any step failure, as `Machines.each` says it."""

_LINES: Final = 12
_LONGEST: Final = 1500


class MachineUnreachable(TemporaryFailure):
    """The machine could not be asked. Unreachable is not gone: nothing is known."""

    def __init__(
        self,
        allocation_id: str,
        reason: str,
        *,
        code: str = "machine_unreachable",
        delay: float | None = None,
    ) -> None:
        text = f"The machine of {allocation_id} cannot be reached: {reason}"
        super().__init__(code, text, delay=delay, detail={"allocation_id": allocation_id})
        self.allocation_id = allocation_id


class AccessRefused(PermanentFailure):
    """The way to the machine is closed: by the platform, by the machine, or by a wrong host key."""

    def __init__(self, allocation_id: str, reason: str, *, code: str = "access_refused") -> None:
        text = f"No access to the machine of {allocation_id}: {reason}"
        super().__init__(code, text, detail={"allocation_id": allocation_id})
        self.allocation_id = allocation_id


class ScriptFailed(PermanentFailure):
    """A script ended with another status than 0. `what` names it: the step it belongs to."""

    def __init__(self, allocation_id: str, ran: Ran, what: str = "") -> None:
        said = last_lines(ran.stderr or ran.stdout)
        named = what or "A script"
        text = f"{named} ended with {ran.status} on the machine of {allocation_id}"
        super().__init__(
            "script_failed",
            f"{text}: {said}" if said else f"{text} and said nothing.",
            detail={
                "allocation_id": allocation_id,
                **({"step": what} if what else {}),
                "exit_code": ran.status,
                "stdout": last_lines(ran.stdout),
                "stderr": last_lines(ran.stderr),
            },
        )
        self.allocation_id = allocation_id
        self.ran = ran


class ScriptTimedOut(TemporaryFailure):
    """A script did not end in time; it was ended, with all it had started."""

    def __init__(self, allocation_id: str, ran: Ran, seconds: float, what: str = "") -> None:
        named = what or "A script"
        said = last_lines(ran.stderr or ran.stdout)
        text = f"{named} did not end within {seconds:g} s on the machine of {allocation_id}"
        super().__init__(
            "script_timed_out",
            f"{text}; its last words: {said}" if said else f"{text}.",
            detail={
                "allocation_id": allocation_id,
                **({"step": what} if what else {}),
                "limit_seconds": seconds,
                "stdout": last_lines(ran.stdout),
                "stderr": last_lines(ran.stderr),
            },
        )
        self.allocation_id = allocation_id
        self.ran = ran


def last_lines(text: str) -> str:
    """The end of some output, short enough to be shown."""
    kept = "\n".join(text.strip().splitlines()[-_LINES:])
    return kept if len(kept) <= _LONGEST else f"…{kept[-_LONGEST:]}"
