"""Logging in to real machines through the command line: certificates, real sshd, real ssh."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tools.ground import Ground

pytestmark = pytest.mark.system
GPUAAS = str(Path(sys.executable).with_name("gpuaas"))


@pytest.fixture(scope="module")
async def held(ground_factory: Any) -> Ground:
    """A platform whose project holds two machines."""
    ground: Ground = await ground_factory("cli", 2)
    return ground


async def typed(ground: Ground, home: Path, *words: str) -> tuple[int, str, str]:
    """Run a program as the project's operator."""
    key = home / "operator.key"
    key.write_text(ground.project.key)
    environment = {
        "PATH": f"{Path(GPUAAS).parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "GPUAAS_URL": ground.url,
        "GPUAAS_KEY_FILE": str(key),
        "GPUAAS_PROJECT": ground.project_id,
    }
    process = await asyncio.create_subprocess_exec(
        *words,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


async def test_a_command_runs_on_the_machine_and_nothing_is_left(
    held: Ground, tmp_path: Path
) -> None:
    code, out, err = await typed(held, tmp_path, GPUAAS, "ssh", "n1", "--", "hostname")
    assert (code, out) == (0, "n1\n"), err
    code, out, err = await typed(held, tmp_path, GPUAAS, "ssh", "n2", "--", "exit", "7")
    assert code == 7, err
    assert os.listdir(tmp_path) == ["operator.key"]  # noqa: PTH208 - not in an event loop's way


async def test_ones_own_ssh_renews_its_certificate_by_itself(held: Ground, tmp_path: Path) -> None:
    code, entry, err = await typed(held, tmp_path, GPUAAS, "ssh-config", "n1")
    assert code == 0, err
    config = tmp_path / "ssh_config"
    config.write_text(entry)
    (certificate,) = (tmp_path / ".config" / "gpuaas" / "ssh").glob("*/key-cert.pub")
    first = certificate.read_text()
    for _ in range(2):
        code, out, err = await typed(held, tmp_path, "ssh", "-F", str(config), "n1", "hostname")
        assert (code, out) == (0, "n1\n"), err
    assert certificate.read_text() != first
    assert certificate.parent.stat().st_mode & 0o777 == 0o700


async def test_a_machine_one_does_not_hold_stays_closed(held: Ground, tmp_path: Path) -> None:
    code, _, err = await typed(held, tmp_path, GPUAAS, "ssh", "alloc_01nothere000000000000000")
    assert code in {1, 4}
    assert "alloc_01nothere" in err or "not_found" in err
