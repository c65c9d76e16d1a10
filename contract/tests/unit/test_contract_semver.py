"""The sort key orders as semver.org says, compared with its rules written out."""

from functools import cmp_to_key

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuaas_contract.semver import version_sort_key, version_valid

numbers = st.integers(0, 999_999_999).map(str) | st.sampled_from(["0", "1", "2", "10"])
words = st.from_regex(r"\A[0-9]{0,6}[A-Za-z-][0-9A-Za-z-]{0,3}\Z")
cores = st.tuples(numbers, numbers, numbers).map(".".join)
pres = st.lists(numbers | words, min_size=1, max_size=3).map(".".join)
versions = cores | st.tuples(cores, pres).map("-".join)
same_core = pres.map(lambda pre: f"1.0.0-{pre}") | st.just("1.0.0")


def _compare(left: str, right: str) -> int:
    """Precedence by the letter of the specification."""
    (left_core, _, left_pre), (right_core, _, right_pre) = left.partition("-"), right.partition("-")
    left_numbers = [int(one) for one in left_core.split(".")]
    right_numbers = [int(one) for one in right_core.split(".")]
    if left_numbers != right_numbers:
        return -1 if left_numbers < right_numbers else 1
    if not left_pre or not right_pre:
        return bool(right_pre) - bool(left_pre)
    ones, others = left_pre.split("."), right_pre.split(".")
    for one, other in zip(ones, others, strict=False):
        if one == other:
            continue
        if one.isdigit() and other.isdigit():
            return -1 if int(one) < int(other) else 1
        if one.isdigit() != other.isdigit():
            return -1 if one.isdigit() else 1
        return -1 if one < other else 1
    return len(ones) - len(others)


@given(versions | same_core, versions | same_core)
def test_the_key_orders_as_versions_do(left: str, right: str) -> None:
    by_rule = _compare(left, right)
    one, other = version_sort_key(left).encode(), version_sort_key(right).encode()
    assert (one < other) == (by_rule < 0)
    assert (one == other) == (by_rule == 0)


@given(versions)
def test_what_is_generated_is_valid(version: str) -> None:
    assert version_valid(version)


def test_the_example_of_the_specification() -> None:
    ordered = [
        *("1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2"),
        *("1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.2.0", "1.10.0", "2.0.0"),
    ]
    mixed = sorted(ordered, key=lambda version: version[::-1])
    assert sorted(mixed, key=version_sort_key) == ordered
    assert sorted(mixed, key=cmp_to_key(_compare)) == ordered


@pytest.mark.parametrize(
    "text", ["", "1", "1.2", "01.2.3", "1.2.3+build", "1.2.3-", "1.2.3-01", "v1.2.3", "1.2.3\n"]
)
def test_other_texts_are_no_versions(text: str) -> None:
    assert not version_valid(text)
