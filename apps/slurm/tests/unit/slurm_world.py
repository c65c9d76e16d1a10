"""A small cluster as the pure parts of the app see it: targets, looks, documents, answers.

Made whole and healthy; a test breaks the one thing it is about.
"""

import hashlib
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from gpuaas_sdk import Target
from gpuaas_sdk.contract import (
    AppInstance,
    Health,
    InstanceStatus,
    Member,
    MemberStatus,
    PlacementIntent,
)
from gpuaas_slurm.commands import Job, Node
from gpuaas_slurm.documents import ClusterDocument, Record, configuration_for
from gpuaas_slurm.model import Build, Cluster, Machine, Partition
from gpuaas_slurm.observe import SchedulerSeen, Seen, SiteSeen
from gpuaas_slurm.onmachine.look import FileSeen, MachineLook, UnitSeen
from gpuaas_slurm.onmachine.scripts import DATABASE_MADE, HOME, MUNGE_KEY
from gpuaas_slurm.version import SlurmVersion

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
VERSION = SlurmVersion(22, 5, 8)
PACKAGES = {"slurmctld": "22.05.8-4", "slurmd": "22.05.8-4", "munge": "0.5.15"}


def machine(name: str, number: int, **more: Any) -> Machine:
    return Machine(
        name, f"10.0.0.{number}", 1, 2, 1, 4000, name, features=("main",), admitted=True, **more
    )


CONTROLLER = machine("n1", 1)
WORKER = machine("n2", 2)
DOCUMENT = ClusterDocument(
    "inst_1",
    Cluster(
        "c1",
        1,
        Build(VERSION),
        CONTROLLER,
        partitions=(Partition("main", ("main",), default=True),),
    ),
    {"proj_1": "c1"},
)


def instance(status: InstanceStatus = InstanceStatus.RUNNING, **more: Any) -> AppInstance:
    values: dict[str, Any] = {
        "id": "inst_1", "resource_name": "c1", "display_name": "", "org_id": "org_1",
        "project_id": "proj_1", "app_slug": "slurm", "app_version": "0.1.0",
        "previous_version": None, "runtime_version": "22.05.8",
        "operating_mode": "tenant_dedicated", "control_plane_scope": "project",
        "runtime_backend": "slurm", "topology": "multi_node",
        "placement_intent": PlacementIntent(members=[]), "settings": {}, "settings_revision": 1,
        "settings_applied_revision": 1, "status": status, "health": Health.HEALTHY,
        "conditions": [], "adapter_detail": None, "access": None, "absence": None, "revision": 1,
        "last_operation_id": None, "correlation_id": "cor_1", "created_by": "user_1",
        "created_at": NOW, "updated_at": NOW, "deleted_at": None, "operations": [],
        "next_actions": [], **more,
    }  # fmt: skip
    return AppInstance(**values)


def member(name: str, component: str, status: MemberStatus = MemberStatus.READY) -> Member:
    values: dict[str, Any] = {
        "id": f"mem_{name}_{component}", "instance_id": "inst_1", "org_id": "org_1",
        "project_id": "proj_1", "component_key": component, "allocation_id": f"alloc_{name}",
        "shares_allocation": False, "node": name, "status": status, "health": Health.HEALTHY,
        "conditions": [], "adapter_detail": None, "runtime_version": "", "absence": None,
        "revision": 1, "last_operation_id": None, "correlation_id": "cor_1", "created_at": NOW,
        "updated_at": NOW, "removed_at": None, "next_actions": [],
    }  # fmt: skip
    return Member(**values)


def target(status: InstanceStatus = InstanceStatus.RUNNING, **more: Any) -> Target:
    return Target(instance(status, **more), (member("n1", "controller"), member("n2", "worker")))


def record(found: Machine, *roles: str) -> Record:
    return Record("inst_1", f"alloc_{found.name}", found, roles)


def look(found: Machine, *units: str, worker: bool = False) -> MachineLook:
    """A machine on which every file is as rendered and every daemon runs on it."""
    files = {
        file.path: FileSeen(
            hashlib.sha256(file.text.encode()).hexdigest(), file.mode, file.owner, file.group, 100
        )
        for file in configuration_for(DOCUMENT.cluster, found, worker=worker)
    }
    files[HOME] = FileSeen("", 0o700, "root", "root", 50)
    files[MUNGE_KEY] = FileSeen("k" * 64, 0o400, "munge", "munge", 50)
    running = {
        u: UnitSeen("loaded", "active", "running", "success", "enabled", 7, 0, 200) for u in units
    }
    return MachineLook(
        "debian", "bookworm", found.name, 1000.0, packages=PACKAGES, files=files, units=running,
        present=frozenset({DATABASE_MADE}), processes="hidden",
    )  # fmt: skip


def node(name: str, state: str = "IDLE", *flags: str, reason: str = "", by: str = "") -> Node:
    return Node(
        name, f"10.0.0.{name[1:]}", name, state, frozenset(flags), reason, by, None, ("main",),
        ("main",), 2, 0, 4000, "", "22.05.8", 100,
    )  # fmt: skip


def job(number: int, state: str, *nodes: str) -> Job:
    return Job(
        number, None, None, "", "j", "ada", "c1", "main", state, "", nodes, (), len(nodes), "", 1,
        1, None, None, "", "",
    )  # fmt: skip


def seen(**more: Any) -> Seen:
    head = ("munge", "mariadb", "slurmdbd", "slurmctld")
    whole = Seen(
        {
            "alloc_n1": SiteSeen(look(CONTROLLER, *head), record(CONTROLLER, "controller")),
            "alloc_n2": SiteSeen(
                look(WORKER, "munge", "slurmd", worker=True), record(WORKER, "worker")
            ),
        },
        DOCUMENT,
        SchedulerSeen(VERSION, (node("n2"),), ()),
        people=(),
    )
    return replace(whole, **more)


def changed(where: str, **more: Any) -> Seen:
    """The whole, with one machine's look changed."""
    whole = seen()
    site = whole.sites[where]
    assert site.look is not None
    found = replace(site, look=replace(site.look, **more))
    return replace(whole, sites={**whole.sites, where: found})
