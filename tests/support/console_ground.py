"""A whole site for the browser: a served platform with the console, people, machines to hold, and
the template app with its real controller as a process of its own.

Made once for the browser tests, through the public API, as an administrator would make it.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx2
from eventually import eventually_sync
from served_platform import ServedPlatform, served

CONSOLE = Path(__file__).parents[2] / "console" / "dist"
PASSWORD = "correct horse battery staple"
ADMIN = "root@example.org"
OWNER = "olga@acme.example"
MEMBER = "mika@acme.example"
HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ"
BIN = Path(sys.executable).parent


class Api:
    """One person's session with the platform, spoken as the console speaks it."""

    def __init__(self, url: str, email: str) -> None:
        self._http = httpx2.Client(base_url=url, timeout=30)
        made = self._http.post("/sessions", json={"email": email, "password": PASSWORD})
        assert made.status_code < 300, made.text

    def get(self, path: str) -> Any:
        answer = self._http.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def send(self, method: str, path: str, body: Any = None) -> httpx2.Response:
        headers = {"X-CSRF-Token": self._http.cookies["gpuaas_csrf"]}
        return self._http.request(method, path, json=body, headers=headers)

    def made(self, path: str, body: Any = None) -> dict[str, Any]:
        answer = self.send("POST", path, body)
        assert answer.status_code < 300, answer.text
        return dict(answer.json())

    def close(self) -> None:
        self._http.close()


