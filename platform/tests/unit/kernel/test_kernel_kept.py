"""The buffer of lines and spans: bounded, and honest about what did not fit."""

from datetime import UTC, datetime

from gpuaas_platform.kernel.caller import PLATFORM
from gpuaas_platform.kernel.kept import Buffer, Told

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_nothing_is_gathered_while_nobody_writes() -> None:
    buffer = Buffer()
    buffer.add(_told("a"))
    assert buffer.take(10) == ([], [])
    buffer.writer_add()
    assert buffer.gathering
    buffer.add(_told("b"))
    buffer.writer_remove()
    assert buffer.take(10) == ([], [])
    assert not buffer.gathering


def test_what_does_not_fit_is_counted_by_its_id() -> None:
    buffer = _gathering(most=2)
    for title in "abcd":
        buffer.add(_told(title))
    buffer.add(_told("e", "another"))
    told, lost = buffer.take(10)
    assert [one.title for one in told] == ["a", "b"]
    assert {one.share[0]: one.count for one in lost} == {"cor-1": 2, "another": 1}


def test_what_could_not_be_written_is_the_next_again() -> None:
    buffer = _gathering(most=2)
    for title in "abc":
        buffer.add(_told(title))
    told, lost = buffer.take(1)
    assert ([one.title for one in told], [one.count for one in lost]) == (["a"], [1])
    buffer.add(_told("d"))
    buffer.add(_told("e"))
    buffer.give_back(told, lost)
    told, lost = buffer.take(10)
    assert [one.title for one in told] == ["a", "b", "d"]
    assert [one.count for one in lost] == [2]
    assert buffer.take(10) == ([], [])


def test_keys_are_in_the_order_of_telling_and_of_this_process() -> None:
    buffer, other = Buffer(), Buffer()
    keys = [buffer.key_new() for _ in range(12)]
    assert keys == sorted(keys)
    assert not {other.key_new() for _ in range(12)} & set(keys)


def _gathering(most: int) -> Buffer:
    buffer = Buffer(most)
    buffer.writer_add()
    return buffer


def _told(title: str, correlation_id: str = "cor-1") -> Told:
    return Told("log", correlation_id, PLATFORM, NOW, title, title, "info", "test")
