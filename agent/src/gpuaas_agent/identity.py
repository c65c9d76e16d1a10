"""The keys this machine is known by, and the tokens got with them.

An Ed25519 key that signs (made and used by the machine's own ssh-keygen) and an X25519 key that
secrets are sealed to. Neither leaves the machine. A rotation writes the next keys down before the
platform hears of them, and forgets the ones before only when the next have been accepted.
"""

import base64
import contextlib
import shutil
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from gpuaas_agent.files import file_put, folder_make, folder_sync
from gpuaas_agent.places import Places
from gpuaas_agent.programs import program_run
from gpuaas_agent.sealing import sealing_key_make, sealing_key_public
from gpuaas_agent.wire import Ask, Refused, Wire

CHALLENGE_NAMESPACE = "gpuaas-agent-challenge"
RENEW_BEFORE = 60.0


@dataclass(frozen=True)
class Keys:
    """One set of keys, in a folder of its own."""

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> "Keys":
        """New keys; what was there before is gone."""
        shutil.rmtree(folder, ignore_errors=True)
        folder_make(folder, 0o700)
        comment = ["-C", "gpuaas-agent"]
        program_run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", *comment, "-f", str(folder / "key")]
        )
        file_put(folder / "sealing", sealing_key_make())
        folder_sync(folder.parent)
        return cls(folder)

    @property
    def complete(self) -> bool:
        """Whether the making of them was not interrupted."""
        return (self.folder / "sealing").exists()

    @property
    def sealing(self) -> bytes:
        """The private key secrets are sealed to."""
        return (self.folder / "sealing").read_bytes()

    def public(self) -> dict[str, str]:
        """The public halves, as the platform wants them."""
        line = (self.folder / "key.pub").read_text().split()
        sealing = base64.b64encode(sealing_key_public(self.sealing)).decode()
        return {"identity_key": " ".join(line[:2]), "sealing_key": sealing}

    def signed(self, namespace: str, message: str) -> str:
        """A signature by the machine's own ssh-keygen."""
        argv = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(self.folder / "key"), "-n", namespace]
        return program_run(argv, message.encode()).decode()


class Identity:
    """Who this machine is to the platform: keys, and a token of some minutes."""

    def __init__(self, places: Places, wire: Wire, node_id: str) -> None:
        self._places = places
        self._wire = wire
        self._node_id = node_id
        self._token = ""
        self._token_until = 0.0
        self.rotates_at: datetime | None = None

    def token(self) -> str:
        """A token that is good for a while longer; blocking."""
        if time.monotonic() >= self._token_until - RENEW_BEFORE:
            self._renew()
        return self._token

    def token_drop(self) -> None:
        """The platform no longer takes the token."""
        self._token_until = 0.0

    def sealing_keys(self) -> list[bytes]:
        """The keys a secret may have been sealed to."""
        folders = (self._places.identity, self._places.identity_next)
        return [Keys(folder).sealing for folder in folders if Keys(folder).complete]

    def rotate(self) -> None:
        """Take new keys; can be repeated after whatever interrupted it."""
        following = Keys(self._places.identity_next)
        if not following.complete:
            following = Keys.make(self._places.identity_next)
        ask = Ask("/agent/identities", following.public(), self.token())
        self._wire.ask(ask)
        self._renew()

    def _renew(self) -> None:
        """Sign in: with the next keys if they are known already, else with the present ones."""
        following = Keys(self._places.identity_next)
        if following.complete:
            with contextlib.suppress(Refused):
                self._keep(self._signed_in(following))
                self._take_over(following)
                return
        self._keep(self._signed_in(Keys(self._places.identity)))

    def _signed_in(self, keys: Keys) -> dict[str, Any]:
        challenge = self._wire.ask(Ask("/agent/challenges"))["challenge"]
        signature = keys.signed(CHALLENGE_NAMESPACE, f"{self._node_id} {challenge}")
        body = {"node_id": self._node_id, "challenge": challenge, "signature": signature}
        answer: dict[str, Any] = self._wire.ask(Ask("/agent/tokens", body))
        return answer

    def _keep(self, answer: dict[str, Any]) -> None:
        self._token = answer["access_token"]
        self._token_until = time.monotonic() + float(answer["expires_in"])
        self.rotates_at = datetime.fromisoformat(answer["identity_rotates_at"])

    def _take_over(self, following: Keys) -> None:
        """The next keys were accepted: from now on they are the keys."""
        old = self._places.identity
        aside = old.with_name("identity.old")
        shutil.rmtree(aside, ignore_errors=True)
        with contextlib.suppress(FileNotFoundError):
            old.rename(aside)
        following.folder.rename(old)
        folder_sync(old.parent)
        shutil.rmtree(aside, ignore_errors=True)
