"""What another implementation of HPKE seals, the agent opens; nothing else."""

import os

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from gpuaas_agent.sealing import (
    CannotOpen,
    box_open,
    sealing_key_make,
    sealing_key_public,
)

SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)


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
