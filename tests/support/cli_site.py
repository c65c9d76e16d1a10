"""A served platform set up by the command line alone, with an app's controller beside it.

Real processes: `gpuaas-platform serve` on an embedded database, `gpuaas-template controller`, and
`gpuaas` for everything a person would type. Used by the tests of the command line and its guides.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eventually import eventually_sync

BIN = Path(sys.executable).parent
EMAIL, PASSWORD = "admin@example.test", "correct horse battery staple"
PATIENCE = 240.0
HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIG" + "A" * 42


@dataclass(frozen=True)
class Said:
    """What a command said and how it ended."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Standard output, read as JSON."""
        return json.loads(self.out)


@dataclass
class Site:
    """A platform, a folder to work in, and whoever types there."""

    url: str
    folder: Path
    ids: dict[str, str] = field(default_factory=dict)
    patience: float = PATIENCE

    def environment(self, **more: str) -> dict[str, str]:
        """What a command sees: no variable of ours but what is given."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("GPUAAS_", "XDG_"))}
        home = {"HOME": str(self.folder), "XDG_CONFIG_HOME": str(self.folder / "config")}
        return clean | home | {"PATH": f"{BIN}:{clean['PATH']}", "COLUMNS": "200"} | more

    def gpuaas(self, *words: str, stdin: str | None = None, **more: str) -> Said:
        """Run a command line as it would be typed."""
        done = subprocess.run(
            [str(BIN / "gpuaas"), *words],
            cwd=self.folder,
            env=self.environment(**more),
            input=stdin if stdin is not None else "",
            capture_output=True,
            text=True,
            check=False,
            timeout=self.patience,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def done(self, *words: str, **more: str) -> Any:
        """Run a command that must succeed; its answer as JSON."""
        said = self.gpuaas(*words, "-o", "json", **more)
        assert said.code == 0, f"gpuaas {' '.join(words)}: {said.code}\n{said.out}{said.err}"
        return said.json() if said.out.strip() else None

    def process(self, *words: str, **more: str) -> subprocess.Popen[str]:
        """A command line that goes on."""
        return subprocess.Popen(
            [str(BIN / words[0]), *words[1:]],
            cwd=self.folder,
            env=self.environment(**more),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @contextmanager
    def controller(self, *options: str, state: str = "state") -> Iterator[subprocess.Popen[bytes]]:
        """The template app's controller, at work for the length of a block."""
        command = [
            str(BIN / "gpuaas-template"), "controller", "--url", self.url,
            "--key-file", str(self.folder / "operator.key"), "--state", str(self.folder / state),
            "--lease-seconds", "5", *options,
        ]  # fmt: skip
        (self.folder / state / "machines").mkdir(parents=True, exist_ok=True)
        with (self.folder / "controller.log").open("ab") as log:
            process = subprocess.Popen(command, stderr=log, env=self.environment())
        try:
            yield process
        finally:
            process.terminate()
            process.wait(60)


@contextmanager
def served_site(**settings: str) -> Iterator[Site]:
    """A platform process with an administrator, and an empty folder to type in."""
    data = Path(tempfile.mkdtemp(prefix="gpuaas-served-"))
    data.chmod(0o711)  # the database's own user must enter it
    folder = Path(tempfile.mkdtemp(prefix="gpuaas-typing-"))
    (folder / "password").write_text(PASSWORD)
    clean = {k: v for k, v in os.environ.items() if not k.startswith("GPUAAS_")}
    environment = {
        "GPUAAS_PORT": "0",
        "GPUAAS_LOG_LEVEL": "warning",
        "GPUAAS_DATA_DIR": str(data),
        "GPUAAS_BOOTSTRAP_ADMIN_EMAIL": EMAIL,
        "GPUAAS_BOOTSTRAP_ADMIN_PASSWORD_FILE": str(folder / "password"),
        **settings,
    }
    process = subprocess.Popen(
        [str(BIN / "gpuaas-platform"), "serve"],
        env=clean | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield Site(listening(process), folder)
    finally:
        process.terminate()
        process.wait(60)
        assert process.stdout is not None
        process.stdout.close()
        shutil.rmtree(data)
        shutil.rmtree(folder)


def listening(process: subprocess.Popen[str]) -> str:
    """Where a platform that was started listens, as soon as it is ready."""
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if " on http://" in line:
            url = line.rsplit(" ", 1)[1].strip()
            _await_ready(url)
            return url
    raise AssertionError(f"the platform ended: {''.join(said)}")


def furnish(site: Site, machines: int = 6) -> None:
    """Everything a project needs, typed: tenant, machines, the template app, its operator's key."""
    said = site.gpuaas(
        "login", "--url", site.url, "--email", EMAIL, "--password-file", "password",
        "--name", "admin",
    )  # fmt: skip
    assert said.code == 0, said.err
    me = site.done("whoami")
    tenant = site.done("tenant", "create", "--name", "acme", "--admin-user-id", me["id"])
    assert site.gpuaas("context", "set", "--tenant", "acme").code == 0
    project = site.done("project", "create", "--name", "research")
    site.ids |= {"me": me["id"], "tenant": tenant["id"], "project": project["id"]}
    assert site.gpuaas("context", "set", "--project", "research").code == 0
    site.done("region", "create", "--name", "north", "--display-name", "North")
    price = ("--cpus", "2", "--memory-mib", "4096", "--price-per-hour", "0.5")
    site.done("sku", "create", "--name", "small", "--display-name", "Small", *price)
    app_publish(site, "template")
    account = site.done(
        "service-account", "create", "--name", "operator", "--roles", "app_operator"
    )
    key = site.done("service-account-key", "create", account["id"])
    (site.folder / "operator.key").write_text(key["secret"])
    (site.folder / "operator.key").chmod(0o600)
    site.ids["operator"] = account["id"]
    for number in range(1, machines + 1):
        machine_add(site, f"n{number}")


def app_publish(site: Site, slug: str, **changes: Any) -> None:
    """The template app's manifest under a name, published and entitled."""
    text = subprocess.run(
        [str(BIN / "gpuaas-template"), "manifest"], capture_output=True, text=True, check=True
    ).stdout
    manifest = json.loads(text) | changes
    body = {"version": "1.4.2", "manifest": manifest, "publish": True}
    (site.folder / f"{slug}.json").write_text(json.dumps(body))
    site.done(
        "app", "create", "--slug", slug, "--display-name", slug.title(), "--publisher", "Tests"
    )
    site.done("app-version", "create", slug, "--file", f"{slug}.json")
    site.done("tenant-entitlement", "create", "--app-slug", slug)
    site.done("project-entitlement", "create", "--app-slug", slug)


def machine_add(site: Site, name: str) -> None:
    """A machine of the platform, held by the project."""
    host_key = HOST_KEY
    where = ("--region", "north", "--sku", "small")
    site.done(
        "node", "create", "--name", name, *where, "--address", f"{name}.lab",
        "--host-keys", host_key,
    )  # fmt: skip
    held = site.done("allocation", "create", "--name", name, *where)
    site.ids[name] = held["id"]


def _await_ready(url: str) -> None:
    def ready() -> bool:
        try:
            with urllib.request.urlopen(f"{url}/api/v1/health/ready", timeout=5) as answer:  # noqa: S310 - loopback
                return bool(answer.status == 200)
        except urllib.error.URLError:
            return False

    eventually_sync(ready, what="the platform is ready")
