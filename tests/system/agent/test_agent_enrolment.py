"""Enrolment on a real, bare machine: one command, once; and no trace when it is undone."""

import json

from agent_hosts import Host, enrolment_make, held
from eventually import eventually

from gpuaas_contract.capacity import Allocation
from gpuaas_contract.fleet import Enrolment, EnrolmentRevoke, NodeFacts
from gpuaas_lab import Machine

# Everything a program could leave on a machine, but for what any use of it changes. Written so that
# no part of it reads like the agent's name: the shell that runs it is a process too.
TRACES = (
    "find / -xdev \\( -path /proc -o -path /sys -o -path /dev -o -path /run/systemd"
    " -o -path /run/log -o -path /var/log -o -path /run/user -o -path /run/sudo"
    " -o -path /run/host -o -path /var/lib/systemd \\) -prune -o -print | sort;"
    " cat /etc/ssh/sshd_config.d/* 2>/dev/null; systemctl list-unit-files '[g]puaas*' --no-legend;"
    " ls /run; ps -eo args | grep -c '[g]puaas'"
)


async def traces(machine: Machine) -> list[str]:
    """What is on a machine."""
    return (await machine.run(TRACES, check=False)).stdout.splitlines()


async def test_the_printed_command_makes_a_bare_machine_a_node(host: Host) -> None:
    node = await host.node()
    assert node.agent_version == "0.1.0"
    assert node.conditions == []
    said = await host.machine.run("gpuaas-agent status")
    assert json.loads(said.stdout)["node_id"] == host.node_id
    assert (await host.machine.run("systemctl is-active gpuaas-agent")).stdout.strip() == "active"
    done = await host.script("hostname; echo $GPUAAS_CORRELATION_ID")
    assert done.status == "succeeded"
    assert (await host.output(done)).decode().split() == ["n1", done.correlation_id]


async def test_a_token_serves_one_host_once(host: Host, other: Host) -> None:
    made = await enrolment_make(host.ground, other.machine)
    await other.machine.run(made.command)
    again = await other.machine.run(made.command, check=False)
    assert again.status != 0
    assert "is the node n2 of" in again.stderr
    await other.machine.run("gpuaas-agent unenroll --offline")
    reused = await other.machine.run(made.command, check=False)
    assert reused.status != 0
    assert "This enrolment was used already; make another one." in reused.stderr
    await other.unenrol(force=True)
    revoked = await enrolment_make(host.ground, other.machine)
    path = f"/enrolments/{revoked.enrolment.id}/revoke"
    await host.ground.admin.post(path, EnrolmentRevoke(), Enrolment)
    refused = await other.machine.run(revoked.command, check=False)
    assert "This enrolment was revoked; make another one." in refused.stderr


async def test_what_is_not_the_named_agent_is_not_run(other: Host) -> None:
    made = await enrolment_make(other.ground, other.machine)
    tampered = made.command.replace(made.agent_digest, "0" * 64)
    refused = await other.machine.run(tampered, check=False)
    assert refused.status != 0
    assert "this is not the agent the command names" in refused.stderr
    assert (await other.machine.run("ls /var/lib/gpuaas-agent", check=False)).status != 0
    assert (await other.machine.run("ls /run | grep gpuaas", check=False)).stdout == ""


async def test_what_already_runs_there_is_said(other: Host) -> None:
    made = await enrolment_make(other.ground, other.machine)
    await other.machine.run(
        "systemd-run --quiet --unit=bakery --description='Bread for all'"
        " python3 -m http.server 8123"
    )
    await other.until("ss -ltn | grep -q 8123")
    said = await other.machine.run(made.command)
    assert "This host already runs bakery.service (Bread for all)." in said.stderr
    assert "This host already listens on port 8123 (python3)." in said.stderr
    told = await other.ground.admin.get(f"/nodes/{other.node_id}/facts", NodeFacts)
    services = [one["unit"] for one in told.facts["activity"]["services"] if not one["base"]]
    assert services == ["bakery.service"]
    await other.machine.run("systemctl stop bakery")


async def test_facts_come_from_the_confined_unit_too(other: Host) -> None:
    """What root's shell can read, the agent in its unit can: nothing is cut off by its limits."""
    made = await enrolment_make(other.ground, other.machine)
    await other.machine.run(made.command)
    path = f"/nodes/{other.node_id}/facts"
    first = await other.ground.admin.get(path, NodeFacts)

    async def next_report() -> NodeFacts | None:
        told = await other.ground.admin.get(path, NodeFacts)
        return told if told.reported_at != first.reported_at else None

    second = await eventually(next_report, within=120, what="the unit reports facts")
    unknown = [{one["fact"] for one in told.facts["unknown"]} for told in (first, second)]
    assert unknown[1] <= unknown[0]
    assert abs(second.facts["time"]["offset_seconds"]) < 30
    said = await other.machine.run("systemctl show -p NRestarts --value gpuaas-agent")
    assert said.stdout.strip() == "0"


async def test_a_node_that_is_let_go_keeps_no_trace(other: Host) -> None:
    before = await traces(other.machine)
    made = await enrolment_make(other.ground, other.machine)
    await other.machine.run(made.command)
    other.allocation_id = await held(other.ground, "n2")
    await other.access_applied()
    assert (await other.script("echo hello")).status == "succeeded"
    assert await traces(other.machine) != before
    refused = await other.machine.run("gpuaas-agent unenroll", check=False)
    assert "is held by the allocation" in refused.stderr
    await other.ground.admin.post(f"/allocations/{other.allocation_id}/release", None, Allocation)
    await other.unenrol()
    await other.until("! systemctl is-active -q gpuaas-agent")
    assert (await other.agent()).status == "left"
    after = await traces(other.machine)
    assert after == before
    assert [line for line in after if "gpuaas" in line and "gpuaas-lab" not in line] == []
    node = await other.node()
    assert (node.status, node.agent_version) == ("cordoned", None)


async def test_the_host_itself_can_leave(other: Host) -> None:
    before = await traces(other.machine)
    made = await enrolment_make(other.ground, other.machine)
    await other.machine.run(made.command)
    await other.access_applied()
    said = await other.machine.run("gpuaas-agent unenroll --reason 'it goes to the museum'")
    assert said.stdout == "This machine is no longer the node n2.\n"
    assert await traces(other.machine) == before
    assert (await other.agent()).status == "left"
    bare = await other.machine.run("gpuaas-agent status", check=False)
    assert bare.status == 127
