"""Readiness says what is missing, operators see the whole, metrics tell no tenant."""

import dataclasses
from pathlib import Path
from typing import Any

import httpx2
import pytest
from apps_fake_controller import FakeController
from apps_fixtures import Site
from eventually import eventually
from platform_calls import bearer
from prometheus_client.parser import text_string_to_metric_families

from gpuaas_contract.permissions import RoleName
from gpuaas_platform.http.app import app_make
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.clock import Clock
from gpuaas_platform.kernel.settings import Settings
from gpuaas_platform.main import platform_make
from gpuaas_platform.operate import health, store
from gpuaas_platform.operate.health import PART


async def test_a_replica_becomes_ready_by_itself(platform: Platform) -> None:
    readiness = await _ready(platform)
    assert readiness == {
        "database": True, "schema": True, "relay": True, "keys": True, "signals": True,
        "disk": True, "staying": True,
    }  # fmt: skip


async def test_a_lagging_relay_is_not_ready(
    platform: Platform, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _ready(platform)

    async def nothing(_: Any, __: int) -> int:
        return 0

    monkeypatch.setattr("gpuaas_platform.events.store.sequence.outbox_relay", nothing)
    await platform.db.execute(
        "INSERT INTO outbox (id, type, subject, at, correlation_id, data)"
        " VALUES ('evt_1', 'a.b', 's', $1, 'c', '{}')",
        clock.now(),
    )
    clock.advance(seconds=31)
    assert (await _look(platform))["relay"] is False


async def test_nobody_relaying_is_forgiven_for_a_while_only(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _ready(platform)

    async def no_sessions(_: Any) -> list[Any]:
        return []

    monkeypatch.setattr(store, "sessions_read", no_sessions)
    assert (await _look(platform))["relay"] is True
    platform.parts[PART].relay_seen_at -= 20
    assert (await _look(platform))["relay"] is False


async def test_lost_signals_a_full_disk_and_the_end_are_said(platform: Platform) -> None:
    await _ready(platform)
    full = dataclasses.replace(
        platform, settings=platform.settings.model_copy(update={"min_free_bytes": 2**62})
    )
    assert (await _look(full))["disk"] is False
    await platform.signals.stop()
    platform.signals.finishing = True
    found = await _look(platform)
    assert (found["signals"], found["staying"]) == (False, False)


async def test_a_replica_without_the_keys_is_not_ready(platform: Platform, tmp_path: Path) -> None:
    await _ready(platform)
    elsewhere = {"keyring_file": tmp_path / "elsewhere" / "keyring.json"}
    lost = dataclasses.replace(
        platform, settings=platform.settings.model_copy(update=elsewhere), parts={}
    )
    found = await health.readiness(lost)
    (said,) = [check.detail for check in found.checks if check.name == "keys"]
    assert (await _look(lost))["keys"] is False
    assert "Copy keyring.json from another replica" in said


async def test_an_older_schema_is_said(platform: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    await _ready(platform)
    monkeypatch.setattr(health, "migrations", lambda: range(999))
    platform.parts[PART].answer = None
    found = await health.readiness(platform)
    said = [check.detail for check in found.checks if not check.ok]
    assert len(said) == 1
    assert said[0].endswith("expected 999: run `gpuaas-platform migrate`")


async def test_operators_see_replicas_duties_and_queues(
    site: Site, controller: FakeController, platform: Platform
) -> None:
    await _ready(platform)
    await site.deploy()
    found = (await site.client.get("/admin/health", headers=site.operator)).json()
    assert [(one["this_one"], one["version"]) for one in found["replicas"]] == [(True, "0.1.0")]
    holders = {one["duty"]: one["holder"] for one in found["duties"]}
    assert holders["relay"] == found["replicas"][0]["name"]
    assert {queue["name"] for queue in found["queues"]} == {"outbox", "audit_chain", "operations"}
    assert found["operations"] == {"requested": 1}
    assert found["controllers"] == []
    await controller.claim()
    found = (await site.client.get("/admin/health", headers=site.operator)).json()
    assert found["operations"] == {"accepted": 1}
    assert found["controllers"] == [{"app_slug": "echo", "present": 1, "absent": 0}]
    assert (await site.client.get("/admin/health", headers=site.admin)).status_code == 403


async def test_a_second_replica_is_seen_and_the_first_keeps_the_relay(
    platform: Platform,
    database_url: str,
    settings: Settings,
    callers: Any,
    client: httpx2.AsyncClient,
) -> None:
    await _ready(platform)
    other = app_make(platform_make(settings, database_url))
    async with other.router.lifespan_context(other):
        operator = bearer(callers.add(RoleName.PLATFORM_ADMIN))

        async def both() -> bool:
            found = (await client.get("/admin/health", headers=operator)).json()
            return len(found["replicas"]) == 2

        await eventually(both)


async def test_metrics_need_a_permission_and_tell_no_tenant(
    site: Site, controller: FakeController
) -> None:
    await site.deploy()
    await controller.drain_queue()
    assert (await site.client.get("/metrics", headers=site.admin)).status_code == 403
    assert (await site.client.get("/metrics")).status_code == 401
    await site.client.get("/no/such/route-at-all")
    await site.client.request("BREW", "/regions")
    answer = await site.client.get("/metrics", headers=site.operator)
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    text = answer.text
    for secret in ("acme", "research", "proj_", "inst_", "echo", "user-", "route-at-all", "BREW"):
        assert secret not in text, secret
    samples = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    claims = ("action", "apps.operation.claim"), ("outcome", "done")
    assert samples[("gpuaas_mutations_total", *claims)] >= 1
    claiming = ("method", "POST"), ("route", "/operations/claim")
    assert samples[("gpuaas_http_request_seconds_count", *claiming)] >= 1
    assert samples[("gpuaas_database_up",)] == 1
    assert samples[("gpuaas_operations", ("status", "requested"))] == 0
    assert samples[("gpuaas_operation_claim_seconds_count",)] >= 1
    assert samples[("gpuaas_http_requests_in_flight",)] >= 1
    assert any(
        name[0] == "gpuaas_http_requests_total" and ("route", "none") in name for name in samples
    )


async def test_metrics_have_a_port_of_their_own_when_configured(
    database_url: str, settings: Settings, clock: Clock
) -> None:
    listening = settings.model_copy(update={"metrics_port": 0})
    platform = dataclasses.replace(platform_make(listening, database_url), clock=clock)
    app = app_make(platform)
    async with app.router.lifespan_context(app):
        url = platform.parts["operate.metrics_url"]
        async with httpx2.AsyncClient(timeout=60) as client:
            answer = await client.get(url)
            assert answer.status_code == 200
            assert "gpuaas_relay_lag_seconds" in answer.text
            assert (await client.get(url.replace("/metrics", "/else"))).status_code == 404
            await platform.db.close()
            assert "gpuaas_database_up 0.0" in (await client.get(url)).text
            await platform.db.open()


async def _ready(platform: Platform) -> dict[str, bool]:
    """Wait until it is."""
    found: dict[str, bool] = {}

    async def ready() -> bool:
        found.update(await _look(platform))
        return all(found.values())

    await eventually(ready, what=lambda: f"all of {found}")
    return found


async def _look(platform: Platform) -> dict[str, bool]:
    memory = platform.parts.get(PART)
    if memory is not None:
        memory.answer = None
    return {check.name: check.ok for check in (await health.readiness(platform)).checks}
