"""`down` leaves nothing: no process, mount, bridge, cable, control group or file.

That holds after the lab's program was killed, at any moment.

Every test looks at the kernel with its own eyes, not through the lab.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
from pathlib import Path

import pytest
from eventually import eventually

from gpuaas_lab import Lab, LabBusy, LabError, Settings, names, store, teardown

_HOLDER = """
import asyncio, sys
from gpuaas_lab import Lab

async def main():
    async with Lab.up(sys.argv[1], 2) as lab:
        print("up", flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


async def test_the_end_of_a_block_leaves_nothing(lab_host: Settings, lab_name: str) -> None:
    async with Lab.up(lab_name, 2, settings=lab_host):
        assert all(_evidence(lab_host, lab_name)[kind] for kind in ("process", "bridge", "veth"))
    assert not any(_evidence(lab_host, lab_name).values())


async def test_a_failure_in_the_block_leaves_nothing(lab_host: Settings, lab_name: str) -> None:
    with pytest.raises(RuntimeError, match="planted"):
        async with Lab.up(lab_name, 1, settings=lab_host):
            raise RuntimeError("planted")
    assert not any(_evidence(lab_host, lab_name).values())


async def test_down_clears_up_after_a_killed_program(lab_host: Settings, lab_name: str) -> None:
    holder = await _holder(lab_name)
    assert holder.stdout is not None
    assert await holder.stdout.readline() == b"up\n"
    await _kill(holder)
    assert _evidence(lab_host, lab_name)["process"]
    assert await Lab.down(lab_name, lab_host)
    assert not any(_evidence(lab_host, lab_name).values())
    assert not await Lab.down(lab_name, lab_host)


@pytest.mark.parametrize("moment", ["disk", "bridge", "process", "booting"])
async def test_down_clears_up_after_a_kill_in_the_middle_of_up(
    lab_host: Settings, lab_name: str, moment: str
) -> None:
    holder = await _holder(lab_name)
    await _moment(lab_host, lab_name, moment)
    await _kill(holder)
    await Lab.down(lab_name, lab_host)
    assert not any(_evidence(lab_host, lab_name).values())


async def test_down_finds_a_lab_whose_state_is_gone(lab_host: Settings, lab_name: str) -> None:
    lab = await Lab.start(lab_name, 2, settings=lab_host)
    await lab.close()
    shutil.rmtree(store.lab_folder(lab_host, lab_name))
    assert lab_name in teardown.labs_present(lab_host)
    assert await Lab.down(lab_name, lab_host)
    assert not any(_evidence(lab_host, lab_name).values())


async def test_down_takes_a_machine_whose_supervisor_was_killed(
    lab_host: Settings, lab_name: str
) -> None:
    lab = await Lab.start(lab_name, 1, settings=lab_host)
    await lab.close()
    for pid in _arguments_name(names.machine_prefix(lab_name)):
        with contextlib.suppress(ProcessLookupError):  # it ended with the one before it
            os.kill(pid, signal.SIGKILL)
    assert await Lab.down(lab_name, lab_host)
    assert not any(_evidence(lab_host, lab_name).values())


async def test_a_new_block_takes_the_place_of_an_orphan(lab_host: Settings, lab_name: str) -> None:
    holder = await _holder(lab_name)
    assert holder.stdout is not None
    await holder.stdout.readline()
    with pytest.raises(LabBusy):
        async with Lab.up(lab_name, 1, settings=lab_host):
            pytest.fail("the other program still holds it")
    await _kill(holder)
    async with Lab.up(lab_name, 1, settings=lab_host) as lab:
        assert (await lab.machine("n1").run("ls /srv")).stdout == ""


async def test_a_block_leaves_a_lab_made_by_hand_alone(lab_host: Settings, lab_name: str) -> None:
    by_hand = await Lab.start(lab_name, 1, settings=lab_host)
    await by_hand.close()
    with pytest.raises(LabError, match="is up already"):
        async with Lab.up(lab_name, 1, settings=lab_host):
            pytest.fail("it belongs to somebody else")
    assert by_hand.running() == {"n1"}


async def _holder(lab: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _HOLDER, lab), stdout=asyncio.subprocess.PIPE
    )


async def _kill(holder: asyncio.subprocess.Process) -> None:
    holder.kill()
    await holder.wait()


async def _moment(settings: Settings, lab: str, moment: str) -> None:
    """Wait until `up` has come exactly so far."""
    await eventually(lambda: _reached(settings, lab)[moment], within=240, what=moment)


def _reached(settings: Settings, lab: str) -> dict[str, bool]:
    interfaces = Path("/sys/class/net")
    return {
        "disk": (store.lab_folder(settings, lab) / "machines").exists(),
        "bridge": (interfaces / names.bridge(lab)).exists(),
        # The program that holds the lab has the name in its arguments as well: look for the id.
        "process": bool(_arguments_name(names.machine_prefix(lab))),
        "booting": bool(list(interfaces.glob(f"{names.veth_prefix(lab)}*"))),
    }


def _evidence(settings: Settings, lab: str) -> dict[str, list[str]]:
    """Everything on this host that belongs to the lab."""
    interfaces = [path.name for path in Path("/sys/class/net").iterdir()]
    return {
        "process": [str(pid) for pid in _arguments_name(names.machine_prefix(lab))]
        + [str(pid) for pid in _rooted_in(names.machine_prefix(lab))],
        "mount": [
            line
            for line in Path("/proc/self/mounts").read_text().splitlines()
            if names.machine_prefix(lab) in line or f"/{lab}/" in line
        ],
        "bridge": [name for name in interfaces if name == names.bridge(lab)],
        "veth": [name for name in interfaces if name.startswith(names.veth_prefix(lab))],
        "cgroup": _below("/sys/fs/cgroup", names.machine_prefix(lab)),
        "state": [str(path) for path in settings.state.glob(f"{lab}*")]
        + [str(path) for path in settings.state.glob(f".*/{lab}*")],
        "runtime": _below("/run", names.machine_prefix(lab)),
    }


def _below(folder: str, text: str) -> list[str]:
    """Every file or folder with the text in its name; os.walk bears what vanishes meanwhile."""
    found = []
    for place, folders, files in os.walk(folder):
        found += [f"{place}/{name}" for name in (*folders, *files) if text in name]
    return found


def _arguments_name(text: str) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if text.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def _rooted_in(text: str) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/mountinfo"):
        try:
            if text in path.read_text():
                found.append(int(path.parent.name))
        except (OSError, ProcessLookupError):
            continue
    return found
