"""The command line of the app: `gpuaas-template controller`, `gpuaas-template manifest`."""

import argparse
import asyncio
import logging
import os
import signal
import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from gpuaas_sdk import Client, Controller, FolderState, GpuaasError, JsonLines, Options
from gpuaas_sdk import ServiceAccountKey as Key
from gpuaas_template.app import template_app
from gpuaas_template.machines import Machines

OK, FAILED = 0, 1

_CONTROLLER_HELP = """\
Work for the app until SIGTERM: claim operations, do their steps, look at instances.

The key of a service account with the role app_operator is read from a file, so that it is in no
process list. Two controllers may run beside each other; either can be killed at any moment.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    given = _parser().parse_args(argv)
    if given.command == "manifest":
        sys.stdout.write(files("gpuaas_template").joinpath("manifest.json").read_text())
        return OK
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # a line per request says nothing more
    try:
        asyncio.run(_controller(given))
    except (GpuaasError, OSError) as error:
        sys.stderr.write(f"gpuaas-template: {error}\n")
        return FAILED
    return OK


async def _controller(given: argparse.Namespace) -> None:
    key = Key(given.key_file.read_text().strip())
    given.state.joinpath("machines").mkdir(parents=True, exist_ok=True)
    machines = Machines(given.state / "machines")
    options = Options(
        slots=given.slots, project_id=given.project, lease_seconds=given.lease_seconds
    )
    async with Client(given.url, key, user_agent="gpuaas-template") as client:
        controller = Controller(
            template_app(machines, given.slug),
            client,
            options,
            state=FolderState(given.state / "documents"),
        )
        loop = asyncio.get_running_loop()
        for one in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(one, controller.stop)
        await controller.run()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gpuaas-template", description="A small web service on machines a tenant holds."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("manifest", help="print the app version's manifest")
    controller = commands.add_parser(
        "controller",
        help="work for the app until SIGTERM",
        description=_CONTROLLER_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    url = os.environ.get("GPUAAS_URL", "http://127.0.0.1:8470")
    controller.add_argument("--url", default=url, help="the platform (default: %(default)s)")
    controller.add_argument("--key-file", type=Path, required=True, metavar="FILE")
    controller.add_argument("--state", type=Path, required=True, metavar="FOLDER")
    controller.add_argument("--slug", default="template", help="name of the app in the catalog")
    controller.add_argument("--project", metavar="ID", help="serve this project alone")
    controller.add_argument(
        "--lease-seconds", type=int, default=60, help="silence after which others take over"
    )
    controller.add_argument("--slots", type=int, default=10, help="operations at the same time")
    return parser


if __name__ == "__main__":
    sys.exit(main())
