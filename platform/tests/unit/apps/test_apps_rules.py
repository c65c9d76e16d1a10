"""The queue's rule, back-off, groups and conditions, without a database."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from gpuaas_contract.apps import GroupStatus
from gpuaas_contract.states import OperationStatus
from gpuaas_platform.apps import rules
from gpuaas_platform.apps.rows import ACTIVE, Waiting

NOW = datetime(2026, 1, 1, tzinfo=UTC)
REQUESTED, RUNNING = OperationStatus.REQUESTED, OperationStatus.RUNNING


def waiting(name: str, *members: str, **more: object) -> Waiting:
    values: dict[str, object] = {
        "id": name,
        "exclusive": False,
        "member_ids": frozenset(members),
        "group_id": None,
        "parallelism": 1,
        "waits_for": None,
        "waits_for_status": None,
        "status": REQUESTED,
        "ready": False,
    }
    return Waiting(**(values | more))  # type: ignore[arg-type] # values of the right types by name


def test_operations_on_different_members_run_side_by_side() -> None:
    assert rules.newly_ready([waiting("a", "m1"), waiting("b", "m2")]) == ["a", "b"]


def test_operations_on_one_member_run_in_order() -> None:
    assert rules.newly_ready([waiting("a", "m1"), waiting("b", "m1")]) == ["a"]
    running = waiting("a", "m1", status=RUNNING)
    assert rules.newly_ready([running, waiting("b", "m1")]) == []


def test_an_exclusive_one_waits_and_lets_nothing_pass() -> None:
    queue = [waiting("a", "m1"), waiting("x", exclusive=True), waiting("b", "m2")]
    assert rules.newly_ready(queue) == ["a"]
    assert rules.newly_ready(queue[1:]) == ["x"]


def test_an_exclusive_one_waits_for_what_runs_though_it_came_later() -> None:
    queue = [waiting("x", exclusive=True), waiting("b", "m2", status=RUNNING)]
    assert rules.newly_ready(queue) == []


def test_a_group_is_as_wide_as_it_may_be() -> None:
    group = {"group_id": "g", "parallelism": 2}
    queue = [waiting(f"o{n}", f"m{n}", **group) for n in range(4)]
    assert rules.newly_ready(queue) == ["o0", "o1"]
    busy = [waiting("o0", "m0", status=RUNNING, **group), *queue[1:]]
    assert rules.newly_ready(busy) == ["o1"]


def test_what_waits_for_a_predecessor_sleeps() -> None:
    seeded = waiting("s", "m1", waits_for="d", waits_for_status=OperationStatus.FAILED)
    assert rules.newly_ready([seeded, waiting("x", exclusive=True)]) == ["x"]
    awake = waiting("s", "m1", waits_for="d", waits_for_status=OperationStatus.SUCCEEDED)
    assert rules.newly_ready([awake, waiting("x", exclusive=True)]) == ["s"]


@st.composite
def queues(draw: st.DrawFn) -> list[Waiting]:
    """Queues that the rule itself could have led to: nothing in another's way holds a place."""
    found: list[Waiting] = []
    for number in range(draw(st.integers(0, 9))):
        exclusive = draw(st.booleans())
        members = () if exclusive else draw(st.sampled_from([("m1",), ("m2",), ("m1", "m2"), ()]))
        group = draw(st.sampled_from([None, "g"])) if not exclusive else None
        found.append(
            waiting(f"o{number}", *members, exclusive=exclusive, group_id=group, parallelism=2)
        )
    for _ in range(draw(st.integers(0, 6))):
        ready = rules.newly_ready(found)
        chosen = draw(st.sampled_from(["ready", "run", "end"]))
        found = _moved(found, ready, chosen)
    return found


@given(queues())
def test_nothing_ready_is_in_anothers_way(queue: list[Waiting]) -> None:
    ready = set(rules.newly_ready(queue))
    holding = [one for one in queue if one.ready or one.status in ACTIVE or one.id in ready]
    for index, one in enumerate(holding):
        for other in holding[index + 1 :]:
            assert not one.exclusive
            assert not other.exclusive
            assert not one.member_ids & other.member_ids
    assert sum(one.group_id == "g" for one in holding) <= 2


@given(queues())
def test_the_queue_never_stands_still(queue: list[Waiting]) -> None:
    if queue and not any(one.ready or one.status in ACTIVE for one in queue):
        assert rules.newly_ready(queue)


@given(st.floats(0.1, 3600), st.integers(1, 100))
def test_backoff_grows_and_has_an_end(base: float, attempt: int) -> None:
    assert rules.backoff(base, attempt) <= rules.backoff(base, attempt + 1)
    assert timedelta(0) < rules.backoff(base, attempt) <= timedelta(minutes=30)


def test_a_group_shows_the_whole() -> None:
    done, failed = OperationStatus.SUCCEEDED, OperationStatus.FAILED
    assert rules.group_status({done: 3}) is GroupStatus.SUCCEEDED
    assert rules.group_status({done: 2, failed: 1}) is GroupStatus.PARTLY_FAILED
    assert rules.group_status({failed: 1}) is GroupStatus.FAILED
    assert rules.group_status({done: 1, RUNNING: 1}) is GroupStatus.IN_PROGRESS
    assert rules.group_status({OperationStatus.CANCELLED: 2}) is GroupStatus.CANCELLED


def test_a_condition_keeps_since_when_it_holds() -> None:
    first = rules.condition_set([], {"type": "hoarse", "message": "a"}, NOW)
    later = rules.condition_set(first, {"type": "hoarse", "message": "b"}, NOW + timedelta(hours=1))
    assert [(one["since"], one["message"]) for one in later] == [(rules.stamp(NOW), "b")]
    assert rules.condition_clear(later, "hoarse") == []


def _moved(queue: list[Waiting], ready: list[str], chosen: str) -> list[Waiting]:
    moved = []
    done = False
    for one in queue:
        new = one
        if chosen == "ready" and one.id in ready:
            new = _with(one, ready=True)
        elif not done and chosen == "run" and one.ready and one.status is REQUESTED:
            new, done = _with(one, ready=False, status=RUNNING), True
        elif not done and chosen == "end" and one.status is RUNNING:
            done = True
            continue
        moved.append(new)
    return moved


def _with(one: Waiting, **changes: object) -> Waiting:
    return Waiting(**(vars(one) | changes))
