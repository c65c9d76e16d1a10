"""Slurm's short form of node lists, both ways."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuaas_slurm.hostlist import compress, expand


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        ("n1", ["n1"]),
        ("b[2,1]", ["b2", "b1"]),
        ("t[21-22],worker-7", ["t21", "t22", "worker-7"]),
        ("gpu[08-10]x", ["gpu08x", "gpu09x", "gpu10x"]),
        ("r[1-2]n[1-2]", ["r1n1", "r2n1", "r1n2", "r2n2"]),
    ],
)
def test_expand(text: str, names: list[str]) -> None:
    assert expand(text) == names


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["n1"], "n1"),
        (["n1", "n2", "n4"], "n[1-2,4]"),
        (["n9", "n10"], "n[9-10]"),
        (["n09", "n10"], "n09,n10"),
        (["login", "n1", "n2"], "login,n[1-2]"),
        (["/dev/nvidia0", "/dev/nvidia1"], "/dev/nvidia[0-1]"),
    ],
)
def test_compress(names: list[str], text: str) -> None:
    assert compress(names) == text


def test_unbalanced() -> None:
    with pytest.raises(ValueError, match="unbalanced"):
        expand("n[1-2")


@given(st.lists(st.from_regex(r"[a-z]{1,3}(-[a-z]{1,2})?[0-9]{0,3}", fullmatch=True), unique=True))
def test_nothing_is_lost_on_the_way_and_back(names: list[str]) -> None:
    assert sorted(expand(compress(names))) == sorted(names)
