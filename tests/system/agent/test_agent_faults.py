"""Tasks through everything that can break: each is done once, finished, and reported when back."""

import pytest
from agent_hosts import Host
from eventually import eventually
from lost_packets import sent_in_vain

from gpuaas_contract.fleet import NodeTask
from gpuaas_contract.states import NODE_TASK
from gpuaas_lab import inside

ONCE = "echo once >> /root/count\n"
GO = "until test -e /root/go; do sleep 0.1; done"


@pytest.fixture(autouse=True)
async def fresh(host: Host) -> None:
    """Nothing was counted yet."""
    await host.machine.run("rm -f /root/count /root/here /root/after /root/go /root/pid")


async def counted(host: Host) -> int:
    """How often a script was run."""
    return int((await host.machine.run("wc -l < /root/count")).stdout)


async def all_ended(host: Host, tasks: list[NodeTask]) -> bool:
    """Whether the platform knows of the end of each."""
    seen = [await host.operator.get(f"/node-tasks/{one.id}", NodeTask) for one in tasks]
    return all(one.status in NODE_TASK.terminal for one in seen)


async def test_an_agent_killed_in_the_middle_of_a_task(host: Host) -> None:
    task = await host.started(f"echo $$ >/root/pid; echo one; {GO}; echo two", first=ONCE)
    await host.until("test -s /root/pid")
    pid = "systemctl show -p MainPID --value gpuaas-agent"
    for _ in range(3):
        killed = (await host.machine.run(pid)).stdout.strip()
        await host.machine.run("systemctl kill -s KILL gpuaas-agent", check=False)
        await host.until(f"case $({pid}) in 0|{killed}) false ;; esac")  # systemd began another
    await host.machine.run("kill -0 $(cat /root/pid) && touch /root/go")
    ended = await host.ended(task)
    assert ended.status == "succeeded"
    assert await host.output(ended) == b"one\ntwo\n"
    assert await counted(host) == 1


async def test_an_agent_killed_all_the_time(host: Host) -> None:
    tasks = [
        await host.task({"kind": "run_script", "script": ONCE + f"sleep 0.2; echo {number}"})
        for number in range(8)
    ]
    done = "journalctl -u gpuaas-agent -o cat | grep -Ec ' (begins|reported|dropped)'"
    for _ in range(12):
        before = (await host.machine.run(done, check=False)).stdout.strip()
        await host.machine.run("systemctl kill -s KILL gpuaas-agent", check=False)
        await host.machine.run("systemctl restart gpuaas-agent")

        async def went_on(before: str = before) -> bool:
            now = (await host.machine.run(done, check=False)).stdout.strip()
            return now != before or await all_ended(host, tasks)

        await eventually(went_on, what="a task begins or ends, or all have ended")
    for number, task in enumerate(tasks):
        ended = await host.ended(task)
        assert ended.status == "succeeded", ended.result
        assert await host.output(ended) == f"{number}\n".encode()
    assert await counted(host) == len(tasks)


async def test_a_platform_killed_in_the_middle_of_a_task(host: Host) -> None:
    task = await host.started(f"{GO}; touch /root/after; seq 5000", first=ONCE)
    await host.ground.served.kill()
    await host.machine.run("touch /root/go")
    await host.until("test -e /root/after")
    await host.ground.served.start()
    ended = await host.ended(task)
    assert ended.status == "succeeded"
    assert (await host.output(ended)).split()[-1] == b"5000"
    assert await counted(host) == 1


async def test_a_partition_in_the_middle_of_a_task(host: Host) -> None:
    task = await host.started(f"{GO}; touch /root/after; echo finished", first=ONCE)
    await host.machine.cut()
    released = "touch /root/go; until test -e /root/after; do sleep 0.1; done"
    await inside.script(host.ground.lab.name, host.machine.name, released)  # it went on, cut off

    async def unheard() -> bool:
        return await sent_in_vain(host.ground.lab.name, host.machine, "not sport = :22")

    await eventually(unheard, what="the agent reports to nobody")
    before = await host.operator.get(f"/node-tasks/{task.id}", NodeTask)
    assert before.status == "running"  # silence is not an end
    await host.machine.heal()
    ended = await host.ended(task, 120)
    assert (ended.status, await host.output(ended)) == ("succeeded", b"finished\n")
    assert await counted(host) == 1


async def test_power_lost_in_the_middle_of_a_task(host: Host) -> None:
    task = await host.started("sleep 600", first=f"{ONCE}sync\n")
    await host.machine.pull_plug()
    waiting = await host.task({"kind": "run_script", "script": "echo awake"})
    await host.machine.boot()
    lost = await host.ended(task, 120)
    assert lost.result is not None
    assert (lost.status, lost.result.code) == ("failed", "interrupted")
    assert await counted(host) == 1
    assert await host.output(await host.ended(waiting)) == b"awake\n"


async def test_a_full_disk(host: Host) -> None:
    state = "/var/lib/gpuaas-agent"
    await host.machine.run(
        f"systemctl stop gpuaas-agent && cp -a {state} /root/kept && "
        f"mount -t tmpfs -o size=4m,mode=700 tmpfs {state} && cp -a /root/kept/. {state}/ && "
        "systemctl start gpuaas-agent"
    )
    try:
        running = await host.started(f"{GO}; seq 9", first=ONCE)
        await host.machine.run(f"cat /dev/zero > {state}/ballast", check=False)
        refused = await host.script(ONCE)
        assert refused.result is not None
        assert (refused.status, refused.result.code) == ("failed", "no_space")
        await host.machine.run("touch /root/go")
        ended = await host.ended(running)
        assert (ended.status, await host.output(ended)) == (
            "succeeded",
            b"1\n2\n3\n4\n5\n6\n7\n8\n9\n",
        )
        assert await counted(host) == 1
        await host.machine.run(f"rm {state}/ballast")
        assert (await host.script("true")).status == "succeeded"
    finally:
        await host.machine.run(
            f"rm -f {state}/ballast; systemctl stop gpuaas-agent; rm -rf /root/kept;"
            f" cp -a {state} /root/kept; umount {state} && rm -rf {state} && mv /root/kept {state}"
            " && systemctl start gpuaas-agent"
        )


@pytest.mark.parametrize("seconds", [-86_400, 86_400])
async def test_a_clock_that_is_a_day_off(host: Host, seconds: int) -> None:
    await host.machine.skew(seconds)
    try:
        done = await host.script(ONCE + "echo $(( $(date +%s) ))", timeout_seconds=200)
        assert done.status == "succeeded", done.result
        assert await counted(host) == 1
    finally:
        await host.machine.skew(0)
