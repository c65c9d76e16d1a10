"""The command line as people and scripts use it: real processes on a served platform."""

import csv
import io
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from cli_site import BIN, EMAIL, HOST_KEY, PASSWORD, Site
from eventually import eventually_sync

pytestmark = pytest.mark.integration


@pytest.fixture
def instance(site: Site) -> Iterator[str]:
    """A running instance on n1; gone afterwards."""
    deploy = ("deploy", "template", "--name", "typed", "--set", "gateway_allocation_id=n1")
    said = site.gpuaas(*deploy, "--wait")
    assert said.code == 0, said.err
    yield "typed"
    assert site.gpuaas("instance", "delete", "typed", "--yes", "--wait").code == 0


def test_signing_in_keeps_a_token_and_no_password(site: Site) -> None:
    kept = site.folder / "config" / "gpuaas" / "contexts.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert PASSWORD not in kept.read_text()
    assert site.done("whoami")["email"] == EMAIL


def test_signing_out_ends_the_token(site: Site) -> None:
    how = ("--url", site.url, "--email", EMAIL, "--password-file", "-", "--name", "brief")
    before = site.done("context", "show")["name"]
    assert site.gpuaas("login", *how, stdin=f"{PASSWORD}\n").code == 0
    kept = json.loads((site.folder / "config" / "gpuaas" / "contexts.json").read_text())
    token = kept["contexts"]["brief"]["token"]
    assert site.gpuaas("logout", "brief").code == 0
    assert site.gpuaas("whoami", GPUAAS_URL=site.url, GPUAAS_TOKEN=token).code == 3
    assert site.gpuaas("context", "use", before).code == 0


def test_a_service_account_signs_in_by_its_key(site: Site) -> None:
    before = site.done("context", "show")["name"]
    key = ("--key-file", "operator.key", "--url", site.url, "--name", "robot")
    said = site.gpuaas("login", *key)
    assert said.code == 0, said.err
    assert site.done("context", "show")["project"] == site.ids["project"]
    assert site.done("whoami")["kind"] == "service_account"
    assert site.gpuaas("tenant", "create", "--name", "mine").code == 3
    assert site.gpuaas("context", "use", before).code == 0


def test_the_whole_workflow(site: Site, instance: str) -> None:
    shown = site.gpuaas("instance", "show", instance)
    assert "running" in shown.out
    assert "Add servers" in shown.out
    added = site.gpuaas("member", "add", instance, "n2", "n3", "--wait")
    assert added.code == 0, added.err
    assert "add_server succeeded" in added.err
    members = site.done("member", "list", instance)
    second = next(one["id"] for one in members if one["allocation_id"] == site.ids["n2"])
    for verb in ("drain", "resume"):
        assert site.gpuaas("worker", verb, second, "--wait").code == 0
    refused = site.gpuaas("worker", "remove", second)
    assert refused.code == 1
    assert "say --yes" in refused.err
    assert site.gpuaas("worker", "remove", second, "--yes", "--wait").code == 0
    for kind in ("stop", "start"):
        assert site.gpuaas("instance", "run", instance, kind, "--wait").code == 0
    before = site.done("op", "list", instance)
    dry = site.done("instance", "run", instance, "stop", "--dry-run")
    assert dry["operations"] == 1
    assert site.done("op", "list", instance) == before


def test_a_failed_operation_is_exit_code_six_with_the_ways_out(site: Site, instance: str) -> None:
    machines = site.folder / "state" / "machines"
    silent = machines / f"{site.ids['n4']}.unreachable"
    silent.touch()
    try:
        asked = site.done("member", "add", instance, "n4")
        operation = asked[0]["id"]
        wait_for_step(site, operation)
        assert site.gpuaas("op", "cancel", operation).code == 0
        ended = site.gpuaas("op", "watch", operation)
        assert ended.code == 6
        assert operation in ended.err
        assert asked[0]["correlation_id"] in ended.err
    finally:
        silent.unlink()


