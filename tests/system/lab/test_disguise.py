"""What a machine can be made to pretend: GPUs and a wrong clock. Both are there after a reboot."""

from __future__ import annotations

import time

import pytest

from gpuaas_lab import Lab, LabError


async def test_fake_gpus_answer_and_survive_a_reboot(three: Lab) -> None:
    machine = three.machine("n2")
    await machine.fake_gpus(4)
    listed = (await machine.run("nvidia-smi -L")).stdout.splitlines()
    assert len(listed) == 4
    assert all("Fake" in line and "UUID: GPU-" in line for line in listed)
    await machine.pull_plug()
    await machine.boot()
    assert (await machine.run("nvidia-smi -L")).stdout.splitlines() == listed
    nodes = (await machine.run("ls /dev/nvidia[0-9] /dev/nvidiactl")).stdout.split()
    assert nodes == [f"/dev/nvidia{index}" for index in range(4)] + ["/dev/nvidiactl"]


async def test_fake_nvidia_smi_speaks_csv(three: Lab) -> None:
    machine = three.machine("n2")
    await machine.fake_gpus(2)
    query = "nvidia-smi --query-gpu=index,memory.total,driver_version --format=csv"
    rows = (await machine.run(query)).stdout.splitlines()
    assert rows[0] == "index, memory.total [MiB], driver_version"
    assert rows[1:] == ["0, 81559 MiB, 000.00.lab", "1, 81559 MiB, 000.00.lab"]
    bare = await machine.run(f"{query},noheader,nounits -i 1")
    assert bare.stdout.splitlines() == ["1, 81559, 000.00.lab"]
    unknown = await machine.run("nvidia-smi --query-gpu=colour --format=csv", check=False)
    assert unknown.status == 2
    assert "there is no GPU here" in (await machine.run("nvidia-smi")).stdout


async def test_a_fake_gpu_cannot_be_opened(three: Lab) -> None:
    await three.machine("n2").fake_gpus(1)
    opened = await three.machine("n2").run("cat /dev/nvidia0", check=False)
    assert "No such device" in opened.stderr


async def test_fake_gpus_go_away_without_a_trace(three: Lab) -> None:
    machine = three.machine("n2")
    await machine.fake_gpus(2)
    await machine.fake_gpus(0)
    left = await machine.run("ls /dev/nvidia* /usr/bin/nvidia-smi", check=False)
    units = await machine.run("systemctl list-unit-files 'gpuaas-lab-*' --no-legend", check=False)
    assert (left.stdout, units.stdout) == ("", "")
    with pytest.raises(LabError, match="0 to 16"):
        await machine.fake_gpus(99)


async def test_a_skewed_clock_is_seen_by_logins_and_services(three: Lab) -> None:
    machine = three.machine("n1")
    for skew in (3600, -86400):
        await machine.skew(skew)
        assert abs(await _clock(three, "date +%s") - time.time() - skew) < 30
        service = "systemd-run --quiet --wait --pipe date +%s"
        assert abs(await _clock(three, service) - time.time() - skew) < 30
    await machine.pull_plug()
    await machine.boot()
    assert abs(await _clock(three, "date +%s") - time.time() + 86400) < 30
    await machine.skew(0)
    assert abs(await _clock(three, "date +%s") - time.time()) < 30


async def test_a_skew_leaves_the_monotonic_clock_and_the_other_machines_alone(three: Lab) -> None:
    await three.machine("n1").skew(3600)
    program = "python3 -c 'import time; print(int(time.monotonic()))'"
    shifted = int((await three.machine("n1").run(program)).stdout)
    straight = int((await three.machine("n3").run(program)).stdout)
    other = int((await three.machine("n3").run("date +%s")).stdout)
    await three.machine("n1").skew(0)
    assert abs(shifted - straight) < 30
    assert abs(other - time.time()) < 30


async def _clock(lab: Lab, command: str) -> int:
    return int((await lab.machine("n1").run(command)).stdout)
