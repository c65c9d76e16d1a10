"""Pure parts of the kernel: who may do what where, rates, cursors, trace headers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from gpuaas_contract.permissions import Permission
from gpuaas_platform.http.edge import correlation_of, traceparent_of
from gpuaas_platform.kernel.caller import PLATFORM, Caller, CallerKind, Grant, Place
from gpuaas_platform.kernel.limits import RateLimiter
from gpuaas_platform.kernel.paging import cursor_decode, cursor_encode, page_of
from gpuaas_platform.kernel.problems import Denied, PlatformError

places = st.sampled_from(
    [PLATFORM, Place("a"), Place("b"), Place("a", "a1"), Place("a", "a2"), Place("b", "b1")]
)
permissions = st.sampled_from([Permission.INSTANCE_READ, Permission.INSTANCE_CREATE])
grants = st.lists(st.builds(Grant, st.frozensets(permissions, min_size=1), places), max_size=4).map(
    tuple
)


def caller(held: tuple[Grant, ...]) -> Caller:
    return Caller(CallerKind.USER, "user_1", PLATFORM, held)


@given(grants, permissions, places)
def test_allowed_exactly_where_a_grant_covers(
    held: tuple[Grant, ...], wanted: Permission, place: Place
) -> None:
    expected = any(
        wanted in grant.permissions
        and (
            grant.place in {PLATFORM, place}
            or (grant.place.project_id is None and grant.place.org_id == place.org_id)
        )
        for grant in held
    )
    assert caller(held).allows(wanted, place) == expected


@given(grants, permissions, places)
def test_refusal_hides_places_the_caller_has_no_part_in(
    held: tuple[Grant, ...], wanted: Permission, place: Place
) -> None:
    who = caller(held)
    if who.allows(wanted, place):
        who.require(wanted, place)
        return
    with pytest.raises(Denied) as refusal:
        who.require(wanted, place)
    has_a_part = place == PLATFORM or any(
        grant.place in {PLATFORM, place}
        or (
            grant.place.org_id == place.org_id
            and None in {place.project_id, grant.place.project_id}
        )
        for grant in held
    )
    assert refusal.value.kind.status == (403 if has_a_part else 404)


@given(grants, permissions, places)
def test_reach_agrees_with_allows(
    held: tuple[Grant, ...], wanted: Permission, place: Place
) -> None:
    reach = caller(held).reach(wanted)
    inside = (
        reach.everywhere or place.org_id in reach.org_ids or place.project_id in reach.project_ids
    )
    assert inside == caller(held).allows(wanted, place)


def test_bucket_gives_the_burst_then_the_rate() -> None:
    limiter = RateLimiter(per_second=10, burst=3)
    assert [limiter.wait_for("a", 0.0) for _ in range(3)] == [0, 0, 0]
    assert limiter.wait_for("a", 0.0) == pytest.approx(0.1)
    assert limiter.wait_for("b", 0.0) == 0
    assert limiter.wait_for("a", 0.1) == 0


def test_quiet_callers_are_forgotten() -> None:
    limiter = RateLimiter(per_second=10, burst=10)
    for number in range(1000):
        limiter.wait_for(f"caller-{number}", 0.0)
    limiter.wait_for("last", 5.0)
    assert len(limiter._buckets) == 1


@given(st.text(max_size=60))
def test_cursor_round_trip(key: str) -> None:
    assert cursor_decode(cursor_encode(key)) == key


@pytest.mark.parametrize("cursor", ["", "!", "bm90IGpzb24", "MTI", "ß"])
def test_foreign_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(PlatformError, match="invalid_cursor"):
        cursor_decode(cursor)


def test_page_says_whether_there_is_more() -> None:
    full = page_of(["a", "b", "c"], 2, str)
    assert (full.items, cursor_decode(full.next_cursor)) == (["a", "b"], "b")
    assert page_of(["a"], 2, str).next_cursor is None
    assert page_of([], 2, str).items == []


def test_traceparent_is_taken_only_when_well_formed() -> None:
    good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    assert traceparent_of(Headers({"traceparent": good})) == good
    for bad in ("", "00-" + "0" * 32 + "-00f067aa0ba902b7-01", good + "x", good.upper()):
        assert traceparent_of(Headers({"traceparent": bad})) != bad


def test_correlation_is_minted_when_malformed() -> None:
    assert correlation_of(Headers({"X-Correlation-ID": "inc.42:a-b_c"})) == "inc.42:a-b_c"
    for bad in ("", "a b", "-x", "x" * 129, "ü"):
        assert correlation_of(Headers({"X-Correlation-ID": bad})).startswith("cor_")
