"""Sealing and signing with the keyring."""

import pytest

from gpuaas_platform.kernel.keyring import Keyring
from gpuaas_platform.kernel.keyring_file import KeyringError

_OLD, _NEW = b"o" * 32, b"n" * 32


def test_what_was_sealed_opens_in_its_own_context_only() -> None:
    keyring = Keyring([_OLD])
    sealed = keyring.seal(b"secret", "webhook:1")
    assert b"secret" not in sealed
    assert keyring.unseal(sealed, "webhook:1") == b"secret"
    with pytest.raises(KeyringError, match="changed or belongs elsewhere"):
        keyring.unseal(sealed, "webhook:2")
    with pytest.raises(KeyringError, match="changed or belongs elsewhere"):
        keyring.unseal(sealed[:-1] + bytes([sealed[-1] ^ 1]), "webhook:1")


def test_a_new_key_is_used_and_the_old_one_still_opens() -> None:
    sealed = Keyring([_OLD]).seal(b"secret", "c")
    both = Keyring([_OLD, _NEW])
    assert both.unseal(sealed, "c") == b"secret"
    assert both.signer("p").key_id == Keyring([_NEW]).signer("p").key_id
    with pytest.raises(KeyringError, match="has no key"):
        Keyring([_NEW]).unseal(sealed, "c")


def test_purposes_have_keys_of_their_own() -> None:
    keyring = Keyring([_OLD])
    assert keyring.signer("a").public != keyring.signer("b").public
    assert keyring.public_keys("a") == {keyring.signer("a").key_id: keyring.signer("a").public}
