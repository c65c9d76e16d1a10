"""`gpuaas-slurm controller`: work for the app until SIGTERM. And `manifest`, which prints it."""

import argparse
import asyncio
import json
import logging
import os
import signal
import sys
from importlib.resources import files
from pathlib import Path

from gpuaas_sdk import (
    Client,
    Controller,
    FolderState,
    GpuaasError,
    JsonLines,
    Options,
    Schedule,
    ServiceAccountKey,
    follow,
)
from gpuaas_sdk.contract import EventFilter
from gpuaas_slurm.app import slurm_app
from gpuaas_slurm.command.exit import CommandError, described
from gpuaas_slurm.config import Config, ConfigError, config_load, private_key_load
from gpuaas_slurm.services import Services

PEOPLE = ("identity.role_binding", "identity.person")
"""Events that say who may use clusters may have changed."""
LISTEN_AGAIN_S = 30.0

HELP = """\
Work for the app until SIGTERM: claim operations, do their steps, look at clusters.

The key of a service account with the role app_operator is read from a file, so that it is in no
process list, and so is the private key its secrets are sealed to. Any number of controllers may
run beside each other; each can be killed at any moment.
"""

MANIFEST = """\
Print the manifest of this version, for publishing.

With --bundles, an instance of that app version gets the bundles published as this version, and an
upgrade to it is refused where policy does not give them; without, what the channel points at.
"""

SETTINGS = """\
Every option can stand in the file (TOML, the same names with underscores) or in the environment
(GPUAAS_SLURM_…). Logs are JSON lines on standard error, each with its correlation id.
"""


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = described(commands, "controller", HELP, SETTINGS)
    options_add(parser)
    parser.add_argument("--state", type=Path, metavar="FOLDER", help="what this process keeps")
    parser.add_argument("--bundles", type=Path, metavar="FOLDER", help="package bundles")
    parser.add_argument("--project", metavar="ID", help="serve this project alone")
    parser.add_argument("--slots", type=int, help="operations at the same time")
    parser.add_argument("--lease-seconds", type=int, help="silence after which others take over")
    parser.add_argument("--observe-seconds", type=float, help="how often clusters are looked at")
    parser.set_defaults(run=run)


def add_manifest(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command that prints the manifest."""
    parser = described(commands, "manifest", MANIFEST)
    parser.add_argument(
        "--bundles",
        default="",
        metavar="VERSION",
        help="stand on bundles published as this version",
    )
    parser.set_defaults(run=lambda given: sys.stdout.write(manifest_text(given.bundles)))


def options_add(parser: argparse.ArgumentParser) -> None:
    """Add what every command that talks to the platform takes."""
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings as TOML")
    parser.add_argument("--url", help="the platform")
    parser.add_argument("--key-file", type=Path, metavar="FILE", help="the account's key")
    parser.add_argument(
        "--private-key-file", type=Path, metavar="FILE", help="the key secrets are sealed to (PEM)"
    )
    parser.add_argument("--slug", help="name of the app in the catalog")


def config_of(given: argparse.Namespace) -> Config:
    """Return the configuration a command was started with."""
    try:
        return config_load(given.config, os.environ, vars(given))
    except ConfigError as error:
        raise CommandError(str(error)) from error


def manifest_text(bundles: str = "") -> str:
    """Return the manifest; with a version of bundles, as one that stands on these and no others."""
    text = files("gpuaas_slurm").joinpath("manifest.json").read_text()
    if not bundles:
        return text
    manifest = json.loads(text)
    for artifact in manifest["artifacts"]:
        artifact |= {"version": bundles, "optional": False}
    return json.dumps(manifest, indent=2) + "\n"


def run(given: argparse.Namespace) -> None:
    """Work until told to stop."""
    config = config_of(given)
    if config.key_file is None:
        raise CommandError("the service account's key is missing: --key-file")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=config.log_level.upper(), handlers=[handler])
    for chatty in ("httpx2", "asyncssh"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    try:
        asyncio.run(_controller(config, config.key_file))
    except (GpuaasError, ConfigError, OSError) as error:
        raise CommandError(str(error)) from error


async def _controller(config: Config, key_file: Path) -> None:
    private = None if config.private_key_file is None else private_key_load(config.private_key_file)
    key = ServiceAccountKey((await asyncio.to_thread(key_file.read_text)).strip())
    seconds = config.observe_seconds
    options = Options(
        slots=config.slots,
        project_id=config.project,
        lease_seconds=config.lease_seconds,
        observe=Schedule(every_seconds=seconds) if seconds > 0 else None,
    )
    async with Client(config.url, key, user_agent="gpuaas-slurm") as client:
        controller = Controller(
            slurm_app(Services(client, private, config.bundles), config.slug),
            client,
            options,
            state=FolderState(config.state),
        )
        loop = asyncio.get_running_loop()
        for one in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(one, controller.stop)
        listening = asyncio.create_task(_listening(client, controller, config.project))
        try:
            await controller.run()
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)


async def _listening(client: Client, controller: Controller, project_id: str | None) -> None:
    """Wake the controller when people come or leave. Only a hint: it looks on schedule anyway."""
    log = logging.getLogger(__name__)
    wanted = EventFilter(type=list(PEOPLE), project_id=project_id)

    def opened() -> None:
        log.info("events are followed")
        controller.wake()  # whoever came before was not told of

    while True:
        try:
            async for _ in follow(client, wanted, opened=opened):
                controller.wake()
        except GpuaasError as error:
            log.warning("events cannot be followed: %s", error)
        await asyncio.sleep(LISTEN_AGAIN_S)
