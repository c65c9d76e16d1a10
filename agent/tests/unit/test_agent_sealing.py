"""The agent's HPKE against the published vectors and against another implementation."""

import os

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from gpuaas_agent.sealing import (
    CannotOpen,
    box_open,
    sealing_key_make,
    sealing_key_public,
    x25519,
)

SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)


def unhex(text: str) -> bytes:
    return bytes.fromhex(text)


def test_x25519_of_rfc_7748() -> None:
    scalar = unhex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4")
    point = unhex("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c")
    expected = unhex("c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552")
    assert x25519(scalar, point) == expected


def test_the_receivers_keys_of_rfc_9180() -> None:
    """Appendix A.2.1: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20Poly1305, base mode."""
    private = unhex("8057991eef8f1f1af18f4a9491d16a1ce333f695d4db8e38da75975c4478e0fb")
    public = unhex("4310ee97d88cc1f088a5576c77ab0cf5c3ac797f3d95139c6c84b5429c59662a")
    assert sealing_key_public(private) == public


@pytest.mark.parametrize("size", [0, 1, 15, 16, 63, 64, 65, 1000, 65_536])
def test_what_another_implementation_sealed_opens_here(size: int) -> None:
    private, value = sealing_key_make(), os.urandom(size)
    public = X25519PrivateKey.from_private_bytes(private).public_key()
    assert sealing_key_public(private) == public.public_bytes_raw()
    box = SUITE.encrypt(value, public, b"for this purpose")
    assert box_open(private, box, b"for this purpose") == value


@pytest.mark.parametrize("at", [0, 31, 32, 40, -1])
def test_a_changed_bit_is_found(at: int) -> None:
    private = sealing_key_make()
    public = X25519PublicKey.from_public_bytes(sealing_key_public(private))
    box = bytearray(SUITE.encrypt(b"a secret of some length", public, b""))
    box[at] ^= 1
    with pytest.raises(CannotOpen):
        box_open(private, bytes(box), b"")


def test_another_purpose_another_key_and_weak_points_open_nothing() -> None:
    private = sealing_key_make()
    public = X25519PublicKey.from_public_bytes(sealing_key_public(private))
    box = SUITE.encrypt(b"secret", public, b"one")
    for key, info, sealed in (
        (private, b"two", box),
        (sealing_key_make(), b"one", box),
        (private, b"one", bytes(32) + box[32:]),
        (private, b"one", box[:40]),
    ):
        with pytest.raises(CannotOpen):
            box_open(key, sealed, info)
