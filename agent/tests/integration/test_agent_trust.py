"""Directions are followed only when the platform signed exactly them, for exactly this machine.

Signed here as the platform does, checked by the real ssh-keygen.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gpuaas_agent.places import Places
from gpuaas_agent.trust import NAMESPACE, NotTrusted, Trust, keys_keep
from gpuaas_platform.fleet.signatures import public_line, signature_make

KEY = Ed25519PrivateKey.generate()


def signer(key: Ed25519PrivateKey) -> dict[str, str]:
    return {"key_id": "k", "public_key": public_line(key)}


def signed(
    direction: dict[str, Any], key: Ed25519PrivateKey = KEY, namespace: str = NAMESPACE
) -> dict[str, str]:
    text = json.dumps(direction)
    return {"payload": text, "signature": signature_make(key, namespace, text.encode())}


@pytest.fixture
def places(tmp_path: Path) -> Places:
    made = Places(tmp_path)
    made.state.mkdir(parents=True)
    keys_keep(made, [signer(KEY)])
    return made


def test_what_the_platform_signed_is_followed(places: Places) -> None:
    direction = {"type": "task", "node_id": "node_1", "task_id": "task_1"}
    assert Trust(places, "node_1").opened(signed(direction), "task") == direction


def test_everything_else_is_not(places: Places) -> None:
    trust = Trust(places, "node_1")
    task = {"type": "task", "node_id": "node_1"}
    good = signed(task)
    for wrong in (
        {**good, "payload": good["payload"] + " "},
        signed(task, Ed25519PrivateKey.generate()),
        signed(task, namespace="file"),
        signed({**task, "node_id": "node_2"}),
        signed({**task, "type": "leave"}),
        {**good, "signature": "none"},
    ):
        with pytest.raises(NotTrusted):
            trust.opened(wrong, "task")


def test_new_keys_are_told_by_a_known_one(places: Places) -> None:
    trust, following = Trust(places, "node_1"), Ed25519PrivateKey.generate()
    before = trust.revision
    told = {"type": "signers", "node_id": "node_1", "signers": [signer(KEY), signer(following)]}
    with pytest.raises(NotTrusted):
        trust.learn(signed(told, following))
    trust.learn(signed(told))
    assert trust.revision != before
    task = {"type": "task", "node_id": "node_1"}
    assert trust.opened(signed(task, following), "task") == task
    assert Trust(places, "node_1").opened(signed(task, following), "task") == task
