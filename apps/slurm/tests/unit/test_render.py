"""Every rendered file against its golden copy.

GPUAAS_UPDATE_GOLDEN=1 writes the copies anew; read the difference before it is committed. That real
daemons take these files is proven in tests/system/slurm.
"""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from gpuaas_slurm.describe import cluster_from_json
from gpuaas_slurm.model import Accounting, ModelError, Switch
from gpuaas_slurm.render import cluster_files
from gpuaas_slurm.render.slurmdbd_conf import database_statements
from gpuaas_slurm.steps.daemons import Slurmdbd, start_script

HERE = Path(__file__).parent
CLUSTERS = {
    path.stem: cluster_from_json(path.read_bytes()) for path in sorted(HERE.glob("clusters/*.json"))
}
SEPARATE, SHARED = CLUSTERS["separate-22.05"], CLUSTERS["shared-24.11"]


@pytest.mark.parametrize("case", CLUSTERS)
def test_every_file_is_as_its_golden_copy(case: str) -> None:
    rendered = {
        f"{machine}{file.path}": file.text
        for machine, files in cluster_files(CLUSTERS[case]).items()
        for file in files
    }
    folder = HERE / "golden" / case
    if os.environ.get("GPUAAS_UPDATE_GOLDEN") == "1":
        shutil.rmtree(folder, ignore_errors=True)
        for name, text in rendered.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    kept = {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert rendered == kept


@pytest.mark.parametrize("case", CLUSTERS)
def test_every_machine_reads_the_same_slurm_conf(case: str) -> None:
    texts = {
        file.text
        for files in cluster_files(CLUSTERS[case]).values()
        for file in files
        if file.path == "/etc/slurm/slurm.conf"
    }
    assert len(texts) == 1


def test_a_worker_that_comes_or_goes_changes_no_other_machine() -> None:
    cluster = SEPARATE
    smaller = replace(cluster, workers=cluster.workers[:-1])
    before, after = cluster_files(smaller), cluster_files(cluster)
    assert {name: after[name] for name in before} == before


def test_a_worker_that_is_not_admitted_is_in_no_partition_of_users() -> None:
    unit = {file.path: file.text for file in cluster_files(SEPARATE)["n4"]}[
        "/etc/slurm/slurmd.gpuaas.env"
    ]
    assert "Feature=gpuaas_admission " in unit
    assert "main" not in unit


def test_only_the_accounting_daemon_can_read_its_file() -> None:
    (file,) = [
        file for file in cluster_files(SEPARATE)["n1"] if file.path == "/etc/slurm/slurmdbd.conf"
    ]
    assert (file.owner, file.mode) == ("slurm", 0o600)
    assert "StoragePass" not in file.text


@pytest.mark.parametrize("case", CLUSTERS)
def test_root_runs_no_jobs_and_people_see_their_own(case: str) -> None:
    for machine, files in cluster_files(CLUSTERS[case]).items():
        text = {file.path: file.text for file in files}
        assert "DisableRootJobs=YES\n" in text["/etc/slurm/slurm.conf"], machine
        assert (
            "PrivateData=accounts,jobs,reservations,usage,users\n"
            in (text["/etc/slurm/slurm.conf"])
        )
        accounting = text.get("/etc/slurm/slurmdbd.conf", "PrivateData=accounts,jobs")
        assert "PrivateData=accounts,jobs" in accounting
        assert "hidepid=2" in text["/etc/systemd/system/gpuaas-slurm-processes.service"]


def test_accounting_may_take_hours_to_start_since_it_converts_its_tables() -> None:
    (unit,) = [
        file.text
        for file in cluster_files(SEPARATE)["n1"]
        if file.path == "/etc/systemd/system/slurmdbd.service.d/60-gpuaas.conf"
    ]
    assert "TimeoutStartSec=21600\n" in unit
    step = Slurmdbd.deadline_seconds
    assert step is not None
    assert step > 21600
    assert start_script("slurmdbd").timeout >= 21600


def test_the_database_is_made_by_statements_that_may_be_repeated() -> None:
    statements = database_statements(Accounting())
    assert all("IF NOT EXISTS" in text or text.startswith("GRANT") for text in statements)
    assert "unix_socket" in statements[1]


def test_no_topology_before_23_11() -> None:
    cluster = replace(SEPARATE, switches=(Switch("s", machines=("n2", "n3", "n4")),))
    with pytest.raises(ModelError, match="no topology"):
        cluster_files(cluster)


def test_switches_name_exactly_the_workers() -> None:
    cluster = replace(SHARED, switches=(Switch("s", machines=("n2", "n3", "n9")),))
    with pytest.raises(ModelError, match="n4, n5, n9"):
        cluster_files(cluster)
