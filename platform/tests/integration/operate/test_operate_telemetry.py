"""Log lines and spans in timelines: kept for a while, within bounds, for whoever may see them."""

import asyncio
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
import structlog
from apps_fake_controller import FakeController
from apps_fixtures import Site
from platform_calls import bearer
from tenancy_fixtures import project_make

from gpuaas_contract.permissions import RoleName
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.kept import BUFFER, Lost, Told, span_keep
from gpuaas_platform.kernel.logs import secrets_mask, timeline_keep
from gpuaas_platform.kernel.settings import Settings
from gpuaas_platform.operate.keeping import buffer_write, telemetry_sweep, told_keep

CORRELATION = "incident-7"
MOST = 20
SECRET = "gpk_" + "Zm9vYmFyYmF6cXV4" * 3


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        data_dir=tmp_path,
        rate_limit_per_second=1e6,
        rate_limit_burst=1_000_000,
        telemetry_rows_per_correlation=MOST,
        telemetry_rows_max=1_000,
        telemetry_retention_days=7,
    )


async def test_lines_and_spans_of_a_controller_are_part_of_the_timeline(
    site: Site, controller: FakeController
) -> None:
    operation = await _claimed(site, controller)
    now = site.platform.clock.now()
    step = f"{operation['id']}/prepare"
    taken = await _sent(
        site,
        operation,
        lines=[_line(now, "the card does not answer", level="warning", fields={"step": "prepare"})],
        spans=[
            _span(now, "run-1", step, "prepare, attempt 1", outcome="error"),
            _span(now, "script-1", "run-1", "script on alloc_1"),
        ],
    )
    assert taken == {"kept": 3, "refused": 0}
    told = await _told(site, site.viewer)
    line = next(e for e in told if e["kind"] == "log")
    assert (line["title"], line["status"]) == ("the card does not answer", "warning")
    assert line["detail"]["fields"] == {"step": "prepare"}
    assert line["actor"].endswith("/echo-0")
    run, script = (e for e in told if e["kind"] == "span")
    assert run["span"] == {
        "id": "run-1", "parent_id": step, "at": run["at"], "seconds": 1.25,
    }  # fmt: skip
    assert (run["title"], run["status"]) == ("prepare, attempt 1 failed after 1.250 s.", "error")
    assert script["span"]["parent_id"] == "run-1"


async def test_what_the_platform_did_itself_has_a_length_too(
    site: Site, controller: FakeController
) -> None:
    operation = await _claimed(site, controller)
    await controller.tell(
        f"/operations/{operation['id']}/report",
        {"lease_token": operation["token"], "steps": [{"name": "prepare", "state": "running"}]},
    )
    answer = await site.client.get(f"/correlations/{CORRELATION}", headers=site.viewer)
    spans = {e["kind"]: e["span"] for e in answer.json()["entries"] if e["span"]}
    assert spans["request"]["seconds"] > 0
    assert spans["operation"]["id"] == operation["id"]
    assert spans["step"] == {
        "id": f"{operation['id']}/prepare",
        "parent_id": operation["id"],
        "at": spans["step"]["at"],
        "seconds": None,
    }


async def test_a_batch_sent_again_is_not_kept_again(site: Site, controller: FakeController) -> None:
    operation = await _claimed(site, controller)
    now = site.platform.clock.now()
    for _ in range(2):
        await _sent(site, operation, lines=[_line(now, "once")], sent_at=now)
    await _sent(site, operation, lines=[_line(now, "once")], sent_at=now - timedelta(minutes=5))
    assert [e["title"] for e in await _told(site, site.viewer)] == ["once"]


