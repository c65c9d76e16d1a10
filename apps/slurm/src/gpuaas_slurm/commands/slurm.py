"""Slurm's commands as methods: questions with typed answers, and the few changes we make.

One instance stands for one controller and the release it runs; JSON is asked for where that
release has it, and stable text formats where it has not.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from gpuaas_slurm.commands.associations import (
    FIELDS,
    Association,
    association_from_json,
    associations_from_text,
)
from gpuaas_slurm.commands.controller import (
    ControllerPing,
    ping_from_json,
    pings_from_text,
    version_from_config,
)
from gpuaas_slurm.commands.jobs import Job, job_from_json
from gpuaas_slurm.commands.nodes import Node, node_from_json
from gpuaas_slurm.commands.partitions import (
    PartitionState,
    partition_from_json,
    partitions_from_text,
)
from gpuaas_slurm.commands.run import Runner, answer_json, checked, understood
from gpuaas_slurm.hostlist import compress
from gpuaas_slurm.version import V23_02, SlurmVersion

T = TypeVar("T")


async def slurm_connect(run: Runner) -> "Slurm":
    """Ask the running controller for its release and return its commands."""
    result = await run(["scontrol", "show", "config"])
    text = checked(result)
    return Slurm(run, understood(lambda: version_from_config(text), result))


class Slurm:
    """The commands of one controller."""

    def __init__(self, run: Runner, version: SlurmVersion) -> None:
        self._run = run
        self.version = version
        self._json = version >= V23_02

    async def ping(self) -> tuple[ControllerPing, ...]:
        """Ask whether the controllers answer; one that does not is an answer too."""
        if self._json:
            return await self._rows(["scontrol", "ping", "--json"], "pings", ping_from_json)
        result = await self._run(["scontrol", "ping"])
        return understood(lambda: pings_from_text(result.stdout), result)

    async def nodes(self) -> tuple[Node, ...]:
        """Return every node the controller knows."""
        if self._json:
            argv = ["scontrol", "--all", "show", "nodes", "--json"]
        else:
            argv = ["sinfo", "--all", "--json"]
        return await self._rows(argv, "nodes", node_from_json)

    async def node(self, name: str) -> Node | None:
        """Return a node; None only when a controller that answered does not know it."""
        return next((node for node in await self.nodes() if node.name == name), None)

    async def jobs(self) -> tuple[Job, ...]:
        """Return every job record, also of finished jobs the controller still remembers.

        Asked of squeue: with the controller down, `scontrol show jobs --json` of 24.11 answers
        with an empty list and success.
        """
        argv = ["squeue", "--all", "--states=all", "--json"]
        return await self._rows(argv, "jobs", job_from_json)

    async def partitions(self) -> tuple[PartitionState, ...]:
        """Return every partition, hidden ones too."""
        if self._json:
            argv = ["scontrol", "--all", "show", "partitions", "--json"]
            return await self._rows(argv, "partitions", partition_from_json)
        return await self._text(
            ["scontrol", "--all", "--oneliner", "show", "partition"], partitions_from_text
        )

    async def associations(self) -> tuple[Association, ...]:
        """Return every association of accounting."""
        if self._json:
            argv = ["sacctmgr", "show", "assoc", "--json"]
            return await self._rows(argv, "associations", association_from_json)
        return await self._text(
            [
                "sacctmgr",
                "--parsable2",
                "--noheader",
                "show",
                "assoc",
                f"format={','.join(FIELDS)}",
            ],
            associations_from_text,
        )

    async def cluster_add(self, cluster: str) -> None:
        """Make the cluster known to accounting; a second time changes nothing."""
        if cluster not in {entry.cluster for entry in await self.associations()}:
            await self._add("cluster", cluster)

    async def account_add(self, cluster: str, account: str) -> None:
        """Make an account of a cluster; a second time changes nothing."""
        present = {(entry.cluster, entry.account) for entry in await self.associations()}
        if (cluster, account) not in present:
            await self._add("account", account, f"cluster={cluster}")

    async def user_add(self, cluster: str, account: str, user: str) -> None:
        """Let a user charge an account of a cluster; a second time changes nothing."""
        present = {(e.cluster, e.account, e.user) for e in await self.associations()}
        if (cluster, account, user) not in present:
            await self._add("user", user, f"account={account}", f"cluster={cluster}")

    async def node_drain(self, node: str, reason: str) -> None:
        """Let no new job start on a node; its jobs run on."""
        await self._update(f"NodeName={node}", "State=DRAIN", f"Reason={reason}")

    async def node_resume(self, node: str) -> None:
        """Let jobs start on a node again."""
        await self._update(f"NodeName={node}", "State=RESUME")

    async def node_features_set(self, node: str, features: Sequence[str]) -> None:
        """Set a node's features; partitions follow at once only through `partition_nodes_set`."""
        joined = ",".join(features)
        await self._update(
            f"NodeName={node}", f"AvailableFeatures={joined}", f"ActiveFeatures={joined}"
        )

    async def partition_nodes_set(self, partition: str, nodes: Sequence[str]) -> None:
        """Set which nodes a partition has, until its node sets are worked out anew."""
        await self._update(f"PartitionName={partition}", f"Nodes={compress(nodes)}")

    async def node_delete(self, node: str) -> None:
        """Make the controller forget a node; it refuses while a job runs there."""
        await self._do(["scontrol", "delete", f"NodeName={node}"])

    async def reconfigure(self) -> None:
        """Have every daemon read its files again."""
        await self._do(["scontrol", "reconfigure"])

    async def _add(self, *words: str) -> None:
        await self._do(["sacctmgr", "--immediate", "add", *words])

    async def _update(self, *words: str) -> None:
        await self._do(["scontrol", "update", *words])

    async def _do(self, argv: Sequence[str]) -> None:
        checked(await self._run(argv))

    async def _rows(
        self, argv: Sequence[str], key: str, parse: Callable[[dict[str, Any]], T]
    ) -> tuple[T, ...]:
        rows, result = await answer_json(self._run, argv, key)
        return understood(lambda: tuple(parse(row) for row in rows), result)

    async def _text(self, argv: Sequence[str], parse: Callable[[str], T]) -> T:
        result = await self._run(argv)
        text = checked(result)
        return understood(lambda: parse(text), result)
