"""When a released machine leaves its tenant, for every method of cleaning."""

from datetime import UTC, datetime, timedelta

import pytest

from gpuaas_contract.capacity import CLEANING_MEANING, CleaningMethod
from gpuaas_contract.states import CLEANING, NODE
from gpuaas_platform.capacity.holdings import CLEANABLE, SHUT, Departure, departure

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WARM = timedelta(minutes=15)


@pytest.mark.parametrize("method", sorted(CLEANABLE))
def test_a_machine_that_can_be_cleaned_is_kept_warm_and_then_leaves(method: CleaningMethod) -> None:
    assert departure(method, WARM, NOW) == Departure(cleaned_now=False, warm_until=NOW + WARM)
    assert departure(method, timedelta(0), NOW) == Departure(cleaned_now=True)


@pytest.mark.parametrize("keep_warm", [timedelta(0), WARM])
def test_a_machine_that_is_not_cleaned_never_leaves_its_tenant(keep_warm: timedelta) -> None:
    kept = departure(CleaningMethod.SAME_TENANT_ONLY, keep_warm, NOW)
    assert kept == Departure(cleaned_now=False, warm_until=None)


def test_every_method_is_explained() -> None:
    assert set(CLEANING_MEANING) == set(CleaningMethod)


def test_no_request_opens_what_is_shut() -> None:
    assert all(not NODE.allows(status, "ready") for status in SHUT - {"cleaning"})
    assert CLEANING.terminal == {"succeeded", "retired"}
    assert all(
        CLEANING.allows(status, "retired")
        for status in CLEANING.table
        if status not in CLEANING.terminal
    )
