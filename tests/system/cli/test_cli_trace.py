"""`gpuaas trace`: an incident told from its correlation id alone, also while it happens."""

import pytest
from cli_site import Site

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
    finally:
        silent.unlink()
    assert site.gpuaas("op", "cancel", asked["last_operation_id"], "--wait").code == 0
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