@dataclass
class Ground:
    """The site: where it is, who is there, and the folder the app's machines are."""

    platform: ServedPlatform
    folder: Path
    admin: Api
    tenant_id: str
    project_id: str
    key_file: Path
    allocations: dict[str, str] = field(default_factory=dict)

    @property
    def home(self) -> str:
        """Where the console is."""
        return self.platform.url.removesuffix("/api/v1")

    def hold(self, *names: str, sku: str = "small", project_id: str | None = None) -> None:
        """A node and, on it, an allocation of the project, for each name."""
        owner = project_id or self.project_id
        for name in names:
            node = {"name": name, "region": "north", "sku": sku, "address": f"{name}.lab"}
            self.admin.made("/nodes", node | {"host_keys": [HOST_KEY]})
            held = {"name": name, "sku": sku, "region": "north"}
            made = self.admin.made(f"/projects/{owner}/allocations", held)
            self.allocations[name] = made["id"]

    def deploy(self, name: str, machine: str) -> dict[str, Any]:
        """An instance of the template app on a machine that is held, once it is healthy."""
        made = self.place(name, machine)

        def healthy() -> bool:
            made.update(self.admin.get(f"/app-instances/{made['id']}"))
            return bool(made["health"] == "healthy")

        eventually_sync(healthy, what=f"{name} is healthy")
        return made

    def place(
        self, name: str, machine: str, slug: str = "template", version: str | None = None
    ) -> dict[str, Any]:
        """The same, asked for and not waited for."""
        placed = {
            "gateway_allocation_id": self.allocations[machine],
            "server_placement": "same_node",
        }
        body = {"app_slug": slug, "version": version, "name": name, "settings": placed}
        path = f"/projects/{self.project_id}/app-instances"
        return dict(self.admin.made(path, body)["instance"])

    def silence(self, name: str) -> None:
        """Make a machine stop answering the app."""
        (self._machines / f"{self.allocations[name]}.unreachable").touch()

    def wake(self, name: str) -> None:
        """Let it answer again."""
        (self._machines / f"{self.allocations[name]}.unreachable").unlink()

    def occupy(self, name: str, component: str, owner: str = "somebody-else") -> None:
        """Leave something of a stranger on a machine, or give it to an instance."""
        place = self._machines / self.allocations[name] / component
        place.mkdir(parents=True, exist_ok=True)
        (place / "owner").write_text(owner)

    def clear(self, name: str) -> None:
        """Take it away again."""
        for path in sorted((self._machines / self.allocations[name]).rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()

    @property
    def _machines(self) -> Path:
        return self.folder / "state" / "machines"

    @contextmanager
    def controller(self, slug: str = "template") -> Iterator[None]:
        """The app's controller, as its team runs it."""
        command = [
            str(BIN / "gpuaas-template"), "controller", "--url", self.home, "--slug", slug,
            "--key-file", str(self.key_file), "--state", str(self.folder / "state"),
        ]  # fmt: skip
        with (self.folder / f"{slug}.log").open("ab") as log:
            process = subprocess.Popen(command, stderr=log)
        try:
            yield
        finally:
            process.terminate()
            process.wait(30)


@contextmanager
def ground(**settings: str) -> Iterator[Ground]:
    """The site, for the length of a block."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gpuaas-console-")))
        folder.chmod(0o711)
        (folder / "password").write_text(PASSWORD)
        # A copy: whoever builds the console meanwhile does not pull the rug away.
        shutil.copytree(CONSOLE, folder / "console")
        platform = stack.enter_context(
            served(
                DATA_DIR=str(folder / "data"),
                CONSOLE_DIR=str(folder / "console"),
                BOOTSTRAP_ADMIN_EMAIL=ADMIN,
                BOOTSTRAP_ADMIN_PASSWORD_FILE=str(folder / "password"),
                **settings,
            )
        )
        platform.await_listening()
        admin = Api(platform.url, ADMIN)
        stack.callback(admin.close)
        site = _furnished(platform, folder, admin)
        stack.enter_context(site.controller())
        yield site
        platform.stop()


def _furnished(platform: ServedPlatform, folder: Path, admin: Api) -> Ground:
    tenant = admin.made("/tenants", {"name": "acme", "display_name": "Acme Research"})
    org = tenant["id"]
    project = admin.made(f"/tenants/{org}/projects", {"name": "vision", "display_name": "Vision"})
    admin.made("/admin/break-glass", {"org_id": org, "reason": "setting up the site of a test"})
    for email, name, role in (
        (OWNER, "Olga Owner", "project_admin"),
        (MEMBER, "Mika Member", "project_member"),
    ):
        admin.made(
            f"/tenants/{org}/users",
            {"email": email, "display_name": name, "password": PASSWORD},
        )
        scope = {"kind": "project", "org_id": org, "project_id": project["id"]}
        admin.made("/role-bindings", {"email": email, "role": role, "scope": scope})
    admin.made("/regions", {"name": "north", "display_name": "North"})
    _kinds(admin)
    account = admin.made(
        f"/projects/{project['id']}/service-accounts",
        {"name": "operator", "roles": ["app_operator"]},
    )
    key = admin.made(f"/service-accounts/{account['id']}/keys", {})
    key_file = folder / "key"
    key_file.write_text(key["secret"])
    (folder / "state" / "machines").mkdir(parents=True)
    site = Ground(platform, folder, admin, org, project["id"], key_file)
    publish(site, "template", template_manifest())
    return site


def _kinds(admin: Api) -> None:
    small = {"display_name": "Small", "cpus": 16, "memory_mib": 65536, "price_per_hour": "0.5"}
    admin.made("/skus", {"name": "small", **small})
    large = {
        "display_name": "Eight H200", "cpus": 192, "memory_mib": 2097152,
        "gpus": 8, "gpu_model": "H200", "price_per_hour": "21.4",
    }  # fmt: skip
    admin.made("/skus", {"name": "h200-8", **large})


def template_manifest() -> dict[str, Any]:
    """The manifest of the template app, as it is published."""
    text = files("gpuaas_template").joinpath("manifest.json").read_text()
    return dict(json.loads(text))


def publish(site: Ground, slug: str, manifest: dict[str, Any], version: str = "1.4.2") -> None:
    """Put an app into the catalog and entitle the project to it."""
    names = {"template": "Web service", "ledger": "Ledger"}
    site.admin.made(
        "/apps",
        {
            "slug": slug,
            "display_name": names.get(slug, slug),
            "publisher": "Example Apps",
            "kind_label": "service",
            "description": manifest["summary"],
        },
    )
    body = {"version": version, "manifest": manifest, "publish": True}
    site.admin.made(f"/apps/{slug}/versions", body)
    for scope in (f"tenants/{site.tenant_id}", f"projects/{site.project_id}"):
        site.admin.made(f"/{scope}/entitlements", {"app_slug": slug})
