"""Directions for agents: texts bound to one node, signed with a key of the installation's keyring.

Agents learn the keys when they enrol. When the keyring gets another key, one that the agent knows
tells it of that; everything else is signed with the newest. Called by this room.
"""

import hashlib
from itertools import combinations
from typing import Final

from gpuaas_contract.common import Model
from gpuaas_contract.fleet_agent import (
    DIRECTION_NAMESPACE,
    Signed,
    SignerKey,
    SignersDirection,
)
from gpuaas_platform.fleet.signatures import public_line, signature_make
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.keyring import Signer, keyring_of

_PURPOSE: Final = "node-directions"
_MOST_KEYS: Final = 10


async def direction_sign(platform: Platform, direction: Model) -> Signed:
    """A direction as agents accept it."""
    return _signed((await keyring_of(platform)).signer(_PURPOSE), direction)


async def signer_keys(platform: Platform) -> list[SignerKey]:
    """The keys directions are signed with, the newest last."""
    signers = (await keyring_of(platform)).signers(_PURPOSE)
    return [SignerKey(key_id=one.key_id, public_key=public_line(one.key)) for one in signers]


async def signers_revision(platform: Platform) -> str:
    """Which keys those are, in short."""
    return signers_digest(await signer_keys(platform))


def signers_digest(keys: list[SignerKey]) -> str:
    """The same of keys at hand; agents compute it, too."""
    text = "\n".join(sorted(key.public_key for key in keys))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


async def signers_direction(platform: Platform, node_id: str, known: str) -> Signed:
    """The keys to follow from now on, told by one of those the agent says it knows."""
    keys = await signer_keys(platform)
    direction = SignersDirection(node_id=node_id, revision=signers_digest(keys), signers=keys)
    trusted = _trusted(keys, known)
    signers = (await keyring_of(platform)).signers(_PURPOSE)
    signer = next((one for one in signers if one.key_id == trusted), signers[-1])
    return _signed(signer, direction)


def _trusted(keys: list[SignerKey], known: str) -> str | None:
    """A key of the set an agent has, told by that set's digest alone; there are few keys."""
    for count in range(1, len(keys) + 1):
        for some in combinations(keys[-_MOST_KEYS:], count):
            if signers_digest(list(some)) == known:
                return some[0].key_id
    return None


def _signed(signer: Signer, direction: Model) -> Signed:
    payload = direction.model_dump_json()
    signature = signature_make(signer.key, DIRECTION_NAMESPACE, payload.encode())
    return Signed(payload=payload, signature=signature, key_id=signer.key_id)
