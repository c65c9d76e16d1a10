"""The agent's HPKE against published vectors, and against a box another implementation made."""

import pytest

from gpuaas_agent import sealing
from gpuaas_agent.sealing import CannotOpen, box_open, sealing_key_public, x25519

PRIVATE = bytes.fromhex("8057991eef8f1f1af18f4a9491d16a1ce333f695d4db8e38da75975c4478e0fb")
INFO = b"Ode on a Grecian Urn"
# Made by the `cryptography` package, to the key above.
BOX = bytes.fromhex(
    "9b90f0b04dc5ec86610ede4a8c18deb52aa8480a84f384bb763139ce88dba73e74025b86af977ee0"
    "fe55e975e079ae175f9054da623af0c11a77bef435776d3d8bb55ac1c0cadb52231b113a31"
)


def test_x25519_of_rfc_7748() -> None:
    scalar = bytes.fromhex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4")
    point = bytes.fromhex("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c")
    expected = "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"
    assert x25519(scalar, point).hex() == expected


def test_the_key_schedule_of_rfc_9180() -> None:
    """Appendix A.2.1: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20Poly1305, base mode."""
    encapsulated = "1afa08d3dec047a643885163f1180476fa7ddb54c6a8029ea33f95796bf2ac4a"
    public = "4310ee97d88cc1f088a5576c77ab0cf5c3ac797f3d95139c6c84b5429c59662a"
    assert sealing_key_public(PRIVATE).hex() == public
    shared = sealing._decapsulated(PRIVATE, bytes.fromhex(encapsulated))
    key, nonce = sealing._schedule(shared, INFO)
    assert key.hex() == "ad2744de8e17f4ebba575b3f5f5a8fa1f69c2a07f6e7500bc60ca6e3e3ec1c91"
    assert nonce.hex() == "5c4d98150661b848853b547f"


def test_a_box_opens_for_its_purpose_and_as_it_was() -> None:
    assert box_open(PRIVATE, BOX, INFO) == b"Beauty is truth, truth beauty"
    for box, info in (
        (BOX, b"Ode to a Nightingale"),
        (BOX[:-1] + b"\0", INFO),
        (bytes(32) + BOX[32:], INFO),
        (BOX[:40], INFO),
    ):
        with pytest.raises(CannotOpen):
            box_open(PRIVATE, box, info)
