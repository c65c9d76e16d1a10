"""Tasks on a real machine: limits, users, output, secrets, files; and what must not be seen."""

import hashlib
import secrets

from agent_hosts import Host

from gpuaas_contract.custody import RuntimeSecret, RuntimeSecretCreate


async def test_a_script_says_how_it_ended(host: Host) -> None:
    failed = await host.script("echo out; echo err >&2; exit 7")
    assert failed.status == "failed"
    assert failed.result is not None
    assert (failed.result.code, failed.result.exit_status) == ("exit_status", 7)
    assert await host.output(failed) == b"out\nerr\n"
    killed = await host.script("kill -9 $$")
    assert killed.result is not None
    assert killed.result.code == "killed"


async def test_a_script_runs_as_whom_and_with_what_it_was_told(host: Host) -> None:
    await host.machine.run("id carol || useradd -m carol")
    said = await host.script(
        "id -un; pwd; echo $GREETING; ls /var/lib/gpuaas-agent 2>&1 | tail -1",
        user="carol",
        environment={"GREETING": "good morning"},
    )
    lines = (await host.output(said)).decode().splitlines()
    assert lines[:3] == ["carol", "/", "good morning"]
    assert "Permission denied" in lines[3]
    nobody = await host.script("true", user="no-such-user")
    assert nobody.result is not None
    assert (nobody.status, nobody.result.code) == ("failed", "cannot_run")


async def test_a_script_that_takes_too_long_is_stopped_with_all_it_started(host: Host) -> None:
    late = await host.script("sleep 4711 & setsid sleep 4711 & sleep 4711", timeout_seconds=1)
    assert late.result is not None
    assert (late.status, late.result.code) == ("failed", "timed_out")
    assert (await host.machine.run("pgrep -fc '[s]leep 4711'", check=False)).stdout.strip() == "0"


async def test_a_script_gets_no_more_memory_than_it_was_given(host: Host) -> None:
    take = "python3 -c 'print(len(bytearray({} << 20)))'"
    greedy = await host.script(take.format(300), memory_mib=64)
    assert greedy.status == "failed"
    assert greedy.result is not None
    assert greedy.result.code in {"exit_status", "killed"}
    modest = await host.script(take.format(8), memory_mib=64)
    assert await host.output(modest) == b"8388608\n"


async def test_what_a_script_leaves_running_ends_with_it(host: Host) -> None:
    done = await host.script("setsid sleep 4712 >/dev/null 2>&1 & echo started")
    assert done.status == "succeeded"
    await host.until("! pgrep -f '[s]leep 4712'")


async def test_a_task_can_be_stopped(host: Host) -> None:
    task = await host.started("setsid sleep 4713 & sleep 4713")
    await host.cancel(task)
    ended = await host.ended(task)
    assert (ended.status, ended.cancel_requested_at is not None) == ("cancelled", True)
    assert (await host.machine.run("pgrep -fc '[s]leep 4713'", check=False)).stdout.strip() == "0"
    await host.machine.run("rm /root/here")


async def test_a_flood_of_output_is_bounded(host: Host) -> None:
    flood = "echo begin; head -c 60000000 /dev/zero | tr '\\0' x; echo; echo end"
    done = await host.script(flood, output_bytes=100_000)
    assert (done.status, done.output_cut) == ("succeeded", True)
    output = await host.output(done)
    assert len(output) < 100_100
    assert output.startswith(b"begin\nxxx")
    assert output.endswith(b"xxx\nend\n")
    assert b"bytes left out" in output
    used = (await host.machine.run("du -sk /var/lib/gpuaas-agent | cut -f1")).stdout
    assert int(used) < 500


async def test_many_tasks_at_once(host: Host) -> None:
    wanted = [
        await host.task({"kind": "run_script", "script": f"echo {number}"}) for number in range(12)
    ]
    for number, task in enumerate(wanted):
        assert (await host.ended(task)).status == "succeeded"
        assert await host.output(task) == f"{number}\n".encode()


async def test_a_file_comes_back(host: Host) -> None:
    await host.machine.run("head -c 200000 /dev/urandom > /root/some.bin")
    got = await host.done({"kind": "collect_file", "path": "/root/some.bin"})
    assert got.status == "succeeded"
    content = await host.output(got)
    assert got.result is not None
    assert got.result.digest == f"sha256:{hashlib.sha256(content).hexdigest()}"
    local = (await host.machine.run("sha256sum /root/some.bin")).stdout.split()[0]
    assert got.result.digest == f"sha256:{local}"
    for spec, code in (
        ({"path": "/root/none.bin"}, "not_found"),
        ({"path": "/root/some.bin", "max_bytes": 1000}, "too_large"),
        ({"path": "/root"}, "not_a_file"),
        ({"path": "/dev/zero"}, "not_a_file"),
    ):
        refused = await host.done({"kind": "collect_file", **spec})
        assert refused.result is not None
        assert (refused.status, refused.result.code) == ("failed", code), spec


async def test_a_secret_is_in_its_file_and_nowhere_else(host: Host) -> None:
    value = f"canary-{secrets.token_hex(24)}"
    path = f"/projects/{host.ground.project_id}/runtime-secrets"
    wish = RuntimeSecretCreate(name=f"key-{secrets.token_hex(4)}", value=value)
    secret = await host.operator.post(path, wish, RuntimeSecret)
    await host.machine.run("id dave || useradd dave; mkdir -p /etc/app")
    spec = {"kind": "deliver_secret", "secret_id": secret.id, "path": "/etc/app/key"}
    done = await host.done({**spec, "owner": "dave", "group": "dave", "mode": "0400"})
    assert done.status == "succeeded", done.result
    assert await host.machine.read("/etc/app/key") == value
    found = await host.machine.run("stat -c '%U %G %a' /etc/app/key")
    assert found.stdout.split() == ["dave", "dave", "400"]
    assert await _seen(host, value) == ["/etc/app/key"]
    missing = await host.done({**spec, "path": "/etc/nowhere/key"})
    assert missing.result is not None
    assert missing.result.code == "no_folder"
    log = host.ground.served.log.read_text()
    assert value not in log
    assert value not in done.model_dump_json()


async def _seen(host: Host, value: str) -> list[str]:
    """Files, journal, processes and environments of the machine that hold a value."""
    pattern = "/root/pattern"
    await host.machine.write(pattern, value)
    files = await host.machine.run(
        f"grep -rlF -f {pattern} / --exclude-dir=proc --exclude-dir=sys --exclude-dir=dev"
        f" --exclude={pattern.rsplit('/', 1)[1]} 2>/dev/null",
        check=False,
    )
    words = await host.machine.run(
        f"journalctl --no-pager -o json --all | grep -cF -f {pattern};"
        f" cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | grep -caF -f {pattern}",
        check=False,
    )
    assert words.stdout.split() == ["0", "0"]
    await host.machine.run(f"rm {pattern}")
    return files.stdout.split()


async def test_the_correlation_is_in_the_machines_journal(host: Host) -> None:
    done = await host.script("true")
    words = f"task {done.id} begins, correlation {done.correlation_id}"
    told = f"journalctl --no-pager -o cat GPUAAS_CORRELATION_ID={done.correlation_id}"
    await host.until(f"{told} | grep -qF '{words}'")