async def test_moments_are_told_by_the_platforms_clock(
    site: Site, controller: FakeController
) -> None:
    operation = await _claimed(site, controller)
    now = site.platform.clock.now()
    ahead = now + timedelta(hours=3)
    lines = [_line(ahead - timedelta(seconds=30), "half a minute ago"), _line(ahead, "now")]
    await _sent(site, operation, lines=lines, sent_at=ahead, batch="a" * 16)
    odd = [_line(now + timedelta(days=3000), "one day"), _line(now - timedelta(days=90), "long")]
    await _sent(site, operation, lines=odd, sent_at=now, batch="b" * 16)
    told = {e["title"]: datetime.fromisoformat(e["at"]) for e in await _told(site, site.viewer)}
    later = site.platform.clock.now()
    assert now - timedelta(seconds=31) < told["half a minute ago"] < now
    assert all(now - timedelta(days=1, seconds=1) < at <= later for at in told.values())


async def test_the_newest_stay_and_what_is_missing_is_said(
    site: Site, controller: FakeController
) -> None:
    operation = await _claimed(site, controller)
    for number in range(3):
        at = site.platform.clock.now()
        lines = [_line(at, f"line {number * 15 + n}") for n in range(15)]
        await _sent(site, operation, lines=lines, batch=f"{number}" * 16)
    told = await _told(site, site.viewer)
    missing, *kept = told
    assert [e["title"] for e in kept] == [f"line {n}" for n in range(25, 45)]
    assert missing["title"] == "25 log lines and spans up to here are not kept."
    dropped = [_about(operation) | {"at": _text(site.platform.clock.now()), "count": 5}]
    await _sent(site, operation, dropped=dropped, batch="f" * 16)
    assert [e["detail"]["dropped"] for e in await _told(site, site.admin) if _missing(e)] == [30]


async def test_lines_about_what_one_does_not_control_are_refused(
    site: Site, controller: FakeController, platform: Platform, callers: Any
) -> None:
    operation = await _claimed(site, controller)
    there = await project_make(platform, "rival", "lab")
    rival = bearer(callers.add(RoleName.APP_OPERATOR, there))
    now = platform.clock.now()
    body = _body(operation, lines=[_line(now, "planted")])
    for who, status in ((rival, 404), (site.viewer, 403), ({}, 401)):
        answer = await site.client.post("/telemetry", json=body, headers=who)
        assert answer.status_code == status, answer.text
    unknown = body | {"lines": [body["lines"][0] | {"app_instance_id": "app_none"}]}
    answer = await site.client.post("/telemetry", json=unknown, headers=site.robot)
    assert answer.status_code == 404
    mixed = [
        _line(now, "ours"),
        _line(now, "of no such instance") | {"app_instance_id": "app_none"},
        _line(now, "under an id of somebody else") | {"correlation_id": "theirs-1"},
    ]
    assert await _sent(site, operation, lines=mixed) == {"kept": 1, "refused": 2}
    assert [e["title"] for e in await _told(site, site.admin)] == ["ours"]
    denied = await site.client.get("/correlations/theirs-1", headers=site.operator)
    assert denied.status_code == 404
    audited = await site.platform.db.fetchval(
        "SELECT count(*) FROM audit_entries WHERE action = 'operate.telemetry.send'"
        " AND outcome = 'denied'"
    )
    assert audited == 2


async def test_tenants_that_chose_the_same_id_share_nothing(
    site: Site, controller: FakeController, platform: Platform, callers: Any
) -> None:
    operation = await _claimed(site, controller)
    await _sent(site, operation, lines=[_line(platform.clock.now(), "ours")])
    there = await project_make(platform, "rival", "lab")
    flood = [_own(f"theirs {n}", there, platform.clock.now()) for n in range(MOST + 5)]
    async with platform.db.transaction() as conn:
        await told_keep(platform, conn, flood, [])
    rival = bearer(callers.add(RoleName.PROJECT_ADMIN, there))
    ours, theirs = await _told(site, site.admin), await _told(site, rival)
    assert [e["title"] for e in ours] == ["ours"]
    assert len(theirs) == MOST + 1
    assert {e["scope"]["project_id"] for e in theirs} == {there.project_id}


