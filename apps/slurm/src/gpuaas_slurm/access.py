"""The access bundle: how to use the cluster that runs, made from what runs. Pure.

Every command in it is run by a test on a real cluster.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpuaas_slurm.documents import ClusterDocument
from gpuaas_slurm.render.slurm_conf import PATH as SLURM_CONF

if TYPE_CHECKING:
    from gpuaas_slurm.observe import SchedulerSeen, SiteSeen

SCRIPT = """\
#!/bin/sh
#SBATCH --job-name=first
#SBATCH --output=first-%j.out
#SBATCH --time=5
{extra}srun hostname
"""


def access_bundle(
    document: ClusterDocument, scheduler: "SchedulerSeen", sites: Mapping[str, "SiteSeen"]
) -> dict[str, Any]:
    """Return what a person needs to use the cluster."""
    cluster = document.cluster
    address = cluster.controller.address
    allocation = next(
        (
            key
            for key, site in sites.items()
            if site.record is not None and site.record.machine.name == cluster.controller.name
        ),
        "",
    )
    gpus = any(node.gres for node in scheduler.nodes)
    partition = next(one.name for one in cluster.partitions if one.default)
    commands = _commands(partition, gpus=gpus)
    script = SCRIPT.format(extra="#SBATCH --gres=gpu:1\n" if gpus else "")
    bundle: dict[str, Any] = {
        "cluster": cluster.name,
        "scheduler_version": str(scheduler.version),
        "login": {
            "allocation_id": allocation,
            "address": address,
            "command": f"gpuaas ssh --as-person {allocation}",
            "note": "As yourself, by a certificate of minutes; members of the project have an"
            " account here.",
        },
        "account": next(iter(document.accounts.values()), ""),
        "partitions": [one.name for one in cluster.partitions],
        "paths": {"configuration": SLURM_CONF, "binaries": "/usr/bin"},
        "commands": [{"does": does, "command": command} for does, command in commands],
        "health": [
            {"does": "Does the controller answer?", "command": "scontrol ping"},
            {"does": "Which nodes are out, and why?", "command": "sinfo -R"},
            {"does": "Every node with its state", "command": "sinfo -N -l"},
        ],
        "first_job": {
            "file": "first.sh",
            "script": script,
            "submit": "sbatch first.sh",
            "note": "Its output is written where it ran, unless the machines share a file system.",
        },
    }
    bundle["markdown"] = _markdown(bundle)
    return bundle


def _commands(partition: str, *, gpus: bool) -> list[tuple[str, str]]:
    found = [
        ("What is free?", "sinfo"),
        ("Run something now", f"srun --partition={partition} hostname"),
        ("What waits and runs?", "squeue"),
        ("What became of my jobs?", "sacct"),
        ("Which accounts may I charge?", "sacctmgr show assoc format=account,user,qos"),
    ]
    if gpus:
        found.append(("See a GPU", "srun --gres=gpu:1 printenv CUDA_VISIBLE_DEVICES"))
    return found


def _markdown(bundle: Mapping[str, Any]) -> str:
    lines = [
        f"Log in with `{bundle['login']['command']}`. {bundle['login']['note']}",
        "",
        "| to | run |",
        "|---|---|",
        *(f"| {one['does']} | `{one['command']}` |" for one in bundle["commands"]),
        *(f"| {one['does']} | `{one['command']}` |" for one in bundle["health"]),
        "",
        f"A first batch job, as `{bundle['first_job']['file']}`:",
        "",
        "```sh",
        bundle["first_job"]["script"].rstrip(),
        "```",
        "",
        f"Then `{bundle['first_job']['submit']}`. {bundle['first_job']['note']}",
    ]
    return "\n".join(lines)
