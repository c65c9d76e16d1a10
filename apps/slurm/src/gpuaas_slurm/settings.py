"""What a person asked for when deploying: the `settings` of an instance, with defaults. Pure."""

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from gpuaas_sdk.contract import AppInstance
from gpuaas_slurm.model import Partition

FEATURE = "main"
"""The feature of every worker that is open to the project's users."""


class PackageSource(StrEnum):
    """Where packages come from."""

    AUTO = "auto"
    ARTIFACT = "artifact"
    MACHINE = "machine"
    INSTALLED = "installed"


@dataclass(frozen=True)
class Settings:
    """The settings of one cluster."""

    cluster_name: str
    account: str
    partitions: tuple[Partition, ...]
    packages: PackageSource = PackageSource.AUTO
    finished_job_seconds: int = 300


def settings_of(instance: AppInstance) -> Settings:
    """Return what was asked for; the platform has checked it against the manifest's schema."""
    given: dict[str, Any] = instance.settings.get("settings") or {}
    listed = given.get("partitions") or [{"name": "main"}]
    partitions = tuple(
        Partition(one["name"], (FEATURE,), max_minutes=one.get("max_minutes")) for one in listed
    )
    return Settings(
        cluster_name=given.get("cluster_name") or _word(instance.resource_name),
        account=given.get("account") or _word(instance.resource_name),
        partitions=(replace(partitions[0], default=True), *partitions[1:]),
        packages=PackageSource(given.get("packages") or PackageSource.AUTO),
        finished_job_seconds=given.get("finished_job_seconds") or 300,
    )


def _word(name: str) -> str:
    """A name both Slurm and its database take."""
    short = re.sub(r"[^a-z0-9_]+", "_", name.lower())[:40].strip("_")
    return short if short[:1].isalpha() else f"c{short}"
