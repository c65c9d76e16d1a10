"""The template's controller as people run it: processes, a served platform, a real key, kill -9."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx2
import pytest
from eventually import eventually

pytestmark = pytest.mark.integration

BIN = Path(sys.executable).parent
EMAIL, PASSWORD = "admin@example.test", "correct horse battery staple"
INSTANCES = 6


@dataclass
class Site:
    """A served platform with the app in its catalog, and an administrator in a session."""

    http: httpx2.AsyncClient
    url: str
    folder: Path
    project_id: str = ""

    async def made(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        headers = {"X-CSRF-Token": self.http.cookies["gpuaas_csrf"]}
        answer = await self.http.post(path, json=body, headers=headers)
        assert answer.status_code < 300, answer.text
        return dict(answer.json())

    async def removed(self, path: str) -> None:
        headers = {"X-CSRF-Token": self.http.cookies["gpuaas_csrf"]}
        answer = await self.http.delete(path, headers=headers)
        assert answer.status_code == 202, answer.text

    async def statuses(self) -> list[str]:
        answer = await self.http.get(f"/projects/{self.project_id}/app-instances")
        return [one["status"] for one in answer.json()["items"]]

    async def until(self, status: str, least: int) -> None:
        async def reached() -> bool:
            return (await self.statuses()).count(status) >= least

        await eventually(reached, within=150, what=f"{least} that are {status}")

    @contextmanager
    def controller(self) -> Iterator["subprocess.Popen[bytes]"]:
        command = [
            str(BIN / "gpuaas-template"), "controller", "--url", self.url,
            "--key-file", str(self.folder / "key"), "--state", str(self.folder / "state"),
            "--slots", "2", "--lease-seconds", "5",
        ]  # fmt: skip
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(command, stderr=log)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.wait(30)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """A platform process on an embedded database; its address."""
    folder = Path(tempfile.mkdtemp(prefix="gpuaas-served-"))  # the database's user must enter it
    folder.chmod(0o711)
    (tmp_path / "password").write_text(PASSWORD)
    clean = {k: v for k, v in os.environ.items() if not k.startswith("GPUAAS_")}
    settings = {
        "GPUAAS_PORT": "0",
        "GPUAAS_LOG_LEVEL": "warning",
        "GPUAAS_DATA_DIR": str(folder),
        "GPUAAS_BOOTSTRAP_ADMIN_EMAIL": EMAIL,
        "GPUAAS_BOOTSTRAP_ADMIN_PASSWORD_FILE": str(tmp_path / "password"),
    }
    process = subprocess.Popen(
        [str(BIN / "gpuaas-platform"), "serve"],
        env=clean | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    try:
        said = []
        for line in process.stdout:
            said.append(line)
            if " on http://" in line:
                break
        else:
            raise AssertionError(f"the platform ended: {''.join(said)}")
        yield said[-1].rsplit(" ", 1)[1].strip()
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()
        shutil.rmtree(folder)


@pytest.fixture
async def site(served: str, tmp_path: Path) -> AsyncIterator[Site]:
    async with httpx2.AsyncClient(base_url=f"{served}/api/v1", timeout=30) as http:
        await eventually(lambda: _ready(http), within=120, what="the platform is ready")
        session = await http.post("/sessions", json={"email": EMAIL, "password": PASSWORD})
        assert session.status_code < 300, session.text
        made = Site(http, served, tmp_path)
        await _furnish(made)
        yield made


async def test_a_killed_controller_is_succeeded_by_another_and_nothing_is_left(site: Site) -> None:
    with site.controller() as first:
        await site.until("running", 1)
        first.send_signal(signal.SIGKILL)
        first.wait(30)
    with site.controller() as second:
        await site.until("running", INSTANCES)
        listed = await site.http.get(f"/projects/{site.project_id}/app-instances")
        for one in listed.json()["items"]:
            assert one["health"] == "healthy"
            await site.removed(f"/app-instances/{one['id']}")
        await site.until("deleted", INSTANCES)
        second.send_signal(signal.SIGTERM)
        assert second.wait(60) == 0
    machines = site.folder / "state" / "machines"
    assert [path for path in machines.rglob("*") if path.is_file()] == []


async def _ready(http: httpx2.AsyncClient) -> bool:
    try:
        return (await http.get("/health/ready")).status_code == 200
    except httpx2.TransportError:
        return False


async def _furnish(site: Site) -> None:
    manifest = files("gpuaas_template").joinpath("manifest.json").read_text()
    tenant = await site.made("/tenants", {"name": "acme"})
    project = await site.made(f"/tenants/{tenant['id']}/projects", {"name": "research"})
    site.project_id = project["id"]
    why = {"org_id": tenant["id"], "reason": "setting up the site of a test"}
    await site.made("/admin/break-glass", why)
    sku = {"display_name": "Small", "cpus": 2, "memory_mib": 4096, "price_per_hour": "0.5"}
    await site.made("/regions", {"name": "north", "display_name": "North"})
    await site.made("/skus", {"name": "small", **sku})
    app = {"slug": "template", "display_name": "Template", "publisher": "Tests"}
    await site.made("/apps", app)
    version = {"version": "1.4.2", "manifest": json.loads(manifest), "publish": True}
    await site.made("/apps/template/versions", version)
    for scope in (f"tenants/{tenant['id']}", f"projects/{project['id']}"):
        await site.made(f"/{scope}/entitlements", {"app_slug": "template"})
    robot = {"name": "operator", "roles": ["app_operator"]}
    account = await site.made(f"/projects/{project['id']}/service-accounts", robot)
    key = await site.made(f"/service-accounts/{account['id']}/keys", {})
    (site.folder / "key").write_text(key["secret"])
    for number in range(INSTANCES):
        await _deployed(site, f"n{number}")


async def _deployed(site: Site, name: str) -> None:
    node = {"name": name, "region": "north", "sku": "small", "address": f"{name}.lab"}
    await site.made("/nodes", node | {"host_keys": ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ"]})
    held = {"name": name, "sku": "small", "region": "north"}
    allocation = await site.made(f"/projects/{site.project_id}/allocations", held)
    settings = {"gateway_allocation_id": allocation["id"], "server_placement": "same_node"}
    body = {"app_slug": "template", "name": name, "settings": settings}
    await site.made(f"/projects/{site.project_id}/app-instances", body)
