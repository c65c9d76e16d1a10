"""What a controller tells for timelines: its lines and spans, bounded, and in nobody's way."""

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from eventually import eventually
from sdk_acts import Act

from gpuaas_contract.apps import OperationCreate
from gpuaas_contract.telemetry import TelemetryLine, TelemetrySend, TelemetrySpan, TelemetryTaken
from gpuaas_sdk import App, Context, PermanentFailure, Procedure, UnreachableError
from gpuaas_sdk.errors import ProblemError, problem_error
from gpuaas_sdk.machines import About, Machine, Order, Output
from gpuaas_sdk.runtime.calls import Calls
from gpuaas_sdk.runtime.telling import Telling
from gpuaas_sdk.telemetry import Log, Scene, Span, span_begin, span_inside
from gpuaas_sdk.testing import MemoryPlatform, controller_running, operation_ended
from gpuaas_sdk.testing.example import SLUG, Boards, notes_app, notes_manifest


@pytest.fixture
def log() -> Iterator[Log]:
    logger = logging.getLogger("gpuaas_sdk.controller")
    before = logger.level
    logger.setLevel(logging.INFO)
    ids = {"replica": "test", "instance_id": "app_1", "correlation_id": "cor_1"}
    yield Log(logger, ids)
    logger.setLevel(before)


class Heard(Calls):
    """A platform that hears batches, or refuses them."""

    def __init__(self) -> None:
        object.__setattr__(self, "bodies", [])
        object.__setattr__(self, "error", None)

    bodies: list[TelemetrySend]
    error: Exception | None

    async def tell(self, body: TelemetrySend) -> TelemetryTaken:
        if self.error is not None:
            raise self.error
        self.bodies.append(body)
        return TelemetryTaken(kept=1, refused=0)

    def refuse(self, error: Exception | None) -> None:
        object.__setattr__(self, "error", error)


async def test_a_failing_step_is_told_with_its_lines_and_its_length(log: Log) -> None:
    del log
    platform = MemoryPlatform(SLUG, notes_manifest())

    async def fail(ctx: Context) -> None:
        ctx.log.warning("the board is wet", extra={"board": "alloc_1"})
        raise PermanentFailure("wet", "The board is wet.")

    honest = notes_app(Boards())
    app: App[Any] = App(**{**vars(honest), "operations": {"deploy": Procedure([Act("dry", fail)])}})
    asked = (await platform.deploy({"board": "alloc_1"})).operation
    async with controller_running(app, platform):
        await operation_ended(platform, asked.id)
        await _line(platform, "deploy ended: failed")
    [wet] = _lines(platform, "the board is wet")
    assert (wet.level, wet.fields["board"], wet.fields["operation_id"]) == (
        "warning", "alloc_1", asked.id,
    )  # fmt: skip
    assert (wet.app_instance_id, wet.correlation_id) == (asked.instance_id, asked.correlation_id)
    [run] = [span for body in platform.surface.telemetry for span in body.spans]
    assert (run.name, run.parent_id) == ("dry, attempt 1", f"{asked.id}/dry")
    assert (run.outcome, run.fields["error"]) == ("error", "PermanentFailure")
    assert wet.span_id == run.id
    assert _lines(platform, "claimed deploy, attempt 1")
    [begun] = _lines(platform, "step dry begins")
    assert begun.fields["step"] == "dry"


async def test_a_step_that_is_about_a_member_names_it(log: Log) -> None:
    del log
    platform = MemoryPlatform(SLUG, notes_manifest())
    async with controller_running(notes_app(Boards()), platform):
        deployed = await platform.deploy({"board": "alloc_1", "pins": ["alloc_2"]})
        for one in deployed.operations:
            await operation_ended(platform, one.id)
        pin = next(m for m in platform.members(deployed.instance.id) if m.component_key == "pin")
        body = OperationCreate(kind="remove_pin", member_ids=[pin.id])
        asked = await platform.ask(deployed.instance.id, body)
        await operation_ended(platform, asked.operation.id)
        await _line(platform, "remove_pin ended: succeeded")
    assert _lines(platform, f"step clear begins for pin {pin.id}")


async def test_what_is_left_is_told_at_the_end(log: Log) -> None:
    calls = Heard()
    telling = Telling(calls, "test")
    _tell(telling, log, *(f"line {n}" for n in range(250)))
    await telling.rest()
    told = [line.message for body in calls.bodies for line in body.lines]
    assert told == [f"line {n}" for n in range(250)]
    assert len({body.batch for body in calls.bodies}) == 3


