"""Waiting and watching: what is shown at the end, at Ctrl-C, and while nobody answers."""

import asyncio
import json
from pathlib import Path
from typing import Any, cast

import pytest

from gpuaas_cli import progress, watching
from gpuaas_cli import trace as trace_module
from gpuaas_cli.names import Known
from gpuaas_cli.options import Connection
from gpuaas_cli.session import Session, Stop
from gpuaas_sdk import GpuaasError, Request, UnreachableError

ASKED: dict[str, Any] = {
    "id": "op_1", "kind": "deploy", "status": "requested", "revision": 1, "progress": [],
    "attempt": 1, "max_attempts": 3, "correlation_id": "cor_1", "conditions": [],
}  # fmt: skip
AWAY = UnreachableError("http://x", "refused")


class Answer:
    """What the platform said."""

    def __init__(self, said: dict[str, Any]) -> None:
        self._said = said

    def json(self) -> dict[str, Any]:
        return self._said


class Said:
    """A session in which the platform says one thing after the other, and then nothing."""

    def __init__(self, *answers: dict[str, Any] | GpuaasError, output: str = "table") -> None:
        self._answers = iter(answers)
        self.options = Connection(output=cast("Any", output))
        self.silent = asyncio.Event()

    async def send(self, request: Request) -> Answer:
        assert request.path == "/operations/op_1"
        answer = next(self._answers, None)
        if answer is None:
            self.silent.set()
            await asyncio.Event().wait()
        if isinstance(answer, GpuaasError):
            raise answer
        return Answer(cast("dict[str, Any]", answer))

    @property
    def session(self) -> Session:
        return cast("Session", self)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits between looks."""
    monkeypatch.setattr(progress, "_PAUSE", 0.0)
    monkeypatch.setattr(watching, "_GATHER_SECONDS", 0.0)
    monkeypatch.setattr(watching, "SWEEP_SECONDS", 0.0)


async def test_a_program_gets_the_operations_at_their_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = Said(ASKED | {"status": "succeeded"}, output="json")
    assert await progress.wait_for(said.session, [ASKED], 60.0) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [(one["id"], one["status"]) for one in shown] == [("op_1", "succeeded")]


async def test_a_platform_that_is_restarted_is_waited_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = Said(AWAY, ASKED | {"status": "running"}, AWAY, ASKED | {"status": "succeeded"})
    assert await progress.wait_for(said.session, [ASKED], 60.0) == 0
    assert capsys.readouterr().err.count("still waiting: http://x does not answer") == 2


async def test_whoever_stops_waiting_is_told_that_it_goes_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = Said(ASKED | {"status": "running"})
    waiting = asyncio.create_task(progress.wait_for(said.session, [ASKED], 60.0))
    await said.silent.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    told = capsys.readouterr().err
    assert "no longer waiting for deploy op_1 (running)" in told
    assert "`gpuaas op watch op_1` follows it" in told


async def test_patience_that_ends_says_the_same() -> None:
    with pytest.raises(
        Stop, match=r"not ended after 0 s: deploy op_1 \(requested\).*op watch op_1"
    ):
        await progress.wait_for(Said().session, [ASKED], 0.0)


async def test_a_list_is_watched_through_a_restart(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def listen(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(watching, "_listen", listen)
    answers: list[Any] = [["a"], AWAY, ["a"], ["a", "b"]]

    async def load() -> Any:
        one = answers.pop(0)
        if isinstance(one, GpuaasError):
            raise one
        return one

    seen = []
    async for rows in watching.changes(Said().session, load):
        seen.append(rows)
        if not answers:
            break
    assert seen == [["a"], ["a", "b"]]
    assert "still watching: http://x does not answer" in capsys.readouterr().err


async def test_a_machine_that_is_made_to_order_is_waited_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = {"id": "alloc_1", "status": "requested", "status_reason": ""}
    answers = iter([AWAY, asked | {"status": "provisioning"}, asked | {"status": "active"}])

    class Reading(Said):
        async def read(self, path: str) -> dict[str, Any]:
            assert path == "/allocations/alloc_1"
            answer = next(answers)
            if isinstance(answer, GpuaasError):
                raise answer
            return cast("dict[str, Any]", answer)

    found = await progress.allocation_settled(Reading().session, asked, 60.0)
    assert found["status"] == "active"
    told = capsys.readouterr().err.splitlines()
    assert told == ["alloc_1 requested", "alloc_1 provisioning", "alloc_1 active"]
    with pytest.raises(Stop, match="alloc_1 is requested after 0 s"):
        await progress.allocation_settled(Reading().session, asked, 0.0)


async def test_names_are_asked_for_once_and_again_where_nobody_answered() -> None:
    ada, robot, hidden = (f"{kind}_{'0' * 25}{n}" for n, kind in enumerate(("user", "sa", "sa")))
    asked: list[list[str]] = []
    answers: list[object] = [AWAY, {"items": [{"id": ada, "name": "Ada"}]}, {"items": []}]

    class Reading(Said):
        async def read(self, path: str, **params: Any) -> Any:
            assert path == "/names"
            asked.append(params["id"])
            answer = answers.pop(0)
            if isinstance(answer, GpuaasError):
                raise answer
            return answer

    known, session = Known(), Reading().session
    for texts in ([ada, f"{hidden}/host-1"], [ada, f"{hidden}/host-1"], [ada, robot, "platform"]):
        await known.ask(session, texts)
    assert asked == [[ada, hidden], [ada, hidden], [robot]]
    assert known.told(f"{ada} for {hidden}/host-1") == f"Ada for {hidden}/host-1"


def test_an_incident_is_followed_through_a_restart(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def told(status: str, revision: str) -> dict[str, Any]:
        entry = {
            "kind": "operation", "id": "op_1", "status": status, "title": f"It is {status}.",
            "at": "2026-11-16T06:30:04Z", "detail": {},
        }  # fmt: skip
        return {"entries": [entry], "revision": revision, "diagnoses": [], "trace_ids": []}

    answers = iter([told("running", "1"), AWAY, told("succeeded", "2"), told("succeeded", "2")])

    async def timeline(*_: object) -> dict[str, Any]:
        answer = next(answers)
        if isinstance(answer, GpuaasError):
            raise answer
        return cast("dict[str, Any]", answer)

    monkeypatch.setenv("GPUAAS_CONFIG", str(tmp_path / "contexts.json"))
    monkeypatch.setattr(trace_module, "_timeline", timeline)
    monkeypatch.setattr(trace_module, "_PAUSE", 0.0)
    assert trace_module.trace("cor_1", follow=True) == 0
    shown = capsys.readouterr()
    assert "It is succeeded." in shown.out
    assert "still following: http://x does not answer" in shown.err
