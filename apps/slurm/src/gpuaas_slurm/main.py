"""The command line of the app: one module for each command, this one joins them."""

import argparse
import sys
from collections.abc import Sequence

from gpuaas_slurm.command import bundle, controller, doctor, render, residue
from gpuaas_slurm.command.exit import FAILED, OK, CommandError

COMMANDS = (controller, render, doctor, residue, bundle)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    arguments = _parser().parse_args(argv)
    try:
        arguments.run(arguments)
    except CommandError as error:
        sys.stderr.write(f"gpuaas-slurm: {error}\n")
        return FAILED
    return OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gpuaas-slurm", description="Deploys and operates Slurm on machines a tenant holds."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add(commands)
    controller.add_manifest(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
