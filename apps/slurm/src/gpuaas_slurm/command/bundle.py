"""`gpuaas-slurm bundle`: the packages of a release as one file, fetched by this host's own apt."""

import argparse
import sys
from pathlib import Path

from gpuaas_slurm.bundling import BundleError, Wanted, bundle_make
from gpuaas_slurm.command.exit import CommandError, described
from gpuaas_slurm.distribution import DISTRIBUTIONS

HELP = """\
Fetch the packages of a release with this host's own apt and pack them into one file per role.

The file is a tar archive of a folder apt takes as a repository: the packages, their dependencies
beyond a plain system, and an index with digests. Publish it as an artifact, or give the folder to
`gpuaas-slurm controller --bundles`. Nothing is installed here.
"""

EXAMPLES = """\
example:
  gpuaas-slurm bundle --suite bookworm --out bundles
"""


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = described(commands, "bundle", HELP, EXAMPLES)
    parser.add_argument("--suite", choices=sorted(DISTRIBUTIONS), required=True)
    parser.add_argument("--role", choices=("controller", "worker"), help="one alone; both if none")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    parser.add_argument(
        "--sources", type=Path, metavar="FILE", help="apt sources to use instead of this host's"
    )
    parser.add_argument(
        "--status",
        type=Path,
        metavar="FILE",
        help="what machines have already (a /var/lib/dpkg/status); a plain system if none",
    )
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Make the bundles."""
    roles = (given.role,) if given.role else ("controller", "worker")
    given.out.mkdir(parents=True, exist_ok=True)
    for role in roles:
        wanted = Wanted(given.suite, role, given.sources, given.status)
        try:
            made = bundle_make(wanted, given.out)
        except (BundleError, OSError) as error:
            raise CommandError(str(error)) from error
        size = made.path.stat().st_size / 1e6
        sys.stdout.write(
            f"{made.path}  Slurm {made.version}, {made.packages} packages, {size:.0f} MB,"
            f" sha256:{made.digest}\n"
        )
