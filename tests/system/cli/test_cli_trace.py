"""`gpuaas trace`: an incident told from its correlation id alone, also while it happens."""

import json
from typing import Any

import pytest
from cli_site import Site
from eventually import eventually_sync

pytestmark = pytest.mark.integration


def test_an_incident_is_told_and_followed(site: Site) -> None:
    silent = site.folder / "state" / "machines" / f"{site.ids['n5']}.unreachable"
    silent.touch()
    correlation = ("--correlation-id", "cor_incident.1")
    place = ("--set", "gateway_allocation_id=n5")
    asked = site.done("deploy", "template", "--name", "incident", *place, *correlation)
    operation = asked["last_operation_id"]
    following = site.process("gpuaas", "trace", "cor_incident.1", "--follow")
    try:
        assert following.stdout is not None
        until = ""
        while "temporary" not in until and "preflight" not in until:
            until = following.stdout.readline()
        silent.unlink()
        out, err = following.communicate(timeout=120)
    finally:
        following.kill()
        following.wait()
    assert following.returncode == 0, err
    assert "succeeded" in out
    told = site.gpuaas("trace", "cor_incident.1")
    for kind in ("request", "audit", "operation", "step", "event", "instance"):
        assert f" {kind} " in told.out, kind
    assert operation in told.out
    assert site.gpuaas("instance", "delete", "incident", "--yes", "--wait").code == 0


def test_the_five_questions_are_answered_for_what_runs(site: Site) -> None:
    silent = site.folder / "state" / "machines" / f"{site.ids['n6']}.unreachable"
    silent.touch()
    try:
        place = ("--set", "gateway_allocation_id=n6")
        words = ("deploy", "template", "--name", "asked", *place)
        asked = site.done(*words, "--correlation-id", "cor_asked.1")
        told = site.gpuaas("trace", "cor_asked.1").out
        assert f"instance       asked ({asked['id']})" in told
        assert "correlation id cor_asked.1" in told
        assert "operation      deploy" in told
        assert "ways out" in told
        # While it cannot succeed: whoever is asked afterwards may find it done.
        assert site.gpuaas("op", "cancel", asked["last_operation_id"], "--wait").code == 0
    finally:
        silent.unlink()
    assert site.gpuaas("instance", "delete", "asked", "--yes", "--wait").code == 0


def test_logs_and_traces_are_linked_where_they_are_kept(site: Site) -> None:
    words = ("region", "create", "--name", "linked", "--display-name", "Linked")
    site.done(*words, "--correlation-id", "cor_linked.1")
    kept = {
        "GPUAAS_LOKI_URL": "http://loki.test:3100",
        "GPUAAS_TEMPO_URL": "http://tempo.test:3200",
    }
    told = site.gpuaas("trace", "cor_linked.1", **kept).out
    assert "logs: http://loki.test:3100/loki/api/v1/query_range?query=" in told
    assert "cor_linked.1" in told
    assert site.gpuaas("trace", "cor_nobody.1").code == 4


def test_a_failing_deploy_is_told_with_its_log_lines_and_spans(site: Site) -> None:
    """By the platform and the app's controller alone: nothing collects logs or traces here."""
    owner = site.folder / "state" / "machines" / site.ids["n4"] / "gateway" / "owner"
    owner.parent.mkdir(parents=True, exist_ok=True)
    owner.write_text("app_of_somebody_else")
    try:
        place = ("--set", "gateway_allocation_id=n4")
        words = ("deploy", "template", "--name", "taken", *place, "--wait")
        failed = site.gpuaas(*words, "--correlation-id", "cor_taken.1")
        assert failed.code == 6, failed.err
        told = _until(site, {"log": "attempt failed", "span": "preflight, attempt 1 failed"})
        kept = [one for one in told if one["kind"] == "log"]
        lines = [one for one in kept if one["actor"] != "platform"]
        assert any("attempt failed" in one["title"] for one in lines), lines
        assert all(one["actor"].startswith(site.ids["operator"]) for one in lines)
        operation = next(one for one in told if one["kind"] == "operation")
        run = next(one for one in told if one["kind"] == "span")
        assert run["title"].startswith("preflight, attempt 1 failed after ")
        assert run["span"]["parent_id"] == f"{operation['id']}/preflight"
        assert all(one["span"] for one in told if one["kind"] in {"request", "step", "operation"})
        _shown(site, operation["id"])
    finally:
        owner.unlink()
    assert site.gpuaas("instance", "delete", "taken", "--yes", "--wait").code == 0


def _shown(site: Site, operation_id: str) -> None:
    """What people see of it, in order and as a tree."""
    whole = site.gpuaas("trace", "cor_taken.1").out
    moments = [line[:12] for line in whole.splitlines() if " log " in line or " step " in line]
    assert moments == sorted(moments)
    assert " log " in whole
    assert "attempt failed" in whole
    assert "  by sa_" not in whole  # people are told names
    assert "  by user_" not in whole
    tree = site.gpuaas("trace", "cor_taken.1", "--spans", "--only", "operations,steps,spans").out
    top, step, run = tree.splitlines()[:3]
    assert "operation Operation deploy of taken" in top
    assert "step Step preflight of deploy: failed." in step
    assert "━" in run
    assert run.index("span preflight, attempt 1") > step.index("step Step") > top.index("operation")
    narrow = site.gpuaas("trace", "cor_taken.1", "--only", "logs").out
    assert " log " in narrow
    assert " request " not in narrow
    lines = site.gpuaas("trace", "cor_taken.1", "--follow", "-o", "json").out.splitlines()
    kinds = {json.loads(line)["kind"] for line in lines}
    assert {"request", "operation", "step", "log", "span"} <= kinds
    assert operation_id in whole
    assert site.gpuaas("trace", "cor_taken.1", "--only", "words").code == 1


def _until(site: Site, wanted: dict[str, str]) -> list[dict[str, Any]]:
    """The entries of the timeline, once of each kind one says this: controllers tell later."""

    def told() -> list[dict[str, Any]] | None:
        entries: list[dict[str, Any]] = site.done("trace", "cor_taken.1")["entries"]
        complete = all(
            any(one["kind"] == kind and words in one["title"] for one in entries)
            for kind, words in wanted.items()
        )
        return entries if complete else None

    return eventually_sync(told, within=site.patience, what=f"the timeline has {wanted}")
