"""Answers of the real 22.05 and 24.11 (recorded/README.md), through the commands that ask."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from gpuaas_slurm.commands import (
    ControllerSilentError,
    Result,
    Slurm,
    SlurmCommandError,
    UnexpectedOutputError,
)
from gpuaas_slurm.commands.jobs import job_from_json
from gpuaas_slurm.commands.slurm import slurm_connect
from gpuaas_slurm.version import SlurmVersion

RECORDED = Path(__file__).parent / "recorded"
RELEASES = {"22.05": SlurmVersion(22, 5, 8), "24.11": SlurmVersion(24, 11, 5)}

ANSWERS = {
    ("sinfo", "nodes"): "nodes.json",
    ("squeue", "jobs"): "jobs.json",
    ("scontrol", "nodes"): "nodes.json",
    ("scontrol", "partition"): "partitions.txt",
    ("scontrol", "partitions"): "partitions.json",
    ("scontrol", "config"): "config.txt",
}


class Recorded:
    """Answers each command with what the real one printed, and remembers what was run."""

    def __init__(self, release: str, prefix: str = "") -> None:
        self.folder, self.prefix = RECORDED / release, prefix
        self.ran: list[list[str]] = []

    async def __call__(self, argv: Sequence[str]) -> Result:
        self.ran.append(list(argv))
        name = self._file(argv)
        if name is None:
            return Result(tuple(argv), 0, "", "")
        path = self.folder / f"{self.prefix}{name}"
        return Result(tuple(argv), self._code(path), path.read_text(), self._beside(path, "err"))

    def _file(self, argv: Sequence[str]) -> str | None:
        words = set(argv)
        if {"update", "delete", "add", "reconfigure"} & words:
            return None
        if "ping" in words:
            return "ping.json" if "--json" in words else "ping.txt"
        if argv[0] == "sacctmgr":
            return "associations.json" if "--json" in words else "associations.txt"
        kind = {"sinfo": "nodes", "squeue": "jobs"}.get(argv[0])
        kind = kind or next(w for w in argv if (argv[0], w) in ANSWERS)
        return ANSWERS[argv[0], kind]

    def _code(self, path: Path) -> int:
        return int(self._beside(path, "rc") or 0)

    def _beside(self, path: Path, what: str) -> str:
        beside = path.with_name(f"{path.name}.{what}")
        return beside.read_text() if beside.exists() else ""


@pytest.fixture(params=RELEASES)
def release(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def slurm(release: str) -> Slurm:
    return Slurm(Recorded(release), RELEASES[release])


async def test_the_release_is_the_running_controller_s(release: str) -> None:
    assert (await slurm_connect(Recorded(release))).version == RELEASES[release]


async def test_ping(slurm: Slurm) -> None:
    (found,) = await slurm.ping()
    assert found.mode == "primary"
    assert found.responding


async def test_a_controller_that_is_down_is_an_answer_to_ping(release: str) -> None:
    (found,) = await Slurm(Recorded(release, "silent-"), RELEASES[release]).ping()
    assert not found.responding


async def test_nodes(slurm: Slurm, release: str) -> None:
    controller, worker = await slurm.nodes()
    assert (controller.state, controller.busy, controller.schedulable) == ("ALLOCATED", True, True)
    assert controller.flags == {"DYNAMIC_NORM"}
    assert controller.reason == ""
    assert controller.reason_at is None
    assert worker.name == "worker-7"
    assert worker.hostname != worker.name
    assert worker.state == "MIXED"
    assert worker.draining
    assert worker.busy
    assert worker.responding
    assert not worker.schedulable
    assert worker.reason == "gpuaas:op_01HXYZ replace worker"
    assert worker.reason_by == "root"
    assert worker.reason_at is not None
    assert worker.features == ("ready",)
    assert worker.partitions == ("main", "probe")
    assert worker.gres == "gpu:h200:2"
    assert worker.cpus == 2
    assert worker.version == str(RELEASES[release])


async def test_a_node_the_controller_does_not_know(slurm: Slurm) -> None:
    assert await slurm.node("worker-8") is None
    found = await slurm.node("worker-7")
    assert found is not None


async def test_jobs(slurm: Slurm) -> None:
    jobs = await slurm.jobs()
    states = {job.name: job.state for job in jobs if job.array_task is None}
    assert states == {
        "running": "RUNNING",
        "failing": "FAILED",
        "cancelled": "CANCELLED",
        "array": "PENDING",
        "gpu": "RUNNING",
        "pending job": "PENDING",
    }
    by_name = {job.name: job for job in jobs if job.array_task is None}
    failing = by_name["failing"]
    assert failing.exit_code == 3
    assert failing.finished
    assert not failing.running
    assert failing.nodes == ("worker-7",)
    assert failing.names("worker-7")
    cancelled = by_name["cancelled"]
    assert cancelled.exit_code is None
    assert cancelled.ended_at is not None
    running = by_name["running"]
    assert (running.user, running.account, running.partition) == ("alice", "proj", "main")
    assert running.running
    assert running.started_at is not None
    assert running.ended_at is None
    assert running.output in {"", f"/home/alice/slurm-{running.id}.out"}
    assert "gres/gpu=1" in by_name["gpu"].tres
    assert by_name["gpu"].comment == "job_01HX"
    pending = by_name["pending job"]
    assert (pending.reason, pending.node_count) == ("Resources", 2)
    assert pending.nodes == ()
    assert pending.started_at is None
    assert by_name["array"].array_tasks == "2-3%1"
    (task,) = [job for job in jobs if job.array_task is not None]
    assert (task.array_task, task.array_id) == (1, by_name["array"].id)


async def test_a_trial_of_our_own_and_what_is_cleaned_up_leave_by_themselves(slurm: Slurm) -> None:
    running = next(job for job in await slurm.jobs() if job.name == "running")
    assert not running.leaving
    assert not replace(running, name="gpuaas-trial").leaving  # anybody may call theirs so
    assert replace(running, name="gpuaas-trial", user="slurm").leaving
    assert not replace(running, name="gpuaas-trial", user="root").leaving
    assert replace(running, state="COMPLETING").leaving
    assert not replace(running, name="gpuaas-trial", user="slurm", state="COMPLETED").leaving


async def test_a_completing_job_still_holds_its_nodes_and_has_no_count_of_them(
    release: str,
) -> None:
    (row, *_) = json.loads((RECORDED / release / "jobs.json").read_text())["jobs"]
    states: str | list[str] = ["COMPLETED", "COMPLETING"]
    if isinstance(row["job_state"], str):
        states = "COMPLETING"
    job = job_from_json({**row, "job_state": states})
    assert (job.state, job.finished, job.running) == ("COMPLETING", False, True)
    assert job.node_count is None


async def test_partitions(slurm: Slurm) -> None:
    main, probe = await slurm.partitions()
    assert (main.name, main.state) == ("main", "UP")
    assert "worker-7" in main.nodes
    assert main.accounts == ()
    assert len(probe.nodes) == 2


async def test_associations(slurm: Slurm) -> None:
    found = {(entry.account, entry.user) for entry in await slurm.associations()}
    assert found == {
        ("root", ""), ("root", "root"), ("proj", ""), ("proj", "alice"), ("proj", "root"),
    }  # fmt: skip


@pytest.mark.parametrize("question", ["nodes", "jobs", "partitions"])
async def test_silence_is_never_an_empty_answer(release: str, question: str) -> None:
    silent = Slurm(Recorded(release, "silent-"), RELEASES[release])
    with pytest.raises(ControllerSilentError):
        await getattr(silent, question)()


async def test_a_node_of_a_silent_controller_is_not_absent(release: str) -> None:
    silent = Slurm(Recorded(release, "silent-"), RELEASES[release])
    with pytest.raises(ControllerSilentError):
        await silent.node("worker-7")


async def test_accounting_that_does_not_answer(release: str) -> None:
    silent = Slurm(Recorded(release, "silentdbd-"), RELEASES[release])
    with pytest.raises(ControllerSilentError, match="Connection refused"):
        await silent.associations()


def test_the_recorded_trap_is_still_recorded() -> None:
    """Why jobs are not asked of scontrol: see recorded/README.md."""
    document = json.loads((RECORDED / "24.11/silent-scontrol-jobs.json").read_text())
    assert (document["jobs"], document["errors"]) == ([], [])


async def test_a_refused_change_carries_the_command_and_its_end(release: str) -> None:
    error = (RECORDED / release / "delete-busy.txt.err").read_text()

    async def run(argv: Sequence[str]) -> Result:
        return Result(tuple(argv), 1, "", error)

    with pytest.raises(SlurmCommandError, match="Requested nodes are busy") as raised:
        await Slurm(run, RELEASES[release]).node_delete("worker-7")
    assert "`scontrol delete NodeName=worker-7` ended with 1" in str(raised.value)
    assert raised.value.code == "command_failed"
    assert raised.value.detail["exit_code"] == 1
    assert raised.value.detail["command"] == "scontrol delete NodeName=worker-7"


@pytest.mark.parametrize("text", ["", "{}", '{"nodes": 3}', '{"nodes": [{"name": "n1"}]}', "[]"])
async def test_an_answer_in_another_form_raises(release: str, text: str) -> None:
    async def run(argv: Sequence[str]) -> Result:
        return Result(tuple(argv), 0, text, "")

    with pytest.raises(UnexpectedOutputError):
        await Slurm(run, RELEASES[release]).nodes()


async def test_changes_are_the_commands_they_say(release: str) -> None:
    run = Recorded(release)
    slurm = Slurm(run, RELEASES[release])
    await slurm.node_drain("n2", "gpuaas:op_1 remove")
    await slurm.node_resume("n2")
    await slurm.node_features_set("n2", ["main", "big"])
    await slurm.partition_nodes_set("main", ["n1", "n2"])
    await slurm.reconfigure()
    assert run.ran == [
        ["scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=gpuaas:op_1 remove"],
        ["scontrol", "update", "NodeName=n2", "State=RESUME"],
        ["scontrol", "update", "NodeName=n2", "AvailableFeatures=main,big",
         "ActiveFeatures=main,big"],
        ["scontrol", "update", "PartitionName=main", "Nodes=n[1-2]"],
        ["scontrol", "reconfigure"],
    ]  # fmt: skip


async def test_a_trial_runs_as_the_daemons_user_and_accounting_learns_of_it(release: str) -> None:
    ran: list[list[str]] = []

    async def run(argv: Sequence[str]) -> Result:
        ran.append(list(argv))
        if "srun" in argv and len(ran) == 1:
            said = "srun: error: Unable to allocate resources: Invalid account or account/partition"
            return Result(tuple(argv), 1, "", said)
        return Result(tuple(argv), 0, "n2\n", "")

    assert await Slurm(run, RELEASES[release]).trial(["n2"], 60) == ("n2",)
    first, added, second = ran
    assert first == second
    assert first[:4] == ["runuser", "-u", "slurm", "--"]
    assert added == ["sacctmgr", "--immediate", "add", "user", "slurm", "account=root"]


async def test_a_trial_that_fails_for_another_reason_is_not_run_again(release: str) -> None:
    ran: list[Sequence[str]] = []

    async def run(argv: Sequence[str]) -> Result:
        ran.append(argv)
        return Result(tuple(argv), 1, "", "srun: error: Unable to allocate resources")

    with pytest.raises(SlurmCommandError):
        await Slurm(run, RELEASES[release]).trial(["n2"], 60)
    assert len(ran) == 1


async def test_accounting_is_added_once(release: str) -> None:
    run = Recorded(release)
    slurm = Slurm(run, RELEASES[release])
    await slurm.cluster_add("hx")
    await slurm.account_add("hx", "proj")
    await slurm.user_add("hx", "proj", "alice")
    assert not [argv for argv in run.ran if "add" in argv]
    await slurm.cluster_add("other")
    await slurm.account_add("hx", "new")
    await slurm.user_add("hx", "proj", "bob")
    assert [argv[2:] for argv in run.ran if "add" in argv] == [
        ["add", "cluster", "other"],
        ["add", "account", "new", "cluster=hx"],
        ["add", "user", "bob", "account=proj", "cluster=hx"],
    ]
