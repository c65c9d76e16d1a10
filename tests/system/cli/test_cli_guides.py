"""Every command of every guide and runbook is run, in order, on a real platform.

A block marked `sh` is run as it stands, one page in one shell; `console` blocks show what a reader
adapts. A runbook's commands run in the very trouble it is for.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import broken_app
import pytest
from cli_site import EMAIL, HOST_KEY, PASSWORD, Site, furnish, served_site
from eventually import eventually_sync
from guide_page import DOCS, Typist, page_blocks

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]
GUIDES = ("cli", "operator", "tenant-admin", "service-accounts", "composition", "integration")


def run_page(site: Site, page: Path, **variables: str) -> str:
    """Run a page's commands in one shell that stops at the first failure; what was said."""
    commands = "\n".join(page_blocks(page.read_text()))
    given = {"URL": site.url, "EMAIL": EMAIL, "HOST_KEY": HOST_KEY} | variables
    return Typist(site.folder, site.environment(**given)).run(page.name, commands)


def test_the_quick_start() -> None:
    with served_site() as site:
        (site.folder / "password").write_text(PASSWORD)
        said = run_page(site, DOCS / "guides" / "quick-start.md")
        assert "running" in said
        live = [one for one in site.done("instance", "list") if one["status"] != "deleted"]
        assert live == []


@pytest.fixture(scope="module")
def place() -> Iterator[Site]:
    """A platform as the quick start leaves it."""
    with served_site() as made:
        furnish(made)
        yield made


@pytest.mark.parametrize("guide", GUIDES)
def test_a_guide(place: Site, guide: str) -> None:
    before = place.done("context", "show")["name"]
    with place.controller():
        run_page(place, DOCS / "guides" / f"{guide}.md")
    assert place.gpuaas("context", "use", before).code == 0


def deploy(site: Site, name: str, machine: str) -> dict[str, str]:
    """An instance asked for, and its operation, as the runbooks name them."""
    words = ("deploy", "template", "--name", name, "--set", f"gateway_allocation_id={machine}")
    asked = site.done(*words)
    return {"INSTANCE": name, "OPERATION": asked["last_operation_id"]}


@contextmanager
def silent(site: Site, machine: str, state: str = "state") -> Iterator[None]:
    """A machine that does not answer."""
    mark = site.folder / state / "machines" / f"{site.ids[machine]}.unreachable"
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.touch()
    try:
        yield
    finally:
        mark.unlink()


def until_error(site: Site, operation: str) -> None:
    """Until an attempt has failed."""

    def failed() -> str:
        return site.gpuaas("op", "show", operation, "--field", "error").out.strip()

    eventually_sync(failed, within=240, what="an attempt fails")


def test_stuck_deploying(place: Site) -> None:
    with place.controller():
        with silent(place, "n1"):
            given = deploy(place, "stuck", "n1")
            until_error(place, given["OPERATION"])
            said = run_page(place, DOCS / "runbooks" / "stuck-deploying.md", **given)
            assert "machine_unreachable" in said
        wait_deleted(place, "stuck")


@pytest.mark.parametrize("page", ["operation-not-advancing", "controller-absent"])
def test_nobody_at_work(place: Site, page: str) -> None:
    name = "idle" if page == "operation-not-advancing" else "absent"
    given = deploy(place, name, "n2")
    found = place.done("op", "show", given["OPERATION"])
    assert found["status"] in {"requested", "accepted"}, found["status"]
    with place.controller():
        run_page(place, DOCS / "runbooks" / f"{page}.md", **given)
        assert place.gpuaas("instance", "delete", name, "--yes", "--wait").code == 0


def test_node_cleaning(place: Site) -> None:
    place.done("region-cleaning", "set", "north", "--method", "attested")
    try:
        host = ("--region", "north", "--sku", "small", "--address", "wiped.example")
        place.done("node", "create", "--name", "wiped", *host, "--host-keys", HOST_KEY)
        place.done("node", "clean", "wiped")
        given = {"NODE": "wiped", "NEW_HOST_KEY": HOST_KEY[:-1] + "K"}
        given["CLEANING"] = until_cleaning(place, "wiping")
        run_page(place, DOCS / "runbooks" / "node-cleaning.md", **given)
        assert until_cleaning(place, "succeeded") == given["CLEANING"]
        assert place.done("node", "show", "wiped")["status"] == "ready"
    finally:
        place.done("region-cleaning", "set", "north", "--method", "same_tenant_only")


def until_cleaning(site: Site, status: str) -> str:
    """The newest cleaning's id once it is in this state."""

    def found() -> str:
        newest = site.done("cleaning", "list")[:1]
        return "".join(one["id"] for one in newest if one["status"] == status)

    return eventually_sync(found, within=240, what=f"a cleaning that is {status}")


def test_cleanup_blocked(place: Site) -> None:
    with untidy(place):
        given = deploy(place, "blocked", "n3")
        assert place.gpuaas("op", "watch", given["OPERATION"]).code == 0
        assert place.gpuaas("member", "add", "blocked", "n4", "--wait").code == 0
        place.gpuaas("member", "remove", "blocked/n4", "--yes", "--wait")
        (given["MEMBER"],) = place.gpuaas(
            "member", "list", "blocked", "--status", "cleanup_blocked", "--field", "id"
        ).out.split()
    with place.controller(state="untidy"):
        said = run_page(place, DOCS / "runbooks" / "cleanup-blocked.md", **given)
        assert said.rstrip().endswith("deleted")


def test_machine_unreachable(place: Site) -> None:
    with ExitStack() as stack:
        stack.enter_context(place.controller())
        given = deploy(place, "cut", "n4")
        assert place.gpuaas("op", "watch", given["OPERATION"]).code == 0
        with silent(place, "n5"):
            given["OPERATION"] = place.done("member", "add", "cut", "n5")[0]["id"]
            until_error(place, given["OPERATION"])
            run_page(place, DOCS / "runbooks" / "machine-unreachable.md", **given)
        assert place.gpuaas("instance", "delete", "cut", "--yes", "--wait").code == 0


def test_expired_access(place: Site) -> None:
    run_page(place, DOCS / "runbooks" / "expired-access.md")
    with place.controller():
        given = deploy(place, "renewed", "n6")
        assert place.gpuaas("op", "watch", given["OPERATION"]).code == 0
        assert place.gpuaas("instance", "delete", "renewed", "--yes", "--wait").code == 0


def test_every_page_is_run() -> None:
    pages = {path.stem for path in (DOCS / "runbooks").glob("*.md")} - {"README"}
    tested = Path(__file__).read_text()
    assert [page for page in sorted(pages) if f'"{page}' not in tested] == []
    assert [name for name in GUIDES if not (DOCS / "guides" / f"{name}.md").exists()] == []


def wait_deleted(site: Site, name: str) -> None:
    """Until a decommission that was asked for has ended; its machine answers again."""
    found = site.done("instance", "show", name)
    assert site.gpuaas("op", "watch", found["last_operation_id"], "--timeout", "200").code == 0


@contextmanager
def untidy(site: Site) -> Iterator[None]:
    """A controller that removes members without cleaning their machines."""
    (site.folder / "untidy" / "machines").mkdir(parents=True)
    script = str(Path(broken_app.__file__))
    words = [sys.executable, script, "untidy", site.url, "operator.key", "untidy"]
    with (site.folder / "untidy.log").open("ab") as log:
        process = subprocess.Popen(words, cwd=site.folder, env=site.environment(), stderr=log)
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)
