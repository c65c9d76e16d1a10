"""The command line of the app: `gpuaas-slurm render`."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from gpuaas_slurm.describe import DescriptionError, cluster_from_json
from gpuaas_slurm.model import ModelError
from gpuaas_slurm.render import RenderedFile, cluster_files

OK, FAILED, USAGE = 0, 1, 2

RENDER_HELP = """\
Render every machine's files of a cluster that a JSON file describes.

The files go to FOLDER/MACHINE/, under the path they have on the machine; manifest.json beside them
says whose each file is, its mode, and which services must be restarted to read it. Nothing is
contacted, and no secret is written: the munge key is not part of it, the database has no password.
"""

RENDER_EXAMPLES = """\
example:
  cat > cluster.json <<'END'
  {"name": "c1", "generation": 1, "build": {"version": "22.05.8"},
   "controller": {"name": "n1", "address": "10.0.0.1", "sockets": 1, "cores_per_socket": 4,
                  "threads_per_core": 1, "memory_mib": 8000},
   "workers": [{"name": "n2", "address": "10.0.0.2", "sockets": 1, "cores_per_socket": 8,
                "threads_per_core": 2, "memory_mib": 64000, "features": ["main"], "admitted": true,
                "gpus": [{"type": "h100", "files": ["/dev/nvidia0", "/dev/nvidia1"]}]}]}
  END
  gpuaas-slurm render cluster.json --out rendered

exit codes:
  0  rendered        1  the description is wrong (the message says where)        2  wrong usage
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    arguments = _parser().parse_args(argv)
    try:
        count = _render(arguments.description, arguments.out)
    except (DescriptionError, ModelError, OSError) as error:
        sys.stderr.write(f"gpuaas-slurm: {error}\n")
        return FAILED
    sys.stdout.write(f"{count} files in {arguments.out}\n")
    return OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gpuaas-slurm", description="Deploys and operates Slurm on machines a tenant holds."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    render = commands.add_parser(
        "render",
        help="render a cluster's files into a folder",
        description=RENDER_HELP,
        epilog=RENDER_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    render.add_argument("description", type=Path, metavar="CLUSTER.json")
    render.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    return parser


def _render(description: Path, out: Path) -> int:
    cluster = cluster_from_json(description.read_bytes())
    files = cluster_files(cluster)
    for machine, rendered in files.items():
        _write(out / machine, rendered)
    return sum(len(rendered) for rendered in files.values())


def _write(folder: Path, rendered: tuple[RenderedFile, ...]) -> None:
    for file in rendered:
        target = folder / file.path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(file.text)
    manifest = [
        {
            "path": file.path,
            "owner": file.owner,
            "group": file.group,
            "mode": f"{file.mode:04o}",
            "restarts": list(file.restarts),
        }
        for file in rendered
    ]
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main())
