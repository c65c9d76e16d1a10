"""Proofs on a served platform: a sound app passes, and each broken one fails where it is broken."""

import http.server
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import broken_app
import pytest
from cli_site import Site, app_publish, furnish, served_site

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

# What a machine that is a mere name cannot show: a login.
NO_LOGIN = {"2.2"}
NO_STEPS = {"2.5", "2.6", "2.7", "2.8", "3.9", "M3", "A5"}
NO_SECOND = {"2.5", *(f"3.{n}" for n in range(1, 9)), "M2", "M4", "B3"}
SLICE = {
    "mute": ({"2.7", "2.8", "3.6", "M3"}, {"M4", "B3"}),
    "lame": ({"2.4"}, NO_SECOND),
    "hollow": ({"2.3"}, NO_STEPS),
    "careless": ({"3.8"}, {"M4", "B3"}),
}
SMOKE = {
    "mute": ({"health", "access"}, set()),
    "lame": ({"add"}, {"drain", "remove"}),
    "hollow": ({"health"}, set()),
    "careless": ({"remove", "decommission"}, {"events"}),
}


@pytest.fixture(scope="module")
def place() -> Iterator[Site]:
    """A platform of its own: what fails here leaves entries in the gap log."""
    with served_site() as made:
        furnish(made)
        yield made


def judged(report: Any, result: str) -> set[str]:
    """The checks that ended so."""
    return {one["id"] for one in report["checks"] if one["result"] == result}


def slice_words(site: Site, state: str) -> list[str]:
    """The founding validation, with a machine that stops answering and is mended."""
    silent = site.folder / state / "machines" / f"{site.ids['n6']}.unreachable"
    return [
        *("validate", "slice", "--app", "template", "--target", "n1", "--worker", "n2"),
        *("--broken", "n6", "--break-with", f"touch {silent}", "--mend-with", f"rm -f {silent}"),
        *("--operator-key", "operator.key"),
    ]


@contextmanager
def broken(site: Site, mode: str) -> Iterator[None]:
    """A controller with one thing wrong."""
    (site.folder / mode / "machines").mkdir(parents=True)
    script = str(Path(broken_app.__file__))
    words = [sys.executable, script, mode, site.url, "operator.key", mode]
    with (site.folder / "broken.log").open("ab") as log:
        process = subprocess.Popen(words, cwd=site.folder, env=site.environment(), stderr=log)
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


def test_a_sound_app_passes_all_that_can_be_seen_here(place: Site) -> None:
    with place.controller():
        said = place.gpuaas(
            *slice_words(place, "state"), "--report-html", "slice.html", "--report-json", "s.json"
        )
        report = json.loads((place.folder / "s.json").read_text())
        assert judged(report, "failed") == judged(report, "unreached") == set(), said.err
        assert judged(report, "unverified") == NO_LOGIN
        assert said.code == 6  # what was not seen is not assumed
        assert report["left_behind"] == []
        assert place.done("gap", "list") == []
        page = (place.folder / "slice.html").read_text()
        assert [w for w in ("<script", "<link", " src=", " href=", "url(") if w in page] == []
        assert all(one["correlation_id"] for check in report["checks"] for one in check["evidence"])
        smoke = place.gpuaas("smoke", "--app", "template")
        assert smoke.code == 0, smoke.err
    live = [one for one in place.done("instance", "list") if one["status"] != "deleted"]
    assert live == []


@pytest.mark.parametrize("mode", list(SLICE))
def test_a_broken_adapter_fails_exactly_where_it_is_broken(place: Site, mode: str) -> None:
    gaps = len(place.done("gap", "list"))
    with broken(place, mode):
        report = place.gpuaas(*slice_words(place, mode), "-o", "json").json()
        failed, unreached = SLICE[mode]
        assert judged(report, "failed") == failed
        assert judged(report, "unreached") == unreached
        assert report["left_behind"] == []
        smoke = place.gpuaas("smoke", "--app", "template", "-o", "json")
        assert smoke.code == 6
        failed, unreached = SMOKE[mode]
        assert judged(smoke.json(), "failed") == failed
        assert judged(smoke.json(), "unreached") == unreached
    logged = place.done("gap", "list")
    assert len(logged) - gaps == len(SLICE[mode][0])
    assert {one["category"] for one in logged[: len(logged) - gaps]} <= {
        "app_problem",
        "missing_primitive",
    }


def test_an_app_is_ready_when_all_seven_points_are_seen(place: Site) -> None:
    with runbook("# Triage\n\nTake the correlation id of the error.") as url, place.controller():
        app_publish(place, "ready", runbook_url=url)
        with place.controller("--slug", "ready", state="ready"):
            smoke = ("smoke", "--app", "ready", "--allocation", "n4", "--allocation", "n5")
            assert place.gpuaas(*smoke).code == 0
            deploy = ("deploy", "ready", "--name", "ready", "--set", "gateway_allocation_id=n4")
            assert place.gpuaas(*deploy, "--wait").code == 0
            key = ("--operator-key", "operator.key")
            said = place.gpuaas("app", "check", "ready", *key, "--report", "ready.html")
            assert said.code == 0, said.err
            assert "8 passed" in said.err
            without = place.gpuaas("app", "check", "ready", "-o", "json")
            assert without.code == 6
            assert judged(without.json(), "unverified") == {"3b"}
            assert place.gpuaas("instance", "delete", "ready", "--yes", "--wait").code == 0


def test_a_runbook_that_nobody_can_read_is_found(place: Site) -> None:
    with place.controller():
        deploy = ("deploy", "template", "--name", "unread", "--set", "gateway_allocation_id=n4")
        assert place.gpuaas(*deploy, "--wait").code == 0
        key = ("--operator-key", "operator.key")
        report = place.gpuaas("app", "check", "unread", *key, "-o", "json").json()
        assert judged(report, "failed") == {"7"}
        assert place.gpuaas("instance", "delete", "unread", "--yes", "--wait").code == 0


@contextmanager
def runbook(text: str) -> Iterator[str]:
    """A page on loopback."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/runbook"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
