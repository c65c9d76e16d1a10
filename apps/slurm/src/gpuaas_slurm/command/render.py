"""`gpuaas-slurm render`: every machine's files of a described cluster, into a folder."""

import argparse
import json
import sys
from pathlib import Path

from gpuaas_slurm.command.exit import CommandError, described
from gpuaas_slurm.describe import DescriptionError, cluster_from_json
from gpuaas_slurm.model import ModelError
from gpuaas_slurm.render import RenderedFile, cluster_files

HELP = """\
Render every machine's files of a cluster that a JSON file describes.

The files go to FOLDER/MACHINE/, under the path they have on the machine; manifest.json beside them
says whose each file is, its mode, and which services must be restarted to read it. Nothing is
contacted, and no secret is written: the munge key is not part of it, the database has no password.
"""

EXAMPLES = """\
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


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = described(commands, "render", HELP, EXAMPLES)
    parser.add_argument("description", type=Path, metavar="CLUSTER.json")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Render."""
    try:
        files = cluster_files(cluster_from_json(given.description.read_bytes()))
        for machine, rendered in files.items():
            _write(given.out / machine, rendered)
    except (DescriptionError, ModelError, OSError) as error:
        raise CommandError(str(error)) from error
    count = sum(len(rendered) for rendered in files.values())
    sys.stdout.write(f"{count} files in {given.out}\n")


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
