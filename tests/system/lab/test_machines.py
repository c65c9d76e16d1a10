"""A lab machine is a real one: booted Debian, OpenSSH, its own network, names that resolve."""

from __future__ import annotations

import asyncio

import asyncssh
import pytest

from gpuaas_lab import CommandFailed, Lab, MachineNotFound


async def test_a_machine_is_a_booted_debian(three: Lab) -> None:
    result = await three.machine("n1").run(
        "hostname; cat /proc/1/comm; systemctl is-active ssh systemd-networkd; dpkg --version"
    )
    assert result.stdout.splitlines()[:4] == ["n1", "systemd", "active", "active"]


async def test_every_unit_of_a_machine_is_healthy(three: Lab) -> None:
    waited = await three.machine("n2").run("systemctl is-system-running --wait", check=False)
    failed = await three.machine("n2").run("systemctl --failed --no-legend")
    assert (waited.stdout.strip(), failed.stdout) == ("running", "")


async def test_machines_are_told_apart(three: Lab) -> None:
    ids = [(await machine.run("cat /etc/machine-id")).stdout for machine in three.machines]
    keys = [(await machine.read("/etc/ssh/ssh_host_ed25519_key.pub")) for machine in three.machines]
    assert len(set(ids)) == len(set(keys)) == 3
    assert [key.strip() for key in keys] == [machine.host_key for machine in three.machines]


async def test_machines_reach_each_other_and_the_host_by_name(three: Lab) -> None:
    for name in ("n2", "n3", "host"):
        await three.machine("n1").run(f"ping -c 1 -w 30 {name}")


async def test_commands_run_side_by_side_on_one_connection(three: Lab) -> None:
    machine = three.machine("n1")
    results = await asyncio.gather(*(machine.run(f"echo {number}") for number in range(30)))
    assert [result.stdout.strip() for result in results] == [str(n) for n in range(30)]


async def test_a_failed_command_says_where_and_how(three: Lab) -> None:
    with pytest.raises(CommandFailed, match=r"n3: .* ended with 2: .*cannot access"):
        await three.machine("n3").run("ls /nowhere")
    quiet = await three.machine("n3").run("exit 7", check=False)
    assert quiet.status == 7


async def test_files_travel_both_ways(three: Lab) -> None:
    machine = three.machine("n1")
    await machine.write("/srv/a b/secret", "körper\n", 0o600)
    assert await machine.read("/srv/a b/secret") == "körper\n"
    assert (await machine.run("stat -c %a '/srv/a b/secret'")).stdout.strip() == "600"


async def test_a_machine_has_no_way_out(three: Lab) -> None:
    machine = three.machine("n1")
    routes = (await machine.run("ip -4 route; ip -6 route show default")).stdout.splitlines()
    assert [line.split()[0] for line in routes] == [three.record.subnet]
    # A documentation address: were there a route, nothing would be disturbed by the attempt.
    attempt = await machine.run("curl -sS --max-time 3 http://198.51.100.7/", check=False)
    assert attempt.status == 7, attempt


async def test_the_host_is_reachable_on_the_bridge(three: Lab) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.0 200 OK\r\n\r\nhello")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(greet, three.host_address, 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        answer = await three.machine("n2").run(f"curl -sS http://host:{port}/")
    assert answer.stdout == "hello"


async def test_a_changed_host_key_is_refused(three: Lab) -> None:
    machine = three.machine("n3")
    await machine.run(
        "cp -p /etc/ssh/ssh_host_ed25519_key /root/true && rm /etc/ssh/ssh_host_ed25519_key && "
        "ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key && systemctl restart ssh"
    )
    stranger = Lab(three.settings, three.record)
    try:
        with pytest.raises(asyncssh.HostKeyNotVerifiable):
            await stranger.machine("n3").run("true")
    finally:
        await stranger.close()
        # The connection from before the change still stands: the machine is put right through it.
        await machine.run("mv /root/true /etc/ssh/ssh_host_ed25519_key && systemctl restart ssh")
    await machine.disconnect()
    await machine.run("true")


async def test_an_unknown_machine_is_named(three: Lab) -> None:
    with pytest.raises(MachineNotFound, match="has no machine 'n9'"):
        three.machine("n9")
