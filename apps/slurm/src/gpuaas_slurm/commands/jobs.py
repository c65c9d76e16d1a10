"""Jobs as the controller remembers them, finished ones too. Pure parsers."""

from dataclasses import dataclass
from typing import Any

from gpuaas_slurm.commands.values import moment, number
from gpuaas_slurm.hostlist import expand
from gpuaas_slurm.render.files import SLURM_USER

SIGNALLED = 0x7F

COMPLETING = "COMPLETING"
"""The script ended, and something of it is still on a node: an epilog, processes being killed."""

TRIAL = "gpuaas-trial"
"""What the app's own jobs are called, which try a node and take a moment."""
TRIAL_USER, TRIAL_ACCOUNT = SLURM_USER, "root"
"""As whom they run, and what they charge: accounting has this account of its own accord."""

FINISHED = {
    "COMPLETED",
    "CANCELLED",
    "FAILED",
    "TIMEOUT",
    "NODE_FAIL",
    "PREEMPTED",
    "BOOT_FAIL",
    "DEADLINE",
    "OUT_OF_MEMORY",
}


@dataclass(frozen=True)
class Job:
    """A job record; for an array that still waits, one record stands for its tasks.

    `output` is empty where Slurm does not say: 22.05 leaves out the default name. `node_count` is
    None of a completing job, whose nodes the controller counts down while they are handed back;
    how many it had is accounting's to say.
    """

    id: int
    array_id: int | None
    array_task: int | None
    array_tasks: str
    name: str
    user: str
    account: str
    partition: str
    state: str
    reason: str
    nodes: tuple[str, ...]
    required_nodes: tuple[str, ...]
    node_count: int | None
    tres: str
    submitted_at: int | None
    started_at: int | None
    ended_at: int | None
    exit_code: int | None
    comment: str
    output: str

    @property
    def finished(self) -> bool:
        """Nothing of it runs or waits any more."""
        return self.state in FINISHED

    @property
    def running(self) -> bool:
        """It holds nodes: running, starting, stopped for a while, or cleaning up."""
        return not self.finished and self.state != "PENDING"

    @property
    def leaving(self) -> bool:
        """It holds nodes and ends by itself in a moment: being cleaned up, or a trial of our own.

        A trial outlives a controller that is killed while it waits for it.
        """
        ours = self.name == TRIAL and self.user == TRIAL_USER
        return self.running and (ours or self.state == COMPLETING)

    def names(self, node: str) -> bool:
        """Say whether the record names a node, whatever its state."""
        return node in self.nodes or node in self.required_nodes


def job_from_json(row: dict[str, Any]) -> Job:
    """Return a job of `squeue --json`, as 22.05 writes it or as later releases do."""
    state = _state(row["job_state"])
    pending = state == "PENDING"
    return Job(
        id=row["job_id"],
        array_id=moment(row["array_job_id"]),
        array_task=number(row["array_task_id"]),
        array_tasks=row["array_task_string"] or "",
        name=row["name"],
        user=row["user_name"],
        account=row["account"] or "",
        partition=row["partition"],
        state=state,
        reason=row["state_reason"],
        nodes=tuple(expand(row["nodes"] or "")),
        required_nodes=tuple(expand(row["required_nodes"] or "")),
        node_count=None if state == COMPLETING else number(row["node_count"]) or 0,
        tres=row["tres_alloc_str"] or row["tres_req_str"] or "",
        submitted_at=moment(row["submit_time"]),
        # Of a waiting job these are the scheduler's guess, and no fact.
        started_at=None if pending else moment(row["start_time"]),
        ended_at=moment(row["end_time"]) if state in FINISHED else None,
        exit_code=_exit_code(row["exit_code"]) if state in FINISHED else None,
        comment=row["comment"] or "",
        output=row["standard_output"] or "",
    )


def _state(value: str | list[str]) -> str:
    """Return the state; later releases write how it ended first, while it still completes."""
    states = [value] if isinstance(value, str) else value
    return COMPLETING if COMPLETING in states else states[0]


def _exit_code(value: Any) -> int | None:  # noqa: ANN401  JSON of two generations
    """Return what the script returned; None when a signal ended it, or nothing was started."""
    if isinstance(value, dict):
        return number(value["return_code"])
    # 22.05 writes the status of wait(2): the low bits are a signal.
    return None if int(value) & SIGNALLED else int(value) >> 8
