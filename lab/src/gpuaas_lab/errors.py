"""What can go wrong in the lab, each with one sentence and the remedy.

Raised by every module of the lab; the command prints them as one line. Nothing here does I/O.
"""


class LabError(Exception):
    """The base of everything the lab raises on purpose."""

    exit_code = 1

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} ({self.remedy})" if self.remedy else self.message


class HostNotReady(LabError):
    """This host cannot boot lab machines."""

    exit_code = 3


class NotSupported(LabError):
    """The kernel or the machine cannot do what was asked, and the lab does not pretend."""

    exit_code = 4


class NoSource(LabError):
    """The host's package sources do not offer what the image needs."""

    exit_code = 3


class LabNotFound(LabError):
    """No lab of that name exists on this host."""


class MachineNotFound(LabError):
    """The lab has no machine of that name."""


class MachineOff(LabError):
    """The machine is powered off."""


class LabBusy(LabError):
    """Another process is changing the same lab."""


class BootFailed(LabError):
    """A machine did not come up."""


class CommandFailed(LabError):
    """A command on the host or on a machine ended with a non-zero status."""
