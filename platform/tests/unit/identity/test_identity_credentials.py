"""Secrets, CSRF tokens, passwords and OIDC flows, as pure things."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuaas_contract.identity import KEY_PREFIX, PERSONAL_TOKEN_PREFIX
from gpuaas_contract.ids import Prefix, id_make
from gpuaas_platform.identity.credentials import (
    csrf_matches,
    csrf_token,
    key_id_of,
    key_secret_make,
    secret_hash,
    secret_make,
    secret_matches,
)
from gpuaas_platform.identity.oidc_flow import flow_begin, flow_resume, path_local
from gpuaas_platform.identity.passwords import _NOBODY, Passwords
from gpuaas_platform.identity.store.people import email_key


@given(st.integers(0, 2**48 - 1), st.binary(min_size=10, max_size=10), st.binary(min_size=32))
def test_a_key_secret_names_its_key(milliseconds: int, seed: bytes, randomness: bytes) -> None:
    key_id = id_make(Prefix.KEY, milliseconds, seed)
    secret = key_secret_make(key_id, randomness)
    assert secret.startswith(f"{KEY_PREFIX}_")
    assert key_id_of(secret) == key_id


@pytest.mark.parametrize("text", ["", "gpk", "gpk_", "gpk_x_y", "gpt_a_b", "gpk_" + "0" * 26])
def test_what_is_no_key_secret_names_none(text: str) -> None:
    assert key_id_of(text) is None


def test_a_secret_is_kept_as_its_hash() -> None:
    secret = secret_make(PERSONAL_TOKEN_PREFIX, b"r" * 32)
    assert secret_matches(secret, secret_hash(secret))
    assert not secret_matches(secret + "x", secret_hash(secret))
    assert secret.encode() not in secret_hash(secret)


def test_a_csrf_token_belongs_to_one_session() -> None:
    assert csrf_matches("one", csrf_token("one"))
    assert not csrf_matches("two", csrf_token("one"))
    assert not csrf_matches("one", "")
    assert not csrf_matches("one", "ü")


async def test_a_password_is_known_by_its_hash_alone() -> None:
    passwords = Passwords()
    kept = await passwords.hash("correct horse battery")
    assert kept.startswith("$argon2id$")
    assert "correct" not in kept
    assert await passwords.verify(kept, "correct horse battery")
    assert not await passwords.verify(kept, "correct horse batterz")
    assert not await passwords.verify(None, "correct horse battery")
    assert not await passwords.verify("not a hash", "x")


async def test_nobody_is_checked_as_dearly_as_somebody() -> None:
    passwords = Passwords()
    kept = await passwords.hash("x" * 12)
    assert kept.rsplit("$", 2)[0] == _NOBODY.rsplit("$", 2)[0]
    assert [len(part) for part in kept.split("$")] == [len(part) for part in _NOBODY.split("$")]
    assert not passwords.outdated(kept)
    assert passwords.outdated(kept.replace("t=3", "t=2"))


def test_two_spellings_of_an_address_are_one_person() -> None:
    assert email_key(" Ada@Example.ORG ") == email_key("ada@example.org")


def test_a_flow_is_resumed_by_the_browser_that_began_it() -> None:
    flow = flow_begin(b"r" * 32, "/instances?a=b")
    assert flow_resume(flow.cookie, flow.state) == flow
    other = flow_begin(b"s" * 32, "/")
    assert flow_resume(other.cookie, flow.state) is None
    assert flow_resume(None, flow.state) is None
    assert flow_resume("x.%%%", flow.state) is None
    assert len({flow.state, flow.nonce, flow.verifier, flow.challenge, flow.secret}) == 5


@given(st.text(max_size=40))
def test_only_a_path_of_ours_is_local(text: str) -> None:
    path = path_local(text)
    assert path.startswith("/")
    assert not path.startswith("//")
    assert "\\" not in path
    assert path.isprintable()
