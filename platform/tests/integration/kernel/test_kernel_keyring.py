"""The keyring's file: made once, shared by all replicas, never silently replaced."""

import asyncio
import dataclasses
import json
import os
import sys
from pathlib import Path

import pytest

from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.keyring import keyring_of
from gpuaas_platform.kernel.keyring_file import KeyringError, key_add, key_use, keys_create


async def test_the_file_is_made_once_and_readable_by_us_alone(platform: Platform) -> None:
    first = await keyring_of(platform)
    path = platform.settings.data_dir / "keyring.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(path.parent.glob("keyring.json.*")) == [], "nothing is left aside"
    assert (await keyring_of(_replica(platform, path))).ids == first.ids
    assert await platform.db.fetchval("SELECT key_id FROM keyring_keys") == first.ids[0]


async def test_a_replica_without_the_file_says_so(platform: Platform, tmp_path: Path) -> None:
    await keyring_of(platform)
    elsewhere = tmp_path / "elsewhere" / "keyring.json"
    with pytest.raises(KeyringError, match=r"Copy keyring\.json from another replica"):
        await keyring_of(_replica(platform, elsewhere))
    assert not elsewhere.exists()


async def test_keys_of_another_installation_are_refused(platform: Platform, tmp_path: Path) -> None:
    await keyring_of(platform)
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"keys": ["A" * 43 + "="]}))
    other.chmod(0o600)
    with pytest.raises(KeyringError, match="another installation's"):
        await keyring_of(_replica(platform, other))


@pytest.mark.parametrize("text", ["", "{}", '{"keys": []}', '{"keys": ["AAAA"]}', '{"keys": [1]}'])
async def test_a_damaged_file_is_refused(platform: Platform, tmp_path: Path, text: str) -> None:
    path = tmp_path / "damaged.json"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(KeyringError, match="does not hold keys"):
        await keyring_of(_replica(platform, path))


async def test_a_file_others_can_read_is_refused(platform: Platform, tmp_path: Path) -> None:
    path = tmp_path / "open.json"
    path.write_text(json.dumps({"keys": ["A" * 43 + "="]}))
    path.chmod(0o644)
    with pytest.raises(KeyringError, match="chmod 600"):
        await keyring_of(_replica(platform, path))


async def test_a_key_is_rotated_while_the_platform_runs(platform: Platform) -> None:
    path = platform.settings.data_dir / "keyring.json"
    before = await keyring_of(platform)
    sealed = before.seal(b"word", "a context")
    name = key_add(path)
    added = await keyring_of(platform)
    assert added.active_id == before.active_id
    assert name in added.ids
    key_use(path, name)
    after = await keyring_of(platform)
    assert after.active_id == name
    assert after.unseal(sealed, "a context") == b"word"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(path.parent.glob("keyring.json.*")) == [], "nothing is left aside"
    known = await platform.db.fetch("SELECT key_id FROM keyring_keys")
    assert {row["key_id"] for row in known} == set(after.ids)
    with pytest.raises(KeyringError, match="There is no key"):
        key_use(path, "0" * 16)


async def test_what_is_in_use_stays_when_the_file_is_lost(platform: Platform) -> None:
    before = await keyring_of(platform)
    (platform.settings.data_dir / "keyring.json").unlink()
    assert (await keyring_of(platform)).ids == before.ids


async def test_the_command_rotates(platform: Platform) -> None:
    folder = platform.settings.data_dir
    keys_create(folder / "keyring.json")

    async def said(*words: str) -> list[str]:
        command = [str(Path(sys.executable).with_name("gpuaas-platform")), "keyring", *words]
        environment = {**os.environ, "GPUAAS_DATA_DIR": str(folder)}
        running = await asyncio.create_subprocess_exec(
            *command, env=environment, stdout=asyncio.subprocess.PIPE
        )
        told, _ = await running.communicate()
        assert running.returncode == 0
        return told.decode().splitlines()

    [first] = await said("show")
    assert first.endswith("in use")
    [told] = await said("rotate")
    new = told.split()[0]
    assert await said("show") == [first.split()[0], f"{new}  in use"]


def _replica(platform: Platform, path: Path) -> Platform:
    settings = platform.settings.model_copy(update={"keyring_file": path})
    return dataclasses.replace(platform, settings=settings, parts={})
