"""`gpuaas-slurm residue`: what of a cluster is on this machine, without asking anybody."""

import argparse
import subprocess
import sys

from gpuaas_slurm.command.exit import CommandError, described
from gpuaas_slurm.onmachine.look import LookError
from gpuaas_slurm.onmachine.residue import residue_env, residue_found
from gpuaas_slurm.onmachine.scripts import script_text

HELP = """\
Say what of a cluster is on this machine, and end with 1 if anything is.

The same probe decommissioning runs on every machine: processes, units, packages, users, groups,
files, ports. It changes nothing and needs no platform.
"""


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = described(commands, "residue", HELP)
    parser.add_argument(
        "--kept-packages", action="store_true", help="the packages were there before and stay"
    )
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Probe this machine."""
    ran = subprocess.run(
        ["/bin/sh", "-c", script_text("residue")],
        env={
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            **residue_env(kept_packages=given.kept_packages),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        found = residue_found(ran.stdout)
    except LookError as error:
        raise CommandError(f"{error} {ran.stderr.strip()}") from error
    for kind, things in found.items():
        for thing in things:
            sys.stdout.write(f"{kind:8} {thing}\n")
    if found:
        raise CommandError(f"{sum(len(things) for things in found.values())} things are left")
    sys.stdout.write("nothing is left\n")