def wait_for_step(site: Site, operation: str) -> None:
    """Until the controller has met the silent machine."""

    def failed() -> bool:
        return site.done("op", "show", operation)["error"] is not None

    eventually_sync(failed, within=200, what="the operation meets an error")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["instance", "show", "inst_01nothere0000000000000000"], 4, "not_found"),
        (["instance", "show", "nothere"], 4, "`gpuaas instance list`"),
        (["ssh", "alloc_01nothere0000000000000000", "true"], 4, "check the name or id"),
        (["tenant", "create", "--name", "acme"], 5, "name_taken"),
        (["allocation", "create", "--name", "x"], 1, "--region"),
        (["region", "create", "--name", "UPPER", "--display-name", "x"], 1, "/name"),
        (["status", "--url", "http://127.0.0.1:9"], 2, "does not answer"),
        (["deploy", "template", "--no-input"], 1, "gateway_allocation_id"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_every_kind_of_failure_has_its_exit_code(
    site: Site, words: list[str], code: int, said: str
) -> None:
    ended = site.gpuaas(*words)
    assert ended.code == code, ended.err
    assert said in ended.err


def test_errors_tell_the_correlation_id_that_was_given(site: Site) -> None:
    said = site.gpuaas("tenant", "create", "--name", "acme", "--correlation-id", "cor_mine.1")
    assert "correlation id: cor_mine.1" in said.err
    assert "next: choose other name" in said.err


def test_a_repeat_with_the_same_key_changes_nothing(site: Site) -> None:
    words = ("region", "create", "--name", "south", "--display-name", "South")
    key = ("--idempotency-key", "a-key-of-sixteen-letters")
    assert site.done(*words, *key)["id"] == site.done(*words, *key)["id"]
    assert site.gpuaas(*words).code == 5


def test_a_dry_run_asks_nothing(site: Site) -> None:
    said = site.gpuaas("region", "create", "--name", "west", "--display-name", "W", "--dry-run")
    assert said.out.startswith("POST /api/v1/regions\n")
    asked = site.done("region", "create", "--name", "west", "--display-name", "W", "--dry-run")
    assert (asked["method"], asked["body"]["name"]) == ("POST", "west")
    assert "west" not in {one["name"] for one in site.done("region", "list")}


def test_every_form_of_a_list(site: Site) -> None:
    rows = site.done("allocation", "list")
    names = {one["name"] for one in rows}
    as_yaml = yaml.safe_load(site.gpuaas("allocation", "list", "-o", "yaml").out)
    as_csv = list(csv.DictReader(io.StringIO(site.gpuaas("allocation", "list", "-o", "csv").out)))
    assert {one["name"] for one in as_yaml} == {one["name"] for one in as_csv} == names
    assert all(name in site.gpuaas("allocation", "list").out for name in names)
    assert "CORRELATION ID" in site.gpuaas("allocation", "list", "-o", "wide").out
    short = site.gpuaas("allocation", "list", "-o", "json", "--limit", "2")
    assert len(short.json()) == 2
    assert "--limit 0 shows all" in short.err
    held = ("--status", "requested", "--status", "active")
    assert {one["name"] for one in site.done("allocation", "list", *held)} == names
    assert site.done("allocation", "list", "--status", "failed") == []
    refused = site.gpuaas("allocation", "list", "--status", "active", "--status", "gone")
    assert (refused.code, "released" in refused.err) == (1, True)


def test_a_list_of_every_project_also_where_the_path_names_one(site: Site) -> None:
    there = site.done("project", "create", "--name", "beside")["id"]
    account = ("service-account", "create", "--name", "other", "--roles", "app_operator")
    site.done(*account, "--project", "beside")
    every = site.done("service-account", "list", "--project", "*")
    assert {site.ids["project"], there} <= {one["project_id"] for one in every}
    short = site.gpuaas("service-account", "list", "--project", "*", "--limit", "1", "-o", "json")
    assert len(short.json()) == 1
    assert "the first 1;" in short.err


def test_a_file_and_standard_input_are_bodies(site: Site) -> None:
    (site.folder / "region.yaml").write_text("name: east\ndisplay_name: East\n")
    assert site.done("region", "create", "-f", "region.yaml")["name"] == "east"
    said = site.gpuaas(
        "region", "create", "-f", "-", "-o", "json", stdin='{"name":"mid","display_name":"Mid"}'
    )
    assert said.json()["name"] == "mid"


def test_a_watched_list_shows_changes_as_they_happen(site: Site) -> None:
    watching = site.process("gpuaas", "allocation", "list", "--watch", "-o", "json")
    try:
        assert watching.stdout is not None
        first = json.loads(watching.stdout.readline())
        spare = site.done("node", "create", "--name", "spare", "--region", "north", "--sku",
                          "small", "--address", "spare.lab", "--host-keys",
                          HOST_KEY)  # fmt: skip
        made = site.done("allocation", "create", "--name", "spare", "--sku", "small",
                         "--region", "north")  # fmt: skip
        assert spare["id"]
        new: set[str] = set()
        while not new:  # what else changes of those there are is shown too
            later = json.loads(watching.stdout.readline())
            new = {one["id"] for one in later} - {one["id"] for one in first}
        assert new == {made["id"]}
    finally:
        watching.send_signal(signal.SIGINT)
        watching.communicate(timeout=30)
    assert site.gpuaas("allocation", "release", made["id"], "--yes").code == 0


def test_events_stream_until_interrupted(site: Site) -> None:
    stream = site.process("gpuaas", "event", "stream", "--type", "capacity", "--after", "0")
    try:
        assert stream.stdout is not None
        assert "capacity.allocation" in stream.stdout.readline()
    finally:
        stream.send_signal(signal.SIGINT)
        stream.communicate(timeout=30)
    assert stream.returncode == 130


def test_a_reader_that_leaves_early_is_no_failure_of_ours(site: Site) -> None:
    shell = f"{BIN}/gpuaas permission list -o json | head -1"
    done = subprocess.run(
        ["bash", "-c", shell], env=site.environment(), capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr


def test_the_api_itself(site: Site) -> None:
    assert site.gpuaas("api", "GET", "/version").json()["version"]
    body = json.dumps({"name": "far", "display_name": "Far"})
    assert site.gpuaas("api", "POST", "/regions", "--body", body).json()["name"] == "far"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_are_scripts_of_their_shell(site: Site, shell: str, tmp_path: Path) -> None:
    script = tmp_path / "completion"
    script.write_text(site.gpuaas("completion", shell).out)
    if os.access(f"/usr/bin/{shell}", os.X_OK) or os.access(f"/bin/{shell}", os.X_OK):
        subprocess.run([shell, "-n", str(script)], check=True)
    # It asks the program, whose answer is the same for every shell.
    assert "__complete" in script.read_text()
    assert site.gpuaas("__complete", "alloc").out.partition("\t")[0] == "allocation"


def test_a_file_is_published(site: Site) -> None:
    site.done("artifact-source", "create", "--name", "base")
    (site.folder / "tools.tar").write_bytes(b"x" * 100_000)
    words = ("artifact", "publish", "tools.tar", "--source", "base", "--name", "tools")
    made = site.done(*words, "--version", "1.4.2")
    assert made["status"] == "published"
    assert site.done(*words, "--version", "1.4.2")["id"] == made["id"]
    missing = site.gpuaas("artifact", "publish", "nope", *words[3:], "--version", "2.0.0")
    assert (missing.code, missing.err) == (1, "error: nope is not a file\n")


def test_a_host_is_invited(site: Site) -> None:
    words = ("node", "enroll", "gpu-7", "--region", "north", "--sku", "small")
    said = site.gpuaas(*words, "--platform-url", site.url)
    assert said.code == 0, said.err
    assert "gpuaas-agent" in said.out
    assert "pending" in site.gpuaas("enrolment", "list", "--field", "status").out
    late = site.gpuaas("node", "enroll", "gpu-8", *words[3:], "--wait", "--timeout", "1")
    assert late.code == 1
    assert "stays open" in late.err