async def test_only_lines_about_an_instance_are_told(log: Log) -> None:
    calls = Heard()
    telling = Telling(calls, "test")
    others = [
        Log(log.logger, {"replica": "test"}),
        Log(log.logger, {"replica": "another", "instance_id": "i", "correlation_id": "c"}),
        Log(log.logger, {"replica": "test", "instance_id": "i", "correlation_id": "not an id"}),
    ]
    log.logger.addHandler(telling.handler)
    for one in others:
        one.warning("not for a timeline")
    log.logger.removeHandler(telling.handler)
    await telling.rest()
    assert calls.bodies == []


async def test_lines_wait_for_a_platform_that_is_away_and_the_oldest_go(log: Log) -> None:
    calls = Heard()
    telling = Telling(calls, "test")
    calls.refuse(UnreachableError("http://nowhere", "refused"))
    _tell(telling, log, "first")
    assert not await telling.send()
    _tell(telling, log, *(f"line {n}" for n in range(2_005)))
    assert not await telling.send()
    calls.refuse(None)
    await telling.rest()
    told = [line.message for body in calls.bodies for line in body.lines]
    assert told == ["first", *(f"line {n}" for n in range(5, 2_005))]
    dropped = [one for body in calls.bodies for one in body.dropped]
    assert [(one.correlation_id, one.count) for one in dropped] == [("cor_1", 5)]


@pytest.mark.parametrize("unforeseen", [False, True])
async def test_what_is_refused_is_not_sent_again(log: Log, unforeseen: bool) -> None:
    calls = Heard()
    telling = Telling(calls, "test")
    calls.refuse(ZeroDivisionError() if unforeseen else _refusal())
    _tell(telling, log, "unwanted")
    assert await telling.send()
    calls.refuse(None)
    await telling.rest()
    assert calls.bodies == []


async def test_a_long_line_keeps_its_beginning_and_its_end(log: Log) -> None:
    calls = Heard()
    telling = Telling(calls, "test")
    log.logger.addHandler(telling.handler)
    try:
        int("the very end")
    except ValueError:
        log.exception("the beginning %s", "x" * 9_000)
    log.logger.removeHandler(telling.handler)
    await telling.rest()
    [line] = calls.bodies[0].lines
    assert len(line.message) <= 4_000
    assert line.message.startswith("the beginning")
    assert line.message.endswith("with base 10: 'the very end'")


class _Wire:
    async def ready(self, about: About) -> None:
        del about

    async def execute(self, order: Order) -> Output:
        del order
        return Output(3, b"", b"", 0.1)

    async def close(self) -> None: ...


async def test_scripts_are_spans_of_the_step_they_are_run_in() -> None:
    spans: list[Span] = []

    class Taking:
        def ended(self, span: Span) -> None:
            spans.append(span)

    machine = Machine("alloc_1", _Wire(), About("cor_1", "test"))
    await machine.run("exit 3", check=False)
    assert spans == []
    with span_begin(Scene("app_1", "cor_1", Taking()), "step", "op_1/step"):
        await machine.run("exit 3", check=False)
        with span_inside("soon over", least=60.0):
            pass
    script, step = spans
    assert (script.name, script.parent_id) == ("script on alloc_1", step.id)
    assert (script.fields["exit_status"], script.failed) == ("3", False)
    assert (step.parent_id, step.failed) == ("op_1/step", False)


def test_an_odd_span_is_no_trouble() -> None:
    telling = Telling(Heard(), "test")
    scene = Scene("app_1", "not an id", telling)
    with span_begin(scene, "x" * 500, None):
        pass
    assert not telling._told
    with span_begin(Scene("app_1", "cor_1", telling), "x" * 500, None, huge="y" * 9_000):
        pass
    [kept] = telling._told
    assert isinstance(kept, TelemetrySpan)
    assert len(kept.name) == 200


def _tell(telling: Telling, log: Log, *messages: str) -> None:
    log.logger.addHandler(telling.handler)
    for message in messages:
        log.info(message)
    log.logger.removeHandler(telling.handler)


async def _line(platform: MemoryPlatform, message: str) -> None:
    """Until the line was told: lines go out behind the back of the work they are about."""
    await eventually(lambda: _lines(platform, message), what=f"a line {message!r}")


def _lines(platform: MemoryPlatform, message: str) -> list[TelemetryLine]:
    told = [line for body in platform.surface.telemetry for line in body.lines]
    return [line for line in told if line.message == message]


def _refusal() -> ProblemError:
    said = {"title": "No", "status": 403, "detail": "No.", "code": "permission_denied"}
    return problem_error(said | {"correlation_id": "cor_2", "retryable": False})
