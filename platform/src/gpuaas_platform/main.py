"""`gpuaas-platform`: serve the platform, migrate its database, print its contract.

The only module that reads settings and starts processes.
"""

import argparse
import asyncio
import gc
import json
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

import uvicorn

from gpuaas_platform import __version__
from gpuaas_platform.audit.command import audit_parser_add, audit_verify
from gpuaas_platform.http.app import app_make, asgi_make
from gpuaas_platform.http.bounded import bounded_protocol
from gpuaas_platform.identity.authenticator import authenticate
from gpuaas_platform.identity.command import admin_create_run, admin_parser_add
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.clock import Clock
from gpuaas_platform.kernel.database import Database
from gpuaas_platform.kernel.embedded import EmbeddedError, EmbeddedPostgres
from gpuaas_platform.kernel.keyring import keyring_path
from gpuaas_platform.kernel.keyring_file import keyring_parser_add
from gpuaas_platform.kernel.limits import OpenLimit, RateLimiter
from gpuaas_platform.kernel.logs import logs_configure
from gpuaas_platform.kernel.migrate import SchemaError, migrate
from gpuaas_platform.kernel.problems import PlatformError, Unavailable
from gpuaas_platform.kernel.settings import Settings
from gpuaas_platform.kernel.signals import Signals
from gpuaas_platform.kernel.telemetry import tracing_running

_THIS_HOST: Final = ("127.0.0.1", "::1")  # a proxy here may say for whom it asks


def main() -> None:
    """Entry point of the command."""
    arguments = _parser().parse_args()
    try:
        arguments.run(arguments)
    except (EmbeddedError, SchemaError, PlatformError, OSError) as error:
        why = f" ({error.__cause__})" if isinstance(error, Unavailable) else ""
        sys.exit(f"gpuaas-platform: {error}{why}")


def platform_make(settings: Settings, url: str) -> Platform:
    """A platform on this database, not yet open."""
    return Platform(
        settings=settings,
        db=Database(url, size=settings.database_pool),
        clock=Clock(),
        signals=Signals(url),
        limiter=RateLimiter(settings.rate_limit_per_second, settings.rate_limit_burst),
        tenants=OpenLimit(settings.connections_per_tenant),
        authenticate=authenticate,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gpuaas-platform",
        description="The GPUaaS control plane. Settings come from the environment"
        " (GPUAAS_…, see docs/settings.md); none is needed to start.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    serve = commands.add_parser(
        "serve",
        help="serve the API and the console (and the embedded database, without a database URL)",
    )
    serve.add_argument("--host", help="address to listen on; several with commas (GPUAAS_HOST)")
    serve.add_argument("--port", type=int, help="port to listen on; 0 picks one (GPUAAS_PORT)")
    serve.add_argument("--data-dir", help="folder of the embedded database (GPUAAS_DATA_DIR)")
    serve.set_defaults(run=_serve)
    migration = commands.add_parser("migrate", help="bring the database to this release's schema")
    migration.set_defaults(run=_migrate)
    admin_parser_add(commands, _admin_create)
    audit_parser_add(commands, _audit_verify)
    keyring_parser_add(commands, lambda: keyring_path(Settings()))
    contract = commands.add_parser("openapi", help="print the public contract as OpenAPI 3.1 JSON")
    contract.set_defaults(run=_openapi)
    return parser


def _serve(arguments: argparse.Namespace) -> None:
    given = {
        name: value
        for name in ("host", "port", "data_dir")
        if (value := getattr(arguments, name)) is not None
    }
    settings = Settings(**given)
    logs_configure(settings)
    settings.data_dir.mkdir(mode=0o711, parents=True, exist_ok=True)
    with tracing_running(settings), _database_url(settings) as url:
        asyncio.run(migrate(url))
        listeners = _listeners(settings)
        platform = platform_make(settings, url)
        config = uvicorn.Config(
            asgi_make(platform),
            loop="uvloop",
            http=bounded_protocol(settings),
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            forwarded_allow_ips=[*_THIS_HOST, *map(str, settings.trusted_proxies)],
            timeout_graceful_shutdown=max(1, round(settings.shutdown_grace_seconds)),
        )
        host, port = listeners[0].getsockname()[:2]
        print(f"gpuaas-platform {__version__} on http://{host}:{port}", flush=True)  # noqa: T201 - for the person who started it
        server = _Server(config, platform)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, server.after_shutdown)
        # What was imported stays for good, and requests leave few cycles: looking through all of
        # it every 700 objects is a twentieth of a small mutation.
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)
        server.run(sockets=listeners)


def _migrate(_: argparse.Namespace) -> None:
    settings = Settings()
    with _database_url(settings) as url:
        revision = asyncio.run(migrate(url))
    print(f"The database is at schema revision {revision}.")  # noqa: T201 - the command's answer


def _admin_create(arguments: argparse.Namespace) -> None:
    settings = Settings()
    logs_configure(settings)
    with _database_url(settings, beside=True) as url:
        asyncio.run(migrate(url))
        asyncio.run(admin_create_run(platform_make(settings, url), arguments))


def _audit_verify(arguments: argparse.Namespace) -> None:
    settings = Settings()
    with _database_url(settings, beside=True) as url:
        sound = asyncio.run(audit_verify(platform_make(settings, url), arguments.witnessed))
    sys.exit(0 if sound else 1)


def _openapi(_: argparse.Namespace) -> None:
    document = app_make(None).openapi()
    print(json.dumps(document, indent=1, sort_keys=True))  # noqa: T201 - the command's answer


@contextmanager
def _database_url(settings: Settings, *, beside: bool = False) -> Iterator[str]:
    """The configured database, or the embedded one for as long as the block runs.

    A command that works `beside` a running platform uses that platform's embedded database.
    """
    if settings.database_url is not None:
        yield settings.database_url
        return
    embedded = EmbeddedPostgres(settings.data_dir)
    running = embedded.running_url() if beside else None
    if running is not None:
        yield running
        return
    signal.signal(signal.SIGTERM, _exit)  # so that the database stops too, also while starting
    try:
        yield embedded.start()
    finally:
        embedded.stop()


def _exit(_: int, __: FrameType | None) -> None:
    raise SystemExit(143)


def _listeners(settings: Settings) -> list[socket.socket]:
    """Bind before serving, so that a taken port is one clear line. All have the same port."""
    listeners: list[socket.socket] = []
    for host in settings.host.split(","):
        port = settings.port or (listeners[0].getsockname()[1] if listeners else 0)
        listeners.append(_listener(host.strip(), port))
    return listeners


def _listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        raise OSError(
            f"cannot listen on {host}:{port} ({error.strerror});"
            " choose another port with GPUAAS_PORT"
        ) from error
    return listener


class _Server(uvicorn.Server):
    """Tells the platform about a shutdown at once, so that long-polls and streams end in time."""

    def __init__(self, config: uvicorn.Config, platform: Platform) -> None:
        super().__init__(config)
        self._platform = platform

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """On SIGTERM or SIGINT."""
        super().handle_exit(sig, frame)
        self._platform.signals.finish()

    def after_shutdown(self, sig: int, _: FrameType | None) -> None:
        """The server repeats the signal that ended it: having ended in order is no failure."""
        if not self.should_exit:
            raise SystemExit(128 + sig)
