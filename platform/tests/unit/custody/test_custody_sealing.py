"""Sealing to a reader's key."""

import base64

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from gpuaas_platform.custody.sealing import sealed_to
from gpuaas_platform.kernel.problems import PlatformError

_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)


def test_only_the_reader_opens_it_and_only_as_what_it_is() -> None:
    key = X25519PrivateKey.generate()
    sealed = sealed_to(key.public_key().public_bytes_raw(), b"value", "thing:1", "sa_1")
    box = base64.b64decode(sealed.ciphertext)
    assert b"value" not in box
    assert _SUITE.decrypt(box, key, b"gpuaas:thing:1:sa_1") == b"value"
    for other, info in ((key, b"gpuaas:thing:2:sa_1"), (X25519PrivateKey.generate(), b"gpuaas")):
        with pytest.raises(InvalidTag):
            _SUITE.decrypt(box, other, info)


def test_the_same_value_never_looks_the_same() -> None:
    public = X25519PrivateKey.generate().public_key().public_bytes_raw()
    assert (
        sealed_to(public, b"v", "t", "r").ciphertext != sealed_to(public, b"v", "t", "r").ciphertext
    )


def test_a_key_that_protects_nothing_is_refused() -> None:
    with pytest.raises(PlatformError, match="replace it"):
        sealed_to(bytes(32), b"value", "thing", "sa_1")
