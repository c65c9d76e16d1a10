"""Names for machines from email addresses: always a name, never another's, never a system's."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuaas_platform.identity.posix import FIRST_UID, posix_names

_NAME = re.compile(r"[a-z_][a-z0-9_-]{0,31}")


@pytest.mark.parametrize(
    ("email", "first"),
    [
        ("ada@example.org", "ada"),
        ("Ada.Lovelace@example.org", "ada-lovelace"),
        ("jürgen+cluster@example.org", "jurgen"),
        ("42@example.org", "u-42"),
        ("root@example.org", "root2"),
        ("u200007@example.org", "u-200007"),
        ("工@example.org", "u200009"),
    ],
)
def test_a_name_is_the_addresss_own_where_it_can_be(email: str, first: str) -> None:
    assert next(posix_names(email, 200009)) == first


@given(st.text(min_size=1), st.integers(FIRST_UID + 1, 2**31 - 1))
def test_every_name_is_one_a_machine_takes_and_the_last_is_its_owners(text: str, uid: int) -> None:
    names = list(posix_names(f"{text}@x", uid))
    assert all(_NAME.fullmatch(name) for name in names)
    assert names[-1] == f"u{uid}"
    # No address gives a number a person could have, so that the last name is never taken.
    assert not any(re.fullmatch(r"u\d{6,}", name) for name in names[:-1])