async def test_secrets_are_never_kept(site: Site, controller: FakeController) -> None:
    operation = await _claimed(site, controller)
    now = site.platform.clock.now()
    line = _line(now, f"signed in with {SECRET} and password=hunter2-hunter2")
    line["fields"] = {"api_key": "plain-looking", "said": f"token: {SECRET}", SECRET[:60]: "x"}
    span = _span(now, SECRET, SECRET, f"with {SECRET}")
    await _sent(site, operation, lines=[line], spans=[span], replica=SECRET)
    rows = await site.platform.db.fetch("SELECT to_jsonb(t) AS row FROM telemetry t")
    kept = str([row["row"] for row in rows])
    assert len(rows) == 2
    assert "[masked]" in kept
    for secret in (SECRET[4:], "hunter2", "plain-looking"):
        assert secret not in kept


async def test_the_platforms_own_lines_are_for_its_operators(site: Site) -> None:
    await site.ask("POST", "/gaps", _GAP | _where(site), X_Correlation_ID=CORRELATION)
    log = _platform_log()
    try:
        int("value-of-somebody")
    except ValueError:
        log.exception("unhandled", correlation_id=CORRELATION, error="x", password="hunter2-2")
    log.info("request", correlation_id=CORRELATION, status=200)
    with span_keep(CORRELATION, "make of the machine by lab", attempt="1"):
        pass
    log.info("no correlation")
    BUFFER.lose(Lost((CORRELATION, Place()), 3, site.platform.clock.now()))
    seen: list[dict[str, Any]] = []
    async with asyncio.timeout(60):
        while len(seen) < 3:  # the platform writes twice a second by itself
            await buffer_write(site.platform)
            seen = await _told(site, site.operator)
    told = [e for e in seen if not _missing(e)]
    span = told.pop()
    assert (span["kind"], span["status"], span["detail"]["fields"]["name"]) == (
        "span", "ok", "make of the machine by lab",
    )  # fmt: skip
    assert [(e["title"], e["status"], e["actor"]) for e in told] == [
        ("unhandled", "error", "platform")
    ]
    fields = told[0]["detail"]["fields"]
    assert fields["failure"] == "ValueError"
    assert "test_operate_telemetry.py" in fields["where"]
    assert "hunter2" not in str(fields)
    assert "value-of-somebody" not in str(fields)
    missing = [e for e in seen if _missing(e)]
    assert [e["detail"]["dropped"] for e in missing] == [3]
    assert await _told(site, site.admin) == []


async def test_text_no_database_takes_is_kept_all_the_same(
    site: Site, controller: FakeController
) -> None:
    operation = await _claimed(site, controller)
    now = site.platform.clock.now()
    await _sent(site, operation, lines=[_line(now, "a\x00b") | {"fields": {"f\x00": "\x00"}}])
    assert [e["title"] for e in await _told(site, site.viewer)] == ["a\ufffdb"]


async def test_what_is_old_is_forgotten(site: Site, controller: FakeController, clock: Any) -> None:
    operation = await _claimed(site, controller)
    await _sent(site, operation, lines=[_line(clock.now(), "old")], batch="a" * 16)
    clock.advance(days=5)
    await _sent(site, operation, lines=[_line(clock.now(), "new")], batch="b" * 16)
    clock.advance(days=3)
    await telemetry_sweep(site.platform)
    assert [e["title"] for e in await _told(site, site.viewer)] == ["new"]
    clock.advance(days=30)
    await telemetry_sweep(site.platform)
    left = await site.platform.db.fetchval(
        "SELECT (SELECT count(*) FROM telemetry) + (SELECT count(*) FROM telemetry_shares)"
    )
    assert left == 0


async def test_whoever_keeps_most_gives_first(
    site: Site, controller: FakeController, platform: Platform
) -> None:
    operation = await _claimed(site, controller)
    await _sent(site, operation, lines=[_line(platform.clock.now(), "ours")])
    there = await project_make(platform, "rival", "lab")
    for number in range(60):
        flood = [
            _own(f"theirs {n}", there, platform.clock.now(), f"flood-{number}") for n in range(MOST)
        ]
        async with platform.db.transaction() as conn:
            await told_keep(platform, conn, flood, [])
    await telemetry_sweep(platform)
    total = await platform.db.fetchval("SELECT count(*) FROM telemetry")
    counted = await platform.db.fetchval("SELECT sum(kept) FROM telemetry_shares")
    assert total == counted == 1_000
    assert [e["title"] for e in await _told(site, site.admin)] == ["ours"]


