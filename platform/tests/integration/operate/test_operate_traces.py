"""Spans reach a real OTLP receiver and share their ids with events, answers and logs."""

import json
import subprocess
import sys
from typing import Any

import httpx2
import pytest
from apps_fixtures import Site
from otlp_receiver import attributes_of, otlp_receiving
from platform_calls import bearer

from gpuaas_contract.operate import Live
from gpuaas_contract.permissions import RoleName
from gpuaas_platform.kernel.call import Platform, system_call
from gpuaas_platform.kernel.caller import PLATFORM
from gpuaas_platform.kernel.logs import logs_configure
from gpuaas_platform.kernel.settings import Settings
from gpuaas_platform.kernel.telemetry import tracing_running
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work, mutate

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


async def test_a_request_is_one_trace_from_caller_to_event(site: Site) -> None:
    platform = site.platform
    with otlp_receiving() as received:
        with tracing_running(Settings(otlp_endpoint=received.url)):
            body = {"app_slug": "echo", "name": "first", "version": "1.0.0"}
            answer = await site.ask(
                "POST",
                f"/projects/{site.place.project_id}/app-instances",
                body | {"settings": {"hub": site.machines[0]}},
                traceparent=f"00-{TRACE}-{PARENT}-01",
                X_Correlation_ID="incident-42",
            )
            assert answer.status_code == 202, answer.text
        server = received.named("POST /projects/{project_id}/app-instances")
        mutation = received.named("mutate apps.instance.create")
    assert (server.trace_id.hex(), server.parent_span_id.hex()) == (TRACE, PARENT)
    assert (mutation.trace_id, mutation.parent_span_id) == (server.trace_id, server.span_id)
    assert attributes_of(server)["gpuaas.correlation_id"] == "incident-42"
    assert attributes_of(server)["http.response.status_code"] == "202"
    said = attributes_of(mutation)
    assert said["gpuaas.correlation_id"] == "incident-42"
    assert said["gpuaas.org_id"] == site.place.org_id
    assert said["gpuaas.project_id"] == site.place.project_id
    assert said["gpuaas.app_slug"] == "echo"
    assert said["gpuaas.app_instance_id"] == answer.json()["instance"]["id"]
    assert received.resources[0]["service.name"] == "gpuaas-platform"
    told = await platform.db.fetch(
        "SELECT traceparent FROM outbox WHERE correlation_id = 'incident-42'"
        " UNION SELECT traceparent FROM events WHERE correlation_id = 'incident-42'"
    )
    carried = f"00-{TRACE}-{server.span_id.hex()}-01"
    assert [row["traceparent"] for row in told] == [carried]


async def test_what_the_caller_does_not_sample_is_not_sent_but_carried(
    client: httpx2.AsyncClient, platform: Platform, callers: Any
) -> None:
    operator = bearer(callers.add(RoleName.PLATFORM_ADMIN))
    with otlp_receiving() as received:
        with tracing_running(Settings(otlp_endpoint=received.url)):
            headers = operator | {"traceparent": f"00-{TRACE}-{PARENT}-00"}
            await client.post(
                "/regions", json={"name": "north", "display_name": "N"}, headers=headers
            )
            await client.get("/regions", headers=operator)
        assert [span.name for span in received.spans] == ["GET /regions"]
    kept = await platform.db.fetchval(
        "SELECT traceparent FROM requests WHERE path = '/api/v1/regions'"
    )
    assert kept.startswith(f"00-{TRACE}-")
    assert kept.endswith("-00")


async def test_what_the_platform_does_by_itself_is_a_trace_of_its_own(platform: Platform) -> None:
    async def touch(work: Work) -> Answer[Live]:
        work.audit(Target("thing", "thing_1"))
        work.emit(Happened("a.b", "thing_1", PLATFORM, {}))
        return Answer(Live())

    told = "SELECT traceparent FROM outbox UNION ALL SELECT traceparent FROM events"
    await mutate(system_call(platform, "/loop", "cor-1"), "a.b.c", touch)
    assert await platform.db.fetchval(told) is None
    await platform.db.execute("DELETE FROM outbox")
    await platform.db.execute("DELETE FROM events")
    with otlp_receiving() as received:
        with tracing_running(Settings(otlp_endpoint=received.url)):
            await mutate(system_call(platform, "/loop", "cor-1"), "a.b.c", touch)
        span = received.named("mutate a.b.c")
    kept = f"00-{span.trace_id.hex()}-{span.span_id.hex()}-"
    assert (await platform.db.fetchval(told)).startswith(kept)


async def test_a_failure_is_an_error_without_its_words(
    client: httpx2.AsyncClient, callers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any) -> None:
        raise ZeroDivisionError("canary-in-the-message")

    monkeypatch.setattr("gpuaas_platform.capacity.store.machines.region_insert", fail)
    operator = bearer(callers.add(RoleName.PLATFORM_ADMIN))
    logs_configure(Settings())
    with otlp_receiving() as received:
        with tracing_running(Settings(otlp_endpoint=received.url)):
            await client.post(
                "/regions", json={"name": "north", "display_name": "N"}, headers=operator
            )
        span = received.named("mutate capacity.region.create")
        assert attributes_of(span)["error.type"] == "ZeroDivisionError"
        assert received.named("POST /regions").status.code == 2
        assert all(b"canary" not in body for body in received.bodies)


async def test_logs_share_the_ids_of_the_trace(
    client: httpx2.AsyncClient, callers: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    operator = bearer(callers.add(RoleName.PLATFORM_ADMIN))
    with otlp_receiving() as received:
        with tracing_running(Settings(otlp_endpoint=received.url)):
            logs_configure(Settings())
            await client.get("/regions", headers=operator | {"X-Correlation-ID": "incident-42"})
        span = received.named("GET /regions")
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines() if "{" in line]
    line = next(one for one in lines if one.get("correlation_id") == "incident-42")
    assert (line["trace_id"], line["span_id"]) == (span.trace_id.hex(), span.span_id.hex())


def test_nothing_of_it_is_imported_unless_configured() -> None:
    code = (
        "import sys, gpuaas_platform.main as m\n"
        "from gpuaas_platform.kernel.settings import Settings\n"
        "from gpuaas_platform.kernel.telemetry import tracing_running\n"
        "with tracing_running(Settings()): pass\n"
        "print([n for n in sys.modules if n.startswith(('opentelemetry.sdk',"
        " 'opentelemetry.exporter', 'opentelemetry.proto', 'google.protobuf', 'requests'))])"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert printed.stdout.strip() == "[]"


def test_a_dead_collector_does_not_keep_the_process() -> None:
    settings = Settings(otlp_endpoint="http://127.0.0.1:9")
    with tracing_running(settings):
        pass
