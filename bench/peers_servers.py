"""The servers that `bench/peers.py` measures: how each is started, filled, asked and ended.

One process each, with what its makers document for production and PostgreSQL by URL, on loopback
alone. Whatever reports home or looks for updates is switched off. Output goes to a file. A server
that is not being measured stands still, so that none is measured in the shadow of another.
"""

from __future__ import annotations

import asyncio
import base64
import ctypes
import json
import os
import secrets
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import asyncpg
import httpx2

from bench.peers_environment import BIN
from bench.peers_load import Ask, request_bytes
from gpuaas_contract.common import CSRF_HEADER, IDEMPOTENCY_HEADER
from gpuaas_contract.identity import CSRF_COOKIE

PAGE = 50
_SEEDED = PAGE + 10
_START_SECONDS = 180
_PR_SET_PDEATHSIG = 1
_EMAIL = "bench@example.test"


@dataclass(frozen=True)
class Server:
    """A server that runs and is filled, and the two things it will be asked."""

    name: str
    address: tuple[str, int]
    asks: tuple[Ask, Ask]
    process: asyncio.subprocess.Process

    def pause(self) -> None:
        """Stand still: use no processor until `resume`."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Go on."""
        self.process.send_signal(signal.SIGCONT)


@dataclass(frozen=True)
class Place:
    """Where a server runs: its folder, its database's URL, its port."""

    folder: Path
    database: str
    port: int

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"


@dataclass(frozen=True)
class Recipe:
    """How to run a server: its command, its settings, and what to do once it answers."""

    name: str
    command: Callable[[Place], list[str]]
    settings: Callable[[Place], dict[str, str]]
    fill: Callable[[Place, httpx2.AsyncClient], Coroutine[Any, Any, tuple[Ask, Ask]]]


@asynccontextmanager
async def server_running(recipe: Recipe, folder: Path, database_url: str) -> AsyncIterator[Server]:
    """A server of its own folder and database, ready and filled, for as long as the block runs."""
    database = await _database(database_url, recipe.name)
    place = Place(folder, database, _free_port())
    with _output(folder) as output:
        process = await asyncio.create_subprocess_exec(
            *recipe.command(place),
            env=_environment(folder) | recipe.settings(place),
            cwd=folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            preexec_fn=_die_with_parent,
        )
    try:
        asks = await _filled(recipe, place, process)
        yield Server(recipe.name, ("127.0.0.1", place.port), asks, process)
    finally:
        await _end(process)


def _ours_command(place: Place) -> list[str]:
    return [str(Path(sys.executable).with_name("gpuaas-platform")), "serve", f"--port={place.port}"]


def _ours_settings(place: Place) -> dict[str, str]:
    password = place.folder / "password"
    password.write_text(secrets.token_urlsafe(24))
    return {
        "GPUAAS_DATABASE_URL": place.database,
        "GPUAAS_DATA_DIR": str(place.folder / "data"),
        # One caller asks for all: it is still counted, and would be refused after 200 a second.
        "GPUAAS_RATE_LIMIT_PER_SECOND": "1000000",
        "GPUAAS_RATE_LIMIT_BURST": "1000000",
        "GPUAAS_BOOTSTRAP_ADMIN_EMAIL": _EMAIL,
        "GPUAAS_BOOTSTRAP_ADMIN_PASSWORD_FILE": str(password),
    }


async def _ours_fill(place: Place, client: httpx2.AsyncClient) -> tuple[Ask, Ask]:
    """Sign in, make a personal token, a tenant and its projects."""
    url = f"{place.url}/api/v1"
    sign_in = {"email": _EMAIL, "password": (place.folder / "password").read_text()}
    session = await _made(client, f"{url}/sessions", sign_in)
    csrf = {CSRF_HEADER: session.cookies[CSRF_COOKIE]}
    token = await _made(client, f"{url}/personal-tokens", {"name": "bench"}, csrf)
    client.cookies.clear()
    headers = {"Authorization": f"Bearer {token.json()['secret']}"}
    tenant = (await _made(client, f"{url}/tenants", {"name": "bench"}, headers)).json()["id"]
    projects = f"/api/v1/tenants/{tenant}/projects"
    for number in range(_SEEDED):
        await _made(client, f"{place.url}{projects}", {"name": f"seed-{number}"}, headers)
    listed = request_bytes("GET", f"/api/v1/projects?limit={PAGE}", headers)

    def create(number: int) -> bytes:
        body = b'{"name":"project-%d"}' % number
        return request_bytes(
            "POST", projects, headers | {IDEMPOTENCY_HEADER: f"bench-{number}"}, body
        )

    return (
        Ask("list", lambda _: listed, _page_of(b'"org_id":')),
        Ask("mutation", create, _created(201, b'"name":"project-')),
    )


def _dstack_settings(place: Place) -> dict[str, str]:
    return {
        "DSTACK_DATABASE_URL": place.database.replace("postgresql://", "postgresql+asyncpg://"),
        "DSTACK_SERVER_DIR": str(place.folder / "server"),
        "DSTACK_SERVER_ADMIN_TOKEN": _secret(place),
        "DSTACK_SERVER_LOG_FORMAT": "json",  # the default draws for a terminal and costs more
        "DSTACK_DO_NOT_UPDATE_DEFAULT_PROJECT": "1",
        "DSTACK_DEFAULT_CREDS_DISABLED": "1",  # no looking for clouds
    }


def _dstack_command(place: Place) -> list[str]:
    return [str(BIN / "dstack"), "server", "--host", "127.0.0.1", "--port", str(place.port)]


