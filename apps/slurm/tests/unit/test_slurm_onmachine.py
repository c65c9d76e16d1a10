"""What scripts say of a machine, read; and that a text cut short is never an empty machine."""

import stat
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from gpuaas_slurm.commands.batch import answering, batch_answers, batch_script
from gpuaas_slurm.onmachine.facts import machine_facts
from gpuaas_slurm.onmachine.look import Looked, LookError, MachineLook, UnitSeen, machine_look
from gpuaas_slurm.onmachine.residue import residue_env, residue_found
from gpuaas_slurm.onmachine.scripts import LOOK as LOOK_SCRIPT
from gpuaas_slurm.onmachine.scripts import Script, script_text

LOOK = """\
os\tdebian bookworm
hostname\tBox7.example.org
now\t1000.25
record\t{"instance_id": "inst_1"}
package\tinstalled slurmd 22.05.8-4
package\tconfig-files slurmdbd 22.05.8-4
digest\tabc  /etc/slurm/slurm.conf
mode\t644 root root 123 /etc/slurm/slurm.conf
present\t/var/lib/gpuaas-slurm/database.made
unit\tId=munge.service
unit\tLoadState=loaded
unit\tActiveState=active
unit\tSubState=running
unit\tResult=success
unit\tMainPID=42
unit\tNRestarts=1
unit\tInactiveExitTimestamp=@99
unit\t
unit\tId=slurmd.service
unit\tLoadState=not-found
unit\tActiveState=inactive
unit\tSubState=dead
end\tlook
"""

FACTS = """\
arch\tamd64
root\t0
systemd\tyes
memory\t4194304
disk\t2000000
cpu\t0,0,0
cpu\t1,1,0
cpu\t2,0,1
cpu\t3,1,1
cgroup\tcgroup2 /sys/fs/cgroup rw,nosuid
controllers\tcpuset cpu memory
resolves\t10.0.0.7 box7
address\t10.0.0.7/24
port\t0.0.0.0:22 users:(("sshd",pid=9,fd=3))
gpufile\t/dev/nvidia1
gpufile\t/dev/nvidia0
gpu\t0, NVIDIA H100, 00000000:10:00.0
gpu\t1, NVIDIA H100, 00000000:11:00.0
minor\t0000:10:00.0 1
reaches\t10.0.0.1
end\tfacts
"""


def shell(text: str, **env: str) -> "subprocess.CompletedProcess[str]":
    """Run a text with the shell machines have."""
    given = {"PATH": "/bin", **env}
    return subprocess.run(
        ["/bin/sh", "-euc" if text == script_text("home") else "-c", text],
        capture_output=True,
        text=True,
        check=False,
        env=given,
    )


def test_a_look() -> None:
    found = machine_look(LOOK)
    assert (found.system, found.codename, found.hostname) == ("debian", "bookworm", "box7")
    assert found.packages == {"slurmd": "22.05.8-4"}
    assert found.files["/etc/slurm/slurm.conf"].digest == "abc"
    assert found.unit("munge").up
    assert found.unit("munge").started_at == 99
    assert found.unit("slurmd").load == "not-found"
    assert not found.unit("never-heard-of").up
    assert found.record == {"instance_id": "inst_1"}


