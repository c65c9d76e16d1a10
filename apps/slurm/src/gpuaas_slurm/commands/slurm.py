"""Slurm's commands as methods: questions with typed answers, and the few changes we make.

One instance stands for one controller and the release it runs; JSON is asked for where that
release has it, and stable text formats where it has not.
"""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from gpuaas_slurm.commands.associations import (
    FIELDS,
    Association,
    association_from_json,
    associations_from_text,
)
from gpuaas_slurm.commands.batch import answering
from gpuaas_slurm.commands.controller import (
    ControllerPing,
    ping_from_json,
    pings_from_text,
    version_from_config,
)
from gpuaas_slurm.commands.jobs import TRIAL, TRIAL_ACCOUNT, TRIAL_USER, Job, job_from_json
from gpuaas_slurm.commands.nodes import Node, node_from_json
from gpuaas_slurm.commands.partitions import (
    PartitionState,
    partition_from_json,
    partitions_from_text,
)
from gpuaas_slurm.commands.run import (
    Runner,
    SlurmCommandError,
    answer_json,
    checked,
    understood,
)
from gpuaas_slurm.hostlist import compress
from gpuaas_slurm.model import ADMISSION, Partition
from gpuaas_slurm.onmachine.scripts import HOME
from gpuaas_slurm.version import V23_02, SlurmVersion

T = TypeVar("T")

CONFIG = ("scontrol", "show", "config")
PING, PING_JSON = ("scontrol", "ping"), ("scontrol", "ping", "--json")
NODES = ("sinfo", "--all", "--json")
NODES_JSON = ("scontrol", "--all", "show", "nodes", "--json")
JOBS = ("squeue", "--all", "--states=all", "--json")
ASSOCIATIONS = (
    *("sacctmgr", "--parsable2", "--noheader", "show", "assoc"),
    f"format={','.join(FIELDS)}",
)
ASSOCIATIONS_JSON = ("sacctmgr", "show", "assoc", "--json")

LOCK = f"{HOME}/partitions.lock"
"""Held while a partition's nodes are read and set: two that open nodes must not undo each other."""

OPEN = """
set -e
features=$1 nodes=$2
shift 2
scontrol update NodeName="$nodes" AvailableFeatures="$features" ActiveFeatures="$features"
for part in "$@"; do
    open=$(sinfo --all --noheader --Node --format='%N %f' | sort -u | awk -v any="${part#*=}" '
        BEGIN { split(any, wanted, ",") }
        {
            split($2, has, ",")
            for (i in has) for (j in wanted) if (has[i] == wanted[j]) { print $1; next }
        }
    ' | paste -sd,)
    scontrol update PartitionName="${part%%=*}" Nodes="$open"
done
"""

INVALID_ACCOUNT = "invalid account"
TREE = """printf '%s\\n' "$@" quit | sacctmgr --immediate"""
THEN = "gpuaas:then"
"""Between what one command said and what the next one did, where two share a round trip."""


async def slurm_connect(run: Runner) -> "Slurm":
    """Ask the running controller for its release and return its commands."""
    result = await run(CONFIG)
    text = checked(result)
    return Slurm(run, understood(lambda: version_from_config(text), result))


