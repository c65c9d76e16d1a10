"""Who may charge what: the associations of accounting. Pure parsers."""

from dataclasses import dataclass
from typing import Any

from gpuaas_slurm.commands.values import words

FIELDS = ("cluster", "account", "user", "partition", "qos")


@dataclass(frozen=True)
class Association:
    """An account's (user empty) or a user's place in a cluster's tree."""

    cluster: str
    account: str
    user: str
    partition: str
    qos: tuple[str, ...]


def associations_from_text(text: str) -> tuple[Association, ...]:
    """Return the lines of `sacctmgr --parsable2 --noheader show assoc format=…` (22.05)."""
    found = []
    for line in filter(None, text.splitlines()):
        cluster, account, user, partition, qos = line.split("|")
        found.append(Association(cluster, account, user, partition, words(qos)))
    return tuple(found)


def association_from_json(row: dict[str, Any]) -> Association:
    """Return an association of `sacctmgr show assoc --json` (23.02 and later)."""
    return Association(
        row["cluster"], row["account"], row["user"], row["partition"] or "", words(row["qos"])
    )
