"""A lab's record comes back as it was written, and a missing one is named with its remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuaas_lab import LabError, LabNotFound, MachineNotFound, Settings, store
from gpuaas_lab.seed import files, host_key_make, hosts_block
from gpuaas_lab.store import Cut, LabRecord, MachineRecord

RECORD = LabRecord(
    name="demo",
    suite="bookworm",
    image="/images/bookworm",
    subnet="10.213.4.0/24",
    machines=(MachineRecord("n1", "ssh-ed25519 AAAA one"), MachineRecord("n2", "two", gpus=8)),
    cuts=(Cut("n1", "n2"),),
)


def test_a_record_reads_back_the_same(tmp_path: Path) -> None:
    settings = Settings(state=tmp_path)
    store.lab_save(settings, RECORD)
    assert store.lab_load(settings, "demo") == RECORD
    assert list(store.lab_list(settings)) == [RECORD]
    assert (tmp_path / "demo").stat().st_mode & 0o777 == 0o700


def test_a_missing_lab_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(LabNotFound, match="gpuaas-lab up 2 --name demo"):
        store.lab_load(Settings(state=tmp_path), "demo")


def test_a_record_of_another_version_is_refused(tmp_path: Path) -> None:
    settings = Settings(state=tmp_path)
    store.lab_save(settings, RECORD)
    path = tmp_path / "demo/lab.json"
    path.write_text(path.read_text().replace('"version": 1', '"version": 2'))
    with pytest.raises(LabError, match="another version"):
        store.lab_load(settings, "demo")


def test_an_unknown_machine_lists_the_known_ones() -> None:
    with pytest.raises(MachineNotFound, match="it has: n1, n2"):
        RECORD.machine("n3")


def test_the_hosts_block_names_the_host_and_every_machine() -> None:
    lines = hosts_block(RECORD).splitlines()
    assert lines[1:-1] == ["10.213.4.1 host", "10.213.4.11 n1", "10.213.4.12 n2"]


def test_a_seeded_machine_knows_its_address_and_its_key() -> None:
    key = host_key_make("demo/n1")
    seeded = files(RECORD, "n1", key, "ssh-ed25519 lab")
    assert "Address=10.213.4.11/24" in seeded["etc/systemd/network/10-host0.network"]
    assert seeded["etc/ssh/ssh_host_ed25519_key.pub"].strip() == key.public
    assert "PRIVATE KEY" in seeded["etc/ssh/ssh_host_ed25519_key"]
