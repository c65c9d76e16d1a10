"""Where the agent keeps things on a machine, in one place. A root of its own makes it testable."""

from dataclasses import dataclass
from pathlib import Path

PROGRAM = "gpuaas-agent"


@dataclass(frozen=True)
class Places:
    """Every path the agent writes, below one root."""

    root: Path = Path("/")

    @property
    def state(self) -> Path:
        """What must outlive a restart; readable by root alone."""
        return self.root / "var/lib/gpuaas-agent"

    @property
    def config(self) -> Path:
        """Which platform this machine belongs to, and as what."""
        return self.state / "config.json"

    @property
    def authority(self) -> Path:
        """The authority of the platform's certificate, where one is pinned."""
        return self.state / "ca.pem"

    @property
    def identity(self) -> Path:
        """The keys this machine is known by."""
        return self.state / "identity"

    @property
    def identity_next(self) -> Path:
        """The keys that take over, from before the platform hears of them."""
        return self.state / "identity.next"

    @property
    def signers(self) -> Path:
        """Whose directions are followed."""
        return self.state / "signers.json"

    @property
    def access(self) -> Path:
        """The access direction that was handled last."""
        return self.state / "access.json"

    @property
    def tasks(self) -> Path:
        """A folder for each task that has not been reported yet."""
        return self.state / "tasks"

    @property
    def update(self) -> Path:
        """A newer agent on its way to take over."""
        return self.state / "update.pyz"

    @property
    def passing(self) -> Path:
        """What need not outlive a boot; can be entered by the users tasks run as."""
        return self.root / "run/gpuaas-agent"

    @property
    def ssh_dropin(self) -> Path:
        """Our part of sshd's configuration."""
        return self.root / "etc/ssh/sshd_config.d/20-gpuaas-agent.conf"

    @property
    def ssh_folder(self) -> Path:
        """What that part points at; sshd reads it as the user who logs in."""
        return self.root / "etc/ssh/gpuaas-agent"

    @property
    def unit(self) -> Path:
        """Our systemd unit."""
        return self.root / "etc/systemd/system/gpuaas-agent.service"

    @property
    def program(self) -> Path:
        """The agent itself."""
        return self.root / "usr/local/bin" / PROGRAM