@pytest.mark.parametrize("cut", [0, 10, len(LOOK) // 2, len(LOOK) - 4])
def test_a_look_cut_short_is_no_look(cut: int) -> None:
    with pytest.raises(LookError):
        machine_look(LOOK[:cut])


def test_facts() -> None:
    found = machine_facts(FACTS, "box7")
    assert found.facts["cpu"] == {"sockets": 2, "cores": 4, "threads": 4}
    assert found.facts["cgroups"] == {
        "version": "v2", "controllers": ["cpuset", "cpu", "memory"], "writable": True,
    }  # fmt: skip
    assert found.facts["gpus"]["device_files"] == ["/dev/nvidia0", "/dev/nvidia1"]
    files = [gpu["device_file"] for gpu in found.facts["gpus"]["devices"]]
    assert files == ["/dev/nvidia1", None]
    assert (found.listeners[0].port, found.listeners[0].program) == (22, "sshd")
    assert found.reaches == {"10.0.0.1"}
    assert found.addresses == ("10.0.0.7",)


def test_a_driver_that_does_not_answer_makes_gpus_unknown_and_not_absent() -> None:
    text = FACTS.replace("gpu\t0, NVIDIA H100, 00000000:10:00.0\n", "gpu\tcould not talk to it\n")
    assert machine_facts(text, "box7").facts["gpus"]["devices"] is None


def test_residue_is_told_by_kind() -> None:
    said = "left\tprocess slurmd 17\nleft\tfile /etc/slurm\nend\tresidue\n"
    assert residue_found(said) == {"process": ["slurmd 17"], "file": ["/etc/slurm"]}
    assert residue_found("end\tresidue\n") == {}
    with pytest.raises(LookError):
        residue_found("")


@pytest.mark.parametrize(
    ("listed", "left"),
    [
        (None, {}),
        ("munge\nmysql\n", {}),
        ("mysql\n", {"process": ["munged 7"], "package": ["munge installed"], "user": ["munge"]}),
    ],
    ids=["nobody_knows", "there_before", "brought"],
)
def test_what_was_there_before_is_no_residue(
    tmp_path: Path, listed: str | None, left: dict[str, list[str]]
) -> None:
    """A machine with munge and its user, by commands that say so."""
    has = {
        "pgrep": '[ "$2" = munged ] && echo 7',
        "dpkg-query": 'for name; do :; done; [ "$name" = munge ] && printf installed',
        "getent": '[ "$1 $2" = "passwd munge" ]',
        "systemctl": "echo inactive",
        "ss": ":",
    }
    home = tmp_path / "home"
    for name, text in has.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    if listed is not None:
        home.mkdir()
        for kind in ("packages", "users", "groups"):
            (home / f"{kind}.before").write_text(listed)
    none = {"FILES": "", "OTHERS": "", "HOME_FOLDER": str(home), "PATH": f"{tmp_path}:/bin"}
    probed = shell(script_text("residue"), **{**residue_env(kept_packages=False), **none})
    found = residue_found(probed.stdout)
    found.pop("file", None)
    assert found == left


def test_the_key_goes_with_its_package_and_never_by_itself() -> None:
    assert "munge.key" not in residue_env(kept_packages=False)["FILES"]
    assert "munge.key" not in residue_env(kept_packages=True)["FILES"]


@pytest.mark.parametrize(
    "name",
    ["look", "facts", "home", "install", "munge", "database", "start", "stop", "reload", "clean",
     "residue", "people"],
)  # fmt: skip
def test_every_script_is_one_the_shell_reads(name: str) -> None:
    ran = subprocess.run(
        ["/bin/sh", "-n", "-c", script_text(name)], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_apps_folder_is_its_owners_alone_and_keeps_what_is_in_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for _ in range(2):
        assert shell(script_text("home"), HOME_FOLDER=str(home)).returncode == 0
        assert stat.S_IMODE(home.stat().st_mode) == 0o700
        (home / "record.json").write_text("kept")
        home.chmod(0o755)  # as an older release left it
    assert (home / "record.json").read_text() == "kept"


@pytest.mark.parametrize("planted", ["link", "writable", "file", "dangling"])
def test_what_somebody_else_put_in_the_folders_place_is_not_trusted(
    tmp_path: Path, planted: str
) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o755)
    (elsewhere / "lock").write_text("theirs")
    if planted in {"link", "dangling"}:
        home.symlink_to(elsewhere if planted == "link" else tmp_path / "none")
    elif planted == "file":
        home.write_text("")
    else:
        home.mkdir()
        (home / "lock").symlink_to(elsewhere / "lock")
        home.chmod(0o777)
    assert shell(script_text("home"), HOME_FOLDER=str(home)).returncode == 0
    assert not home.is_symlink()
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert list(home.iterdir()) == []
    assert (elsewhere / "lock").read_text() == "theirs"
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o755


def test_a_look_takes_no_word_from_a_folder_that_is_a_link(tmp_path: Path) -> None:
    real, home = tmp_path / "real", tmp_path / "home"
    real.mkdir()
    (real / "record.json").write_text('{"instance_id": "inst_planted"}\n')
    home.symlink_to(real)

    def looked(folder: Path) -> MachineLook:
        env = {**LOOK_SCRIPT.environment, "SEES": "", "UNITS": "", "HOME_FOLDER": str(folder)}
        return machine_look(shell(script_text("look"), **env).stdout)

    assert looked(home).record is None
    assert looked(real).record == {"instance_id": "inst_planted"}


def test_every_script_that_changes_something_makes_the_folder_safe_first() -> None:
    safe = script_text("home")
    assert safe in Script("install").text.partition(script_text("install"))[0]
    assert safe not in LOOK_SCRIPT.text


def test_a_script_that_fails_in_the_middle_ends_there() -> None:
    text = Script("nothing").text.replace(":\n)", "false\necho went on >&2\n)")
    assert "went on" in text
    ran = shell(text)
    assert ran.returncode == 1
    assert "went on" not in ran.stderr


async def test_answers_of_many_commands_in_one_round_trip() -> None:
    questions = [("printf", "one\\ntwo"), ("sh", "-c", "echo bad >&2; exit 3"), ("true",)]
    said = shell(f"echo before; {batch_script(questions)}").stdout
    answers = batch_answers(questions, said)
    run = answering(answers)
    assert (await run(questions[0])).stdout == "one\ntwo"
    failed = await run(questions[1])
    assert (failed.exit_code, failed.stderr) == (3, "bad\n")
    with pytest.raises(ValueError, match="3 of 4 came"):
        batch_answers([*questions, ("more",)], said)


async def test_commands_are_asked_at_once_and_a_look_is_taken_meanwhile() -> None:
    meet = ("sh", "-c", 'mkdir "$0" 2>/dev/null; until [ -d "$1" ]; do sleep 0.01; done; echo met')
    with TemporaryDirectory() as folder:
        first, second = f"{folder}/1", f"{folder}/2"
        questions = [(*meet, first, second), (*meet, second, first)]
        said = shell(batch_script(questions, "printf 'end\\tlook\\n'")).stdout
    assert said.startswith("end\tlook\nanswer\t")
    assert {one.stdout for one in batch_answers(questions, said).values()} == {"met\n"}


def test_nothing_is_asked_where_nobody_would_answer() -> None:
    assert shell(batch_script([("echo", "asked")], "echo looked", "false")).stdout == "looked\n"


def test_of_looks_at_parts_each_part_is_as_last_seen() -> None:
    up, down = {"slurmd": UnitSeen(active="active")}, {"slurmd": UnitSeen(active="failed")}
    first = MachineLook("debian", "bookworm", "n1", 10.0, packages={"slurmd": "1"}, units=down)
    known = Looked.whole(first)
    later = MachineLook("debian", "bookworm", "n1", 12.0, units=up, restored="op_1")
    known = known.and_then(later, ("units",))
    assert known.look == MachineLook(
        "debian", "bookworm", "n1", 12.0, packages={"slurmd": "1"}, units=up, restored="op_1"
    )
    early = MachineLook("debian", "bookworm", "n1", 11.0, packages={"slurmd": "2"}, units=down)
    known = known.and_then(early, ("packages", "units"))
    assert (known.look.packages, known.look.units) == ({"slurmd": "2"}, up)
    assert known.look.restored == "op_1"


@pytest.mark.parametrize(
    ("codename", "name", "opened"),
    [
        ("bookworm", "libpmix.so", True),
        ("bookworm", "libpmix.so.2", False),  # its plugin opens the other name
        ("noble", "libpmix.so", True),
        ("trixie", "libpmix.so.2", True),
        ("unheard-of", "libpmix.so.2", False),
    ],
)
def test_the_library_of_mpi_counts_under_the_name_its_release_opens(
    codename: str, name: str, opened: bool
) -> None:
    path = f"/usr/lib/x86_64-linux-gnu/pmix2/lib/{name}"
    look = MachineLook("debian", codename, "n1", 10.0, present=frozenset({path}))
    assert look.pmix_library is opened
    assert path in LOOK_SCRIPT.environment["PROBED"].split()
