"""Whose directions are followed: texts signed by the platform, for this machine and no other.

Signatures are checked by the machine's own ssh-keygen. The keys come with enrolment; later ones are
told by a key that is known already.
"""

import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

from gpuaas_agent.files import folder_make, json_get, json_put
from gpuaas_agent.places import Places
from gpuaas_agent.programs import ProgramFailed, program_run

NAMESPACE = "gpuaas-direction"
_PLATFORM = "platform"


class NotTrusted(Exception):
    """A direction that is not the platform's, or not for this machine."""


class Trust:
    """The platform's keys as this machine knows them."""

    def __init__(self, places: Places, node_id: str) -> None:
        self._places = places
        self._node_id = node_id
        self._keys: list[str] = json_get(places.signers) or []

    @property
    def revision(self) -> str:
        """Which keys are known, in short; the platform computes the same."""
        return hashlib.sha256("\n".join(sorted(self._keys)).encode()).hexdigest()[:32]

    def opened(self, signed: dict[str, str], kind: str) -> dict[str, Any]:
        """The direction inside; `NotTrusted` unless the platform signed it for this machine."""
        text = signed["payload"].encode()
        self._verify(text, signed["signature"])
        direction: dict[str, Any] = json.loads(text)
        if direction.get("node_id") != self._node_id:
            raise NotTrusted("a direction for another machine")
        if direction.get("type") != kind:
            raise NotTrusted(f"a direction of another kind than {kind}")
        return direction

    def learn(self, signed: dict[str, str]) -> None:
        """Take the keys that one of the known ones tells of."""
        direction = self.opened(signed, "signers")
        keys_keep(self._places, direction["signers"])
        self._keys = json_get(self._places.signers)

    def _verify(self, text: bytes, signature: str) -> None:
        folder_make(self._places.passing, 0o711)
        with tempfile.TemporaryDirectory(dir=self._places.passing) as name:
            folder = Path(name)
            allowed = "".join(f'{_PLATFORM} namespaces="{NAMESPACE}" {key}\n' for key in self._keys)
            (folder / "allowed").write_text(allowed)
            (folder / "signature").write_text(signature)
            argv = ["ssh-keygen", "-Y", "verify", "-f", str(folder / "allowed"), "-I", _PLATFORM]
            argv += ["-n", NAMESPACE, "-s", str(folder / "signature")]
            try:
                program_run(argv, text)
            except ProgramFailed as error:
                raise NotTrusted(f"a direction that the platform did not sign: {error}") from error


def keys_keep(places: Places, signers: list[dict[str, str]]) -> None:
    """Write the platform's keys down."""
    json_put(places.signers, [signer["public_key"] for signer in signers])
