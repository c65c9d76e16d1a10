"""The sections as a whole, on trees of recorded files: what is known, and what is said unknown."""

import json
from pathlib import Path
from typing import Any

import pytest

from gpuaas_agent.facts import nvidia
from gpuaas_agent.facts.activity import UNITS
from gpuaas_agent.facts.collect import SECTIONS, facts_collect
from gpuaas_agent.facts.programs import programs_run
from gpuaas_agent.facts.reading import Reader, UnreadableError
from gpuaas_agent.main import main

SAMPLES = Path(__file__).parent / "samples"


def h200() -> Reader:
    return Reader(
        SAMPLES / "h200",
        outputs={
            nvidia.SMI_GPUS: (SAMPLES / "h200.gpus.csv").read_text(),
            nvidia.SMI_TOPOLOGY: (SAMPLES / "h200.topology.txt").read_text(),
            nvidia.SMI_PROCESSES: "",
            UNITS: UnreadableError("systemctl", "exit code 1: no bus"),
        },
    )


def unknown(facts: dict[str, Any]) -> dict[str, str]:
    return {entry["fact"]: entry["reason"] for entry in facts["unknown"]}


def test_a_machine_under_nspawn() -> None:
    reader = Reader(SAMPLES / "nspawn", outputs={UNITS: (SAMPLES / "nspawn.units.txt").read_text()})
    facts = facts_collect(reader, now=lambda: 1_000_000.5, reference=1_000_000.0)
    assert facts["system"]["os_codename"] == "bookworm"
    assert facts["system"]["container"] == "systemd-nspawn"
    assert facts["system"]["fqdn"] == "b1.lab.internal"
    assert facts["cpu"] | {"numa_nodes": None} == {
        "model": "AMD EPYC", "vendor": "AuthenticAMD", "sockets": 1, "cores": 2, "threads": 2,
        "threads_usable": 2, "numa_nodes": None,
    }  # fmt: skip
    assert facts["cgroups"]["version"] == "hybrid"
    assert facts["cgroups"]["writable"] is False
    assert facts["storage"]["disks"] == [
        {"name": "vda", "size": 274877906944, "rotational": True, "model": None}
    ]
    assert [f["path"] for f in facts["storage"]["filesystems"]] == ["/"]
    assert facts["time"]["offset_seconds"] == 0.5
    assert facts["time"]["now"] == "1970-01-12T13:46:40.500000+00:00"
    assert facts["gpus"]["devices"] == []
    assert "time.synchronised" in unknown(facts)
    assert "network.addresses" in unknown(facts)


def test_a_machine_with_a_gpu() -> None:
    facts = facts_collect(h200(), ["gpus"])
    (gpu,) = facts["gpus"]["devices"]
    assert gpu["name"] == "NVIDIA H200"
    assert gpu["device_file"] == "/dev/nvidia0"
    assert gpu["numa_node"] is None
    assert facts["gpus"]["device_files"] == ["/dev/nvidia0"]
    assert facts["gpus"]["driver"] == "580.159.04"
    assert unknown(facts) == {"gpus.devices.0.numa_node": "the firmware names no node"}


def test_device_files_without_a_tool_are_an_unknown_number_of_gpus() -> None:
    facts = facts_collect(Reader(SAMPLES / "h200"), ["gpus"])
    assert facts["gpus"]["devices"] is None
    assert facts["gpus"]["device_files"] == ["/dev/nvidia0"]
    assert unknown(facts) == {"gpus.devices": "was not run"}


def test_a_gpu_whose_file_nobody_names_is_not_tied_to_one(tmp_path: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvidia0").touch()
    reader = Reader(tmp_path, outputs=h200().outputs)
    facts = facts_collect(reader, ["gpus"])
    assert facts["gpus"]["devices"][0]["device_file"] is None
    assert "gpus.devices.0.device_file" in unknown(facts)


def test_amd_gpus_need_no_tool() -> None:
    facts = facts_collect(Reader(SAMPLES / "mi100"), ["gpus"])
    (gpu,) = facts["gpus"]["devices"]
    assert (gpu["vendor"], gpu["name"]) == ("amd", "arcturus")
    assert facts["gpus"]["device_files"] == ["/dev/dri/renderD128"]


def test_an_empty_root_is_all_unknown_and_nothing_is_guessed(tmp_path: Path) -> None:
    facts = facts_collect(Reader(tmp_path), now=lambda: 0.0)
    reasons = unknown(facts)
    for fact in (
        "system.os",
        "cpu.threads",
        "memory",
        "storage.disks",
        "cgroups",
        "time.synchronised",
    ):
        assert reasons[fact], fact
    assert facts["cpu"]["sockets"] is None
    assert facts["memory"]["total"] is None
    assert facts["cgroups"]["version"] is None
    assert facts["activity"]["listeners"] is None


def test_a_text_in_another_form_is_unknown_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: much kB\n")
    (note,) = facts_collect(Reader(tmp_path), ["memory"])["unknown"]
    assert note["source"] == "/proc/meminfo"
    assert "not in a form known here" in note["reason"]


def test_the_process_behind_a_listening_port(tmp_path: Path) -> None:
    (tmp_path / "proc/net").mkdir(parents=True)
    tcp = (SAMPLES / "nspawn/proc/net/tcp").read_text()
    (tmp_path / "proc/net/tcp").write_text(tcp)
    (tmp_path / "proc/77/fd").mkdir(parents=True)
    (tmp_path / "proc/77/comm").write_text("sshd\n")
    (tmp_path / "proc/77/fd/3").symlink_to("socket:[49606]")
    (tmp_path / "proc/77/fd/4").symlink_to("/dev/null")
    facts = facts_collect(Reader(tmp_path), ["activity"])
    owners = {entry["port"]: entry["process"] for entry in facts["activity"]["listeners"]}
    assert owners == {22: "sshd", 53: None, 5355: None}
    assert "3 of 4 sockets" in unknown(facts)["activity.listeners.pid"]


def test_a_file_that_may_not_be_read_says_so(tmp_path: Path) -> None:
    (tmp_path / "proc/meminfo").mkdir(parents=True)
    (note,) = facts_collect(Reader(tmp_path), ["memory"])["unknown"]
    assert note == {"fact": "memory", "source": "/proc/meminfo", "reason": "Is a directory"}


async def test_programs_are_bounded_and_their_failures_are_reasons(tmp_path: Path) -> None:
    def program(name: str, text: str) -> tuple[str, ...]:
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return (str(path),)

    good = program("good", "echo fine")
    bad = program("bad", "echo broken >&2; exit 9")
    slow = program("slow", "exec sleep 60")
    found = await programs_run([good, bad, ("no-such-program-here",)], deadline=60.0)
    assert found[good] == "fine\n"
    assert "exit code 9: broken" in str(found[bad])
    assert "is not installed" in str(found[("no-such-program-here",)])
    late = await programs_run([slow], deadline=0.2)
    assert "did not answer" in str(late[slow])


def test_the_command_prints_json_and_strict_complains(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["facts", "--root", str(tmp_path), "--compact", "--section", "cpu"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert set(printed) == {"format", "cpu", "unknown"}
    assert main(["facts", "--root", str(tmp_path), "--strict"]) == 3
    with pytest.raises(SystemExit) as usage:
        main(["facts", "--section", "weather"])
    assert usage.value.code == 2


def test_help_names_every_section_and_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["facts", "--help"])
    text = capsys.readouterr().out
    assert all(section in text for section in SECTIONS)
    assert "exit codes:" in text
