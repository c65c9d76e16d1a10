"""Whatever happens in whatever order, the stretches of a subject tile the time it counted."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import count, pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from gpuaas_contract.billing import Pricing, UsageBasis, hours_of, money_of
from gpuaas_contract.manifest import UsageSource, UsageUnit
from gpuaas_platform.billing.metering import Meter, Price, Stretch, Subject, Turn
from gpuaas_platform.billing.showing import days_of, parts_within, record_view, totals_of

T0 = datetime(2026, 3, 1, 23, 0, tzinfo=UTC)
END = T0 + timedelta(days=40)
SKUS = {"small": 0, "large": 8}
Change = Turn | Price


def later(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def machine(name: str = "a", sku: str = "small") -> Subject:
    return Subject(UsageSource.ALLOCATION, f"alloc_{name}", name, "org_1", "proj_1", sku)


def turn(at: datetime, subject: Subject, *, on: bool) -> Turn:
    return Turn(subject.id, at, f"cor-{at.isoformat()}", subject if on else None)


def price(at: datetime, sku: str, amount: str, seq: int = 0) -> Price:
    return Price(sku, seq, at, Decimal(amount), "EUR", SKUS[sku], f"price-{seq}")


def metered(changes: Sequence[Change], going_on: Sequence[Stretch] = ()) -> Meter:
    numbers = count(1)
    meter = Meter(
        going_on, {}, [price(T0, sku, "1") for sku in SKUS], lambda: f"use_{next(numbers)}"
    )
    for change in changes:
        meter.take(change)
    return meter


def test_a_price_change_splits_what_runs_and_charges_each_part_at_its_own() -> None:
    meter = metered(
        [
            turn(later(0.9), machine(), on=True),
            price(later(3600.2), "small", "2", 1),
            turn(later(5400), machine(), on=False),
        ]
    )
    first, second = meter.begun.values()
    assert (first.started_at, first.ended_at) == (later(0), later(3600))
    assert (second.started_at, second.ended_at) == (later(3600), later(5400))
    assert (first.price_per_hour, second.price_per_hour) == (Decimal(1), Decimal(2))
    assert first.ended_correlation_id == second.began_correlation_id == "price-1"
    [total] = totals_of(parts_within([first, second], [(T0, END)], END))
    assert (total.seconds, total.amount) == (5400, Decimal("2.0000"))


def test_gpus_are_counted_and_paid_with_their_machine() -> None:
    begun, dearer = turn(T0, machine("b", "large"), on=True), price(later(60), "large", "9", 1)
    open_ = metered([begun, dearer]).going_on
    gpus = next(one for one in open_ if one.unit is UsageUnit.GPU_HOUR)
    assert (gpus.count, gpus.price_per_hour, gpus.pricing) == (8, None, Pricing.INCLUDED)
    assert gpus.started_at == T0, "a price does not split what it does not pay for"
    view = record_view(gpus, None, later(3600))
    assert (view.seconds, view.quantity, view.amount) == (3600, Decimal("8.000000"), None)
    assert view.open


def test_what_is_told_again_or_lasts_no_second_leaves_no_trace() -> None:
    again = [turn(later(at), machine(), on=on) for at, on in ((0, True), (5, True), (9, False))]
    [kept] = metered([*again, turn(later(20), machine(), on=False)]).begun.values()
    assert (kept.started_at, kept.ended_at) == (later(0), later(9))
    blink = metered([turn(later(1.1), machine(), on=True), turn(later(1.9), machine(), on=False)])
    assert not blink.begun
    known = replace(kept, ended_at=None, ended_correlation_id=None)
    assert metered([turn(later(0.5), machine(), on=False)], [known]).undone == [kept.id]


def test_what_a_state_alone_shows_is_not_said_to_be_observed() -> None:
    known = metered([turn(T0, machine(), on=True)]).going_on
    seen = Turn("alloc_a", later(60), "", None, UsageBasis.RECONSTRUCTED)
    [ended] = metered([seen], known).ended.values()
    assert (ended.basis, ended.ended_at) == (UsageBasis.RECONSTRUCTED, later(60))


def test_a_part_of_a_day_counts_on_its_day() -> None:
    [stretch] = metered([turn(T0, machine(), on=True)]).going_on
    parts = parts_within([stretch], [(T0, later(7200))], later(7200))
    assert [(str(one.day), one.seconds, one.open) for one in days_of(parts)] == [
        ("2026-03-01", 3600, False),
        ("2026-03-02", 3600, True),
    ]


def test_money_is_rounded_once_and_never_a_float() -> None:
    assert money_of(Decimal("0.5") * 1) == Decimal("0.0001")
    assert money_of(Decimal("0.5") * 3600) == Decimal("0.5000")
    assert hours_of(1) == Decimal("0.000278")


MOMENTS = st.floats(min_value=0, max_value=3_000_000, allow_nan=False)
NAMES = st.sampled_from(["a", "b", "c"])
TURNS = st.tuples(st.just("turn"), MOMENTS, NAMES, st.booleans())
PRICES = st.tuples(st.just("price"), MOMENTS, st.sampled_from(sorted(SKUS)), st.integers(0, 50_000))
STORIES = st.lists(st.one_of(TURNS, PRICES), max_size=40)


def story(told: Sequence[tuple[str, float, str, int]]) -> list[Change]:
    """Changes as they may be told; moments may go backwards, as between replicas."""
    found: list[Change] = []
    for number, (kind, at, name, value) in enumerate(told, 1):
        if kind == "price":
            found.append(price(later(at), name, str(Decimal(value) / 10_000), number))
        else:
            subject = machine(name, "large" if name == "c" else "small")
            found.append(turn(later(at), subject, on=bool(value)))
    return found


def model(changes: Sequence[Change]) -> dict[str, int]:
    """Seconds each subject counted, told without stretches: add up while it is on."""
    seconds: dict[str, int] = {}
    since: dict[str, datetime] = {}
    last: dict[str, datetime] = {}
    floor: dict[str, datetime] = {}
    sku_of = {machine(n).id: "large" if n == "c" else "small" for n in "abc"}
    paid = dict.fromkeys(SKUS, Decimal(1))
    for change in changes:
        if isinstance(change, Price):
            touched = [s for s in since if sku_of[s] == change.sku]
            if paid[change.sku] != change.price_per_hour:
                for subject in touched:  # the moment of a split is a moment of the subject too
                    floor[subject] = max(floor[subject], change.since.replace(microsecond=0))
            paid[change.sku] = change.price_per_hour
            continue
        at = max(change.at.replace(microsecond=0), last.get(change.subject_id, T0))
        if change.begins is not None and change.subject_id not in since:
            since[change.subject_id] = floor[change.subject_id] = at
        elif change.begins is None and change.subject_id in since:
            began, at = since.pop(change.subject_id), max(at, floor[change.subject_id])
            if at > began:
                last[change.subject_id] = at
            so_far = seconds.get(change.subject_id, 0)
            seconds[change.subject_id] = so_far + (at - began) // timedelta(seconds=1)
    for subject, began in since.items():
        so_far = seconds.get(subject, 0)
        seconds[subject] = so_far + (END - began) // timedelta(seconds=1)
    return {subject: found for subject, found in seconds.items() if found}


@given(STORIES, st.integers(0, 40))
@example([("turn", 100, "a", 1), ("turn", 50, "a", 0), ("turn", 60, "a", 1)], 2)
def test_stretches_tile_and_sum_to_the_time_that_passed(
    told: Sequence[tuple[str, float, str, int]], cut: int
) -> None:
    changes = story(told)
    found = list(metered(changes).begun.values())
    by_subject: dict[str, int] = {}
    for subject in {one.subject_id for one in found}:
        mine = _of(found, subject, UsageUnit.NODE_HOUR)
        for before, after in pairwise(mine):
            assert before.ended_at is not None
            assert before.ended_at <= after.started_at
            split = before.ended_correlation_id == after.began_correlation_id
            assert before.ended_at == after.started_at or not split, "a split leaves no gap"
        by_subject[subject] = _seconds(mine)
        assert _seconds(_of(found, subject, UsageUnit.GPU_HOUR)) in {0, 8 * by_subject[subject]}
    assert by_subject == model(changes)
    assert [_bare(one) for one in found] == [_bare(one) for one in _in_two(changes, cut)]
    whole = parts_within(found, [(T0, END)], END)
    by_day = [part for day in pairwise(_midnights()) for part in parts_within(found, [day], END)]
    assert totals_of(whole) == totals_of(by_day), "days sum to the whole, in seconds and money"


def _in_two(changes: Sequence[Change], cut: int) -> list[Stretch]:
    """The same by two readers, the second with what the first wrote down."""
    first = metered(changes[:cut])
    numbers = count(1000)
    ends: dict[str, datetime] = {}
    for one in first.begun.values():
        if one.ended_at is not None:
            ends[one.subject_id] = max(ends.get(one.subject_id, T0), one.ended_at)
    prices = {sku: price(T0, sku, "1") for sku in SKUS}
    prices |= {one.sku: one for one in changes[:cut] if isinstance(one, Price)}
    second = Meter(first.going_on, ends, prices.values(), lambda: f"use_{next(numbers)}")
    for change in changes[cut:]:
        second.take(change)
    kept = {k: v for k, v in first.begun.items() if k not in second.undone}
    return list((kept | second.ended | second.begun).values())


def _bare(stretch: Stretch) -> Stretch:
    return replace(stretch, id="")


def _of(found: Sequence[Stretch], subject: str, unit: UsageUnit) -> list[Stretch]:
    mine = [one for one in found if one.subject_id == subject and one.unit is unit]
    return sorted(mine, key=lambda one: one.started_at)


def _seconds(found: Sequence[Stretch]) -> int:
    return sum(part.seconds for part in parts_within(found, [(T0, END)], END))


def _midnights() -> list[datetime]:
    first = T0.replace(hour=0)
    return [max(T0, min(END, first + timedelta(days=n))) for n in range(43)]