async def _dstack_fill(place: Place, client: httpx2.AsyncClient) -> tuple[Ask, Ask]:
    headers = {"Authorization": f"Bearer {_secret(place)}"}
    for number in range(_SEEDED):
        body = {"project_name": f"seed-{number}"}
        await _made(client, f"{place.url}/api/projects/create", body, headers)
    listed = request_bytes(
        "POST", "/api/projects/list", headers, json.dumps({"limit": PAGE}).encode()
    )

    def create(number: int) -> bytes:
        body = b'{"name":"secret-%d","value":"a small value"}' % number
        path = "/api/project/main/secrets/create_or_update"
        return request_bytes("POST", path, headers, body)

    return (
        Ask("list", lambda _: listed, _page_of(b'"project_name":')),
        Ask("mutation", create, _created(200, b'"name":"secret-')),
    )


def _prefect_settings(place: Place) -> dict[str, str]:
    return {
        "PREFECT_HOME": str(place.folder / "home"),
        "PREFECT_SERVER_DATABASE_CONNECTION_URL": place.database.replace(
            "postgresql://", "postgresql+asyncpg://"
        ),
        "PREFECT_SERVER_API_AUTH_STRING": f"bench:{_secret(place)}",
        "PREFECT_API_AUTH_STRING": f"bench:{_secret(place)}",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_UI_ENABLED": "false",
        "DO_NOT_TRACK": "1",
    }


def _prefect_command(place: Place) -> list[str]:
    return [
        *(str(BIN / "prefect"), "server", "start"),
        *("--host", "127.0.0.1", "--port", str(place.port)),
    ]


async def _prefect_fill(place: Place, client: httpx2.AsyncClient) -> tuple[Ask, Ask]:
    words = base64.b64encode(f"bench:{_secret(place)}".encode()).decode()
    headers = {"Authorization": f"Basic {words}"}
    for number in range(_SEEDED):
        await _made(client, f"{place.url}/api/flows/", {"name": f"seed-{number}"}, headers)
    listed = request_bytes(
        "POST", "/api/flows/filter", headers, json.dumps({"limit": PAGE}).encode()
    )

    def create(number: int) -> bytes:
        body = b'{"name":"flow-%d"}' % number
        return request_bytes("POST", "/api/flows/", headers, body)

    return (
        Ask("list", lambda _: listed, _page_of(b'"created":')),
        Ask("mutation", create, _created(201, b'"name":"flow-')),
    )


OURS = Recipe("gpuaas", _ours_command, _ours_settings, _ours_fill)
PEERS = (
    Recipe("dstack", _dstack_command, _dstack_settings, _dstack_fill),
    Recipe("prefect", _prefect_command, _prefect_settings, _prefect_fill),
)


def _page_of(mark: bytes) -> Callable[[int, bytes], bool]:
    """A full page: as many items as were asked for, each told by a field all items have."""
    return lambda status, body: status == 200 and body.count(mark) == PAGE


def _created(wanted: int, mark: bytes) -> Callable[[int, bytes], bool]:
    return lambda status, body: status == wanted and mark in body


async def _database(url: str, name: str) -> str:
    """A database by this name on the server; its URL."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(f'CREATE DATABASE "bench-{name}"')
    finally:
        await connection.close()
    head, _, query = url.partition("?")
    return f"{head.rpartition('/')[0]}/bench-{name}?{query}"


def _environment(folder: Path) -> dict[str, str]:
    """What a server needs of ours, and a home that is thrown away with the rest."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return kept | {"HOME": str(folder)}


def _secret(place: Place) -> str:
    """One secret for each folder."""
    path = place.folder / "secret"
    if not path.exists():
        path.write_text(secrets.token_hex(20))
    return path.read_text()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def _filled(
    recipe: Recipe, place: Place, process: asyncio.subprocess.Process
) -> tuple[Ask, Ask]:
    try:
        async with asyncio.timeout(_START_SECONDS), httpx2.AsyncClient(timeout=60) as client:
            await _answering(place, process, client)
            return await recipe.fill(place, client)
    except TimeoutError:
        said = _last_words(place.folder)
        raise RuntimeError(f"{recipe.name} is not ready in {_START_SECONDS} s: {said}") from None


async def _answering(
    place: Place, process: asyncio.subprocess.Process, client: httpx2.AsyncClient
) -> None:
    """Wait until it speaks HTTP at all."""
    while True:
        if process.returncode is not None:
            raise RuntimeError(f"it ended with {process.returncode}: {_last_words(place.folder)}")
        try:
            await client.get(place.url)
        except httpx2.TransportError:
            await asyncio.sleep(0.1)
            continue
        return


async def _made(
    client: httpx2.AsyncClient, url: str, body: object, headers: dict[str, str] | None = None
) -> httpx2.Response:
    answer = await client.post(url, json=body, headers=headers)
    if not answer.is_success:
        raise RuntimeError(f"{url} answered {answer.status_code}: {answer.text[:300]}")
    return answer


def _output(folder: Path) -> BinaryIO:
    folder.mkdir()
    return (folder / "output.log").open("wb")


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    process.send_signal(signal.SIGCONT)
    process.terminate()
    try:
        async with asyncio.timeout(20):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


def _die_with_parent() -> None:
    """In the child: a measurement that is killed leaves no server behind."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _last_words(folder: Path) -> str:
    lines = (folder / "output.log").read_text(errors="replace").strip().splitlines()
    return " / ".join(lines[-3:])
