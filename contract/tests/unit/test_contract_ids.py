"""Ids: of the promised form, sortable by birth, told apart by kind."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuaas_contract.ids import RANDOM_BYTES, Prefix, id_make, id_valid

moments = st.integers(min_value=0, max_value=2**48 - 1)
randomness = st.binary(min_size=RANDOM_BYTES, max_size=RANDOM_BYTES)


@given(st.sampled_from(Prefix), moments, randomness)
def test_made_ids_are_valid_for_their_kind_only(prefix: Prefix, at: int, noise: bytes) -> None:
    made = id_make(prefix, at, noise)
    assert id_valid(made, prefix)
    assert not any(id_valid(made, other) for other in Prefix if other != prefix)


@given(moments, moments, randomness, randomness)
def test_ids_sort_by_birth(first: int, second: int, noise: bytes, other: bytes) -> None:
    ids = [id_make(Prefix.EVENT, first, noise), id_make(Prefix.EVENT, second, other)]
    if first != second:
        assert (ids[0] < ids[1]) == (first < second)


@pytest.mark.parametrize("text", ["", "op", "op_", "op_x", "op_" + "8" * 26, "op_" + "i" * 26])
def test_malformed_ids_are_not_valid(text: str) -> None:
    assert not id_valid(text, Prefix.OPERATION)


def test_prefixes_are_unique_and_plain() -> None:
    assert len({str(prefix) for prefix in Prefix}) == len(Prefix)
    assert all(prefix.isalpha() and prefix.islower() for prefix in Prefix)


def test_randomness_has_one_length() -> None:
    with pytest.raises(ValueError, match="10 random bytes"):
        id_make(Prefix.EVENT, 0, os.urandom(3))
