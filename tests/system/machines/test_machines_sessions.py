"""Sessions on real machines: scripts, files, units, and what a machine itself remembers of them."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from gpuaas_sdk import File, Machines, ScriptFailed, ScriptTimedOut
from gpuaas_sdk.machines import ssh_access
from gpuaas_sdk.machines.ssh_wire import SshWire
from tools.ground import Ground

pytestmark = pytest.mark.system
LATE = b"""[Service]
Type=notify
NotifyAccess=all
ExecStart=/bin/sh -c 'sleep 1; systemd-notify --ready; sleep 99'
"""
BAD = b"""[Service]
ExecStart=/bin/sh -c 'echo the reason; exit 5'
"""


async def test_a_script_runs_as_root_with_its_environment_and_input(
    ground: Ground, machines: Machines
) -> None:
    machine = await machines.open(ground.allocation("n1"))
    ran = await machine.run(
        'id -u; echo "$GREETING"; cat; echo "$GPUAAS_CORRELATION_ID" >&2',
        env={"GREETING": 'it\'s "me"\n$HOME'},
        input=b"from outside",
    )
    assert ran.stdout == '0\nit\'s "me"\n$HOME\nfrom outside'
    assert ran.stderr == "cor_sessions\n"
    assert (ran.status, ran.cut) == (0, False)


async def test_a_script_that_fails_says_what_where_and_how(
    ground: Ground, machines: Machines
) -> None:
    allocation = ground.allocation("n1")
    machine = await machines.open(allocation)
    with pytest.raises(ScriptFailed) as raised:
        await machine.run("echo fine; echo 'no such thing' >&2; exit 7")
    failure = raised.value
    assert failure.message == f"a test ended with 7 on the machine of {allocation}: no such thing"
    assert failure.detail["exit_code"] == 7
    assert failure.detail["stdout"] == "fine"
    ran = await machine.run("exit 3", check=False)
    assert ran.status == 3
    broken = await machine.run("if then (", check=False)
    assert broken.status != 0
    assert "yntax error" in broken.stderr


async def test_time_is_up_for_everything_a_script_started(
    ground: Ground, machines: Machines
) -> None:
    machine = await machines.open(ground.allocation("n1"))
    with pytest.raises(ScriptTimedOut) as raised:
        await machine.run("echo begun; sleep 4711 & sleep 4712", timeout=4)
    assert raised.value.detail["stdout"] == "begun"
    assert await _left(machines, ground, "sleep 471[12]") == ""


async def test_a_script_that_does_not_listen_is_ended_for_good(
    ground: Ground, machines: Machines
) -> None:
    machine = await machines.open(ground.allocation("n1"))
    with pytest.raises(ScriptTimedOut):
        await machine.run("trap '' TERM; while :; do sleep 4.713; done", timeout=0.5)
    assert await _left(machines, ground, "sleep 4.71[3]") == ""


async def test_a_cancelled_script_is_ended_on_the_machine(
    ground: Ground, machines: Machines
) -> None:
    machine = await machines.open(ground.allocation("n1"))
    running = asyncio.create_task(machine.run("touch /run/begun; exec sleep 4714"))
    await machine.run("until [ -e /run/begun ]; do sleep 0.05; done; rm /run/begun")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    gone = "until ! pgrep -f 'sleep 471[4]'; do sleep 0.1; done"
    await machine.run(gone)


async def test_what_is_left_in_the_background_is_not_waited_for(
    ground: Ground, machines: Machines
) -> None:
    machine = await machines.open(ground.allocation("n1"))
    ran = await machine.run("sleep 4715 & echo $!", timeout=30)
    await machine.run(f"kill {int(ran.stdout)}")


async def test_a_flood_of_output_is_bounded_and_its_ends_are_kept(
    ground: Ground, machines: Machines
) -> None:
    machine = await machines.open(ground.allocation("n1"))
    ran = await machine.run("echo first; head -c 8000000 /dev/zero | tr '\\0' x; echo; echo last")
    assert ran.cut
    assert ran.stdout.startswith("first\nx")
    assert ran.stdout.endswith("x\nlast\n")
    assert "bytes left out" in ran.stdout
    assert len(ran.stdout) < 1.5 * (1 << 20)


async def test_more_scripts_at_once_than_sshd_has_sessions(
    ground: Ground, machines: Machines
) -> None:
    machine = await machines.open(ground.allocation("n1"))
    ran = await asyncio.gather(*(machine.run(f"sleep 0.1; echo {n}") for n in range(30)))
    assert [one.stdout.strip() for one in ran] == [str(n) for n in range(30)]


async def test_files_arrive_whole_with_owner_and_mode(
    ground: Ground, machines: Machines, tmp_path: Path
) -> None:
    machine = await machines.open(ground.allocation("n1"))
    big = tmp_path / "big"
    big.write_bytes(bytes(range(256)) * 20_000)
    odd = '/srv/put here/it\'s "odd"'
    await machine.put(
        File(odd, b"\x00\xff no newline"),
        File("/srv/put here/big", big, mode=0o600),
        File("/srv/put here/empty", b"", mode=0o4755, owner="daemon", group="adm"),
    )
    assert await machine.get(odd) == b"\x00\xff no newline"
    assert await machine.get("/srv/put here/big", limit=6_000_000) == big.read_bytes()
    said = await machine.run("cd '/srv/put here' && stat -c '%n %a %U:%G %s' * && ls -A | wc -l")
    assert said.stdout.splitlines() == [
        "big 600 root:root 5120000",
        "empty 4755 daemon:adm 0",
        'it\'s "odd" 644 root:root 13',
        "3",
    ]
    ran = await machine.put(
        File("/srv/put here/big", b"small now"), then='cat "$WHICH"; umask', env={"WHICH": odd}
    )
    assert ran.stdout == "\x00\ufffd no newline0022\n"
    assert await machine.get("/srv/put here/big") == b"small now"
    await machine.run("rm -r '/srv/put here'")


async def test_a_file_that_cannot_be_put_leaves_nothing_behind(
    ground: Ground, machines: Machines
) -> None:
    machine = await machines.open(ground.allocation("n1"))
    with pytest.raises(ScriptFailed, match="invalid user"):
        await machine.put(File("/srv/half/file", b"content", owner="nobody-here"))
    await machine.run("mkdir -p /srv/half/folder")
    with pytest.raises(ScriptFailed):
        await machine.put(File("/srv/half/folder", b"content"))
    assert (await machine.run("ls -A /srv/half; rm -r /srv/half")).stdout == "folder\n"
    with pytest.raises(ScriptFailed, match="longer than 4 bytes"):
        await machine.get("/etc/passwd", limit=4)
    with pytest.raises(ScriptFailed, match="No such file"):
        await machine.get("/srv/nothing")


async def test_units_are_seen_and_waited_for(ground: Ground, machines: Machines) -> None:
    machine = await machines.open(ground.allocation("n1"))
    await machine.put(
        File("/run/systemd/system/late.service", LATE),
        File("/run/systemd/system/bad.service", BAD),
    )
    await machine.run("systemctl daemon-reload; systemctl start --no-block late bad")
    unit = await machine.unit_wait("late.service", timeout=30)
    assert (unit.load, unit.active, unit.sub, unit.result) == (
        "loaded", "active", "running", "success",
    )  # fmt: skip
    assert unit.main_pid > 1
    with pytest.raises(ScriptFailed, match=r"bad.service is failed[\s\S]*the reason"):
        await machine.unit_wait("bad.service", timeout=30)
    with pytest.raises(ScriptTimedOut, match="is active"):
        await machine.unit_wait("late.service", active="inactive", timeout=0.5)
    await machine.run(
        "systemctl stop late; systemctl reset-failed bad; rm /run/systemd/system/*.service"
    )
    await machine.run("systemctl daemon-reload")
    assert (await machine.unit("late.service")).load == "not-found"


async def test_nobody_on_the_machine_reads_a_script_from_the_process_list(
    ground: Ground, machines: Machines
) -> None:
    machine = await machines.open(ground.allocation("n1"))
    canary, until = "canary-5b1d", "until [ -e /run/over ]; do sleep 0.1; done"
    running = asyncio.create_task(
        machine.run(
            f": {canary}; cat >/run/canary; sleep 4718 & {until}",
            env={"SECRET": canary},
            input=canary.encode(),
        )
    )
    look = (
        "until [ -s /run/canary ] && pgrep -f 'sleep 471[8]' >/dev/null; do sleep 0.05; done; "
        "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '; true"
    )
    ran = await machine.run(look)
    await machine.run("touch /run/over; pkill -f 'sleep 471[8]'")
    await running
    await machine.run("rm /run/over /run/canary")
    assert "sleep 4718" in ran.stdout
    assert canary not in ran.stdout


async def test_the_correlation_id_is_in_the_machines_journal(
    ground: Ground, machines: Machines
) -> None:
    allocation = ground.allocation("n2")
    mine = machines.bound("cor_in_the_journal", "install things")
    machine = await mine.open(allocation)
    await machine.run("true")
    wait = "until journalctl -t gpuaas --output=cat | grep cor_in_the_journal; do sleep 0.1; done"
    said = (await machine.run(wait)).stdout
    expected = f"correlation_id=cor_in_the_journal allocation={allocation} what=install things"
    assert expected in said.splitlines()
    logins = await machine.run("journalctl -u ssh --output=cat | grep 'correlation=cor_'")
    assert f"caller={ground.project.id} correlation=cor_in_the_journal" in logins.stdout


async def test_a_connection_is_renewed_and_the_old_one_ends_with_its_last_script(
    ground: Ground, machines: Machines
) -> None:
    machine = await machines.open(ground.allocation("n1"))
    wire = machine.wire
    assert isinstance(wire, SshWire)
    assert wire._live is not None
    old = wire._live
    running = asyncio.create_task(
        machine.run("touch /run/old; until [ -e /run/new ]; do sleep 0.1; done")
    )
    await machine.run("until [ -e /run/old ]; do sleep 0.05; done")
    old.renew_at = 0.0
    await machine.run("touch /run/new")
    assert wire._live is not old
    assert (await running).status == 0
    await machine.run("rm /run/old /run/new")
    await asyncio.wait_for(old.connection.wait_closed(), 60)


async def test_a_person_gets_in_with_their_own_ssh(ground: Ground, tmp_path: Path) -> None:
    async with ground.operator() as client:
        access = await ssh_access(client, ground.allocation("n2"), folder=tmp_path / "a folder")
    assert access.folder.stat().st_mode & 0o777 == 0o700
    assert access.key.stat().st_mode & 0o777 == 0o600
    ran = await asyncio.to_thread(
        subprocess.run,
        [*access.command, "hostname"],
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=60,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout) == (0, "n2\n"), ran.stderr
    access.remove()
    assert not access.folder.exists()


async def _left(machines: Machines, ground: Ground, pattern: str) -> str:
    machine = await machines.open(ground.allocation("n1"))
    # All were told to end at once; each ends when it gets to it.
    find = f"pgrep -af '{pattern}'"
    look = f"for _ in $(seq 300); do {find} >/dev/null || break; sleep 0.1; done; {find}"
    return (await machine.run(look, check=False)).stdout
