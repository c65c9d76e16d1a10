"""Names fit the kernel's limits and never mix two labs or two machines up."""

from __future__ import annotations

import pytest

from gpuaas_lab import LabError, names


@pytest.mark.parametrize("lab", ["a", "tests", "x" * 40])
def test_interface_names_fit_fifteen_characters(lab: str) -> None:
    assert len(names.bridge(lab)) <= 15
    assert len(names.veth(lab, "n240")) <= 15


def test_names_differ_between_labs_and_are_stable() -> None:
    assert names.bridge("demo") == names.bridge("demo") != names.bridge("tests")
    assert names.machine_id("demo", "n1") != names.machine_id("tests", "n1")


@pytest.mark.parametrize("name", ["", "-a", "a-", "A", "a_b", "a/b", "..", "x" * 41, "ä"])
def test_a_bad_lab_name_is_refused(name: str) -> None:
    with pytest.raises(LabError, match="is not a lab name"):
        names.lab_name(name)


@pytest.mark.parametrize("name", ["n0", "n01", "m1", "n", "n1000", "n1 "])
def test_a_bad_machine_name_is_refused(name: str) -> None:
    with pytest.raises(LabError, match="is not a machine name"):
        names.machine_name(name)


def test_scope_tells_n1_from_n10() -> None:
    first, tenth = names.machine_id("demo", "n1"), names.machine_id("demo", "n10")
    assert names.in_scope(first, first)
    assert not names.in_scope(tenth, first)
    assert names.in_scope(tenth, names.machine_prefix("demo"))
    assert not names.in_scope(first, names.machine_prefix("tests"))


def test_hardware_addresses_are_local_unicast_and_distinct() -> None:
    seen = {names.mac("demo", f"n{number}") for number in range(1, 200)}
    assert len(seen) == 199
    assert all(int(address[:2], 16) & 0b11 == 0b10 for address in seen)