class Slurm:
    """The commands of one controller."""

    def __init__(self, run: Runner, version: SlurmVersion) -> None:
        self._run = run
        self.version = version
        self._json = version >= V23_02

    @property
    def questions(self) -> tuple[tuple[str, ...], ...]:
        """The commands that together tell how a cluster is, for `batch_script`."""
        if self._json:
            return (PING_JSON, NODES_JSON, JOBS, ASSOCIATIONS_JSON)
        return (PING, NODES, JOBS, ASSOCIATIONS)

    async def ping(self) -> tuple[ControllerPing, ...]:
        """Ask whether the controllers answer; one that does not is an answer too."""
        if self._json:
            return await self._rows(PING_JSON, "pings", ping_from_json)
        result = await self._run(PING)
        return understood(lambda: pings_from_text(result.stdout), result)

    async def nodes(self) -> tuple[Node, ...]:
        """Return every node the controller knows."""
        return await self._rows(NODES_JSON if self._json else NODES, "nodes", node_from_json)

    async def node(self, name: str) -> Node | None:
        """Return a node; None only when a controller that answered does not know it."""
        return next((node for node in await self.nodes() if node.name == name), None)

    async def jobs(self) -> tuple[Job, ...]:
        """Return every job record, also of finished jobs the controller still remembers.

        Asked of squeue: with the controller down, `scontrol show jobs --json` of 24.11 answers
        with an empty list and success.
        """
        return await self._rows(JOBS, "jobs", job_from_json)

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
            return await self._rows(ASSOCIATIONS_JSON, "associations", association_from_json)
        return await self._text(ASSOCIATIONS, associations_from_text)

    async def tree_add(
        self, cluster: str, accounts: Sequence[str]
    ) -> tuple[str, tuple[Association, ...]]:
        """Make a cluster and its accounts known to accounting; return what it said, and what is so.

        In one process, since each has to open a connection of its own. What is there already is
        refused, word by word, and stays as it is.
        """
        words = [f"add cluster {cluster}"]
        words += [f"add account {account} cluster={cluster}" for account in accounts]
        words.append(f"add user {TRIAL_USER} account={TRIAL_ACCOUNT} cluster={cluster}")
        asked: tuple[str, ...] = ASSOCIATIONS_JSON if self._json else ASSOCIATIONS
        script = f"{TREE}\necho {THEN}\nexec {shlex.join(asked)}"
        result = await self._run(["sh", "-c", script, "sh", *words])
        said, _, listed = result.stdout.partition(f"{THEN}\n")
        answers = {asked: replace(result, stdout=listed)}
        found = await Slurm(answering(answers), self.version).associations()
        return said + result.stderr, found

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

    async def nodes_open(
        self, nodes: Sequence[str], features: Sequence[str], partitions: Sequence[Partition]
    ) -> tuple[Node, ...]:
        """Give nodes their features, and every partition the nodes with any of its features.

        Return every node as it is then.
        """
        parts = [f"{one.name}={','.join(one.features)}" for one in partitions]
        joined = ",".join(features)
        asked: tuple[str, ...] = NODES_JSON if self._json else NODES
        script = f"{OPEN}exec {shlex.join(asked)}"
        argv = ["sh", "-c", script, "sh", joined, compress(nodes), *parts]
        result = await self._run(["flock", "--wait", "60", LOCK, *argv])
        return await Slurm(answering({asked: result}), self.version).nodes()

    async def trial(self, nodes: Sequence[str], seconds: int) -> tuple[str, ...]:
        """Run a job on nodes that need not be open yet; return the names of those it ran on.

        It runs as the user the daemons run as: root's jobs are refused. A cluster that an older
        release made, or that was restored from its snapshot, learns of that user here.
        """
        try:
            return await self._trial(nodes, seconds)
        except SlurmCommandError as error:
            if INVALID_ACCOUNT not in error.result.stderr.lower():
                raise
        await self._add("user", TRIAL_USER, f"account={TRIAL_ACCOUNT}")
        return await self._trial(nodes, seconds)

    async def _trial(self, nodes: Sequence[str], seconds: int) -> tuple[str, ...]:
        argv = [
            *("runuser", "-u", TRIAL_USER, "--"),
            *("timeout", str(seconds), "srun", f"--partition={ADMISSION}", "--quiet"),
            *(f"--nodelist={compress(nodes)}", f"--nodes={len(nodes)}", "--ntasks-per-node=1"),
            *(f"--job-name={TRIAL}", "--time=2", "--mem=1", f"--immediate={seconds}"),
            *("--chdir=/", "printenv", "SLURMD_NODENAME"),
        ]
        return tuple(sorted(checked(await self._run(argv)).split()))

    async def jobs_cancel(self, jobs: Sequence[int]) -> None:
        """End jobs."""
        await self._do(["scancel", *(str(job) for job in jobs)])

    async def jobs_requeue(self, jobs: Sequence[int]) -> None:
        """Put jobs back into the queue; they begin anew elsewhere."""
        await self._do(["scontrol", "requeue", ",".join(str(job) for job in jobs)])

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