async def test_nothing_is_kept_where_that_is_wanted(
    site: Site, controller: FakeController, settings: Settings
) -> None:
    operation = await _claimed(site, controller)
    object.__setattr__(settings, "telemetry_rows_per_correlation", 0)
    await _sent(site, operation, lines=[_line(site.platform.clock.now(), "unwanted")])
    assert await _told(site, site.viewer) == []


_GAP = {"category": "app_problem", "title": "Odd"}


def _where(site: Site) -> dict[str, Any]:
    return {"project_id": site.place.project_id}


def _platform_log() -> Any:
    """A logger that ends where lines are kept, whatever else this process logs to."""
    return structlog.wrap_logger(
        None,
        processors=[structlog.stdlib.add_log_level, secrets_mask, timeline_keep, _nowhere],
        wrapper_class=structlog.make_filtering_bound_logger(0),
    )


def _nowhere(*_: Any) -> Any:
    raise structlog.DropEvent


async def _claimed(site: Site, controller: FakeController) -> dict[str, Any]:
    """An operation under the id, held by the controller."""
    body = {
        "app_slug": "echo", "name": "first", "version": "1.0.0",
        "settings": {"hub": site.machines[0]},
    }  # fmt: skip
    path = f"/projects/{site.place.project_id}/app-instances"
    answer = await site.ask("POST", path, body, X_Correlation_ID=CORRELATION)
    assert answer.status_code == 202, answer.text
    [claimed] = await controller.claim()
    return {**claimed["operation"], "token": claimed["lease"]["token"]}


def _about(operation: dict[str, Any]) -> dict[str, Any]:
    return {"app_instance_id": operation["instance_id"], "correlation_id": CORRELATION}


def _line(at: datetime, message: str, *, level: str = "info", **more: Any) -> dict[str, Any]:
    return {"at": _text(at), "level": level, "message": message, **more}


def _span(at: datetime, span_id: str, parent: str, name: str, **more: Any) -> dict[str, Any]:
    known = {"id": span_id, "parent_id": parent, "name": name, "seconds": 1.25}
    return {"at": _text(at), **known, **more}


def _own(title: str, place: Place, at: datetime, correlation_id: str = CORRELATION) -> Told:
    return Told("log", correlation_id, place, at, title, title, "info", "test")


def _text(at: datetime) -> str:
    return at.isoformat()


def _body(operation: dict[str, Any], **parts: Any) -> dict[str, Any]:
    about = _about(operation)
    told = {
        name: [about | one for one in parts.pop(name, [])] for name in ("lines", "spans", "dropped")
    }
    sent = parts.pop("sent_at", None) or datetime.fromisoformat(told["lines"][0]["at"])
    known = {"batch": "0123456789abcdef", "replica": "echo-0", "sent_at": _text(sent)}
    return known | told | parts


async def _sent(site: Site, operation: dict[str, Any], **parts: Any) -> dict[str, Any]:
    parts.setdefault("sent_at", site.platform.clock.now())
    body = _body(operation, **parts)
    answer = await site.client.post("/telemetry", json=body, headers=site.robot)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def _told(site: Site, who: dict[str, str]) -> list[dict[str, Any]]:
    """Lines and spans of the timeline, as this caller sees it."""
    answer: httpx2.Response = await site.client.get(
        f"/correlations/{CORRELATION}", params={"limit": 500}, headers=who
    )
    assert answer.status_code == 200, answer.text
    return [e for e in answer.json()["entries"] if e["kind"] in {"log", "span"}]


def _missing(entry: dict[str, Any]) -> bool:
    return bool(entry["status"] == "dropped")
