"""The same agent on the newest release: other Python, other OpenSSH, other systemd."""

from collections.abc import Awaitable, Callable

import asyncssh
from agent_hosts import Host, enrolment_make, held

from gpuaas_contract.capacity import Allocation
from gpuaas_lab import Lab
from tools.ground import ground_up
from tools.suites import suites

TRACES = "ls -d /etc/ssh/sshd_config.d/* /var/lib/*gpuaas* 2>/dev/null || true"


async def test_enrol_work_let_in_and_leave(lab_factory: Callable[..., Awaitable[Lab]]) -> None:
    lab = await lab_factory("agent-next", 1, suite=suites()[-1])
    async with ground_up(lab, hold=0) as ground, ground.operator() as operator:
        machine = lab.machine("n1")
        before = (await machine.run(TRACES)).stdout
        made = await enrolment_make(ground, machine)
        await machine.run(made.command)
        host = Host(ground, machine, ground.nodes["n1"], operator)
        host.allocation_id = await held(ground, "n1")
        await host.access_applied()
        done = await host.script("python3 -V; echo $GPUAAS_TASK_ID")
        assert (await host.output(done)).decode().split()[-1] == done.id
        late = await host.script("setsid sleep 4711 & sleep 4711", timeout_seconds=1)
        assert late.result is not None
        assert late.result.code == "timed_out"
        key = asyncssh.generate_private_key("ssh-ed25519")
        assert await host.login(key, await host.grant(key)) == "root"
        said = await machine.run("systemctl show -p NRestarts --value gpuaas-agent")
        assert said.stdout.strip() == "0"
        await ground.admin.post(f"/allocations/{host.allocation_id}/release", None, Allocation)
        await machine.run("gpuaas-agent unenroll")
        assert (await machine.run(TRACES)).stdout == before
