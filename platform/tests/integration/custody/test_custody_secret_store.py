"""The secret stores: the same promises, kept by both."""

import asyncio
import base64
import json
import os
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from custody_fixtures import swept
from openbao_server import OpenBao, openbao_running

from gpuaas_contract.errors import ErrorCode
from gpuaas_platform.custody.embedded_store import EmbeddedStore
from gpuaas_platform.custody.life import sweep_turn
from gpuaas_platform.custody.secret_store import (
    SecretMissing,
    SecretStore,
    SecretTampered,
    secret_keep,
    secret_stash,
    secret_store_of,
)
from gpuaas_platform.custody.store.values import sweep_cancel
from gpuaas_platform.custody.vault_store import VaultStore
from gpuaas_platform.kernel import keyring as keyrings
from gpuaas_platform.kernel.call import Platform, system_call
from gpuaas_platform.kernel.keyring_file import KeyringError
from gpuaas_platform.kernel.problems import PlatformError
from gpuaas_platform.kernel.settings import Settings
from gpuaas_platform.kernel.work import Work

pytestmark = pytest.mark.integration


@dataclass(frozen=True)
class Kind:
    """A store and what a test does to it from behind."""

    store: SecretStore
    moved: Callable[[str, str], Awaitable[None]]
    changed: Callable[[str], Awaitable[None]]
    key_rotated: Callable[[], Awaitable[None]]


@pytest.fixture(params=["embedded", "openbao"])
async def kind(request: pytest.FixtureRequest, platform: Platform) -> Any:
    if request.param == "embedded":
        yield _embedded(platform)
        return
    server: OpenBao = request.getfixturevalue("openbao")
    store = VaultStore(Settings(**server.settings))
    yield _vault(store, server)
    store.close()


def _embedded(platform: Platform) -> Kind:
    store = EmbeddedStore(platform)

    async def moved(source: str, target: str) -> None:
        await platform.db.execute(
            "UPDATE secret_values t SET ciphertext = s.ciphertext, nonce = s.nonce,"
            " wrapped_key = s.wrapped_key FROM secret_values s WHERE s.path = $1 AND t.path = $2",
            source, target,
        )  # fmt: skip

    async def changed(path: str) -> None:
        await platform.db.execute(
            "UPDATE secret_values SET ciphertext ="
            " set_byte(ciphertext, 0, get_byte(ciphertext, 0) # 1) WHERE path = $1",
            path,
        )

    async def key_rotated() -> None:
        await _keys_write(platform, lambda keys: [*keys, _new_key()])
        while await store.rewrap():
            pass

    return Kind(store, moved, changed, key_rotated)


def _vault(store: VaultStore, server: OpenBao) -> Kind:
    kv = server.root.secrets.kv.v2

    def read(path: str) -> dict[str, str]:
        found = kv.read_secret_version(f"gpuaas/{path}", raise_on_deleted_version=True)
        data: dict[str, str] = found["data"]["data"]
        return data

    async def moved(source: str, target: str) -> None:
        kv.create_or_update_secret(f"gpuaas/{target}", read(source))

    async def changed(path: str) -> None:
        head, _, body = read(path)["ciphertext"].rpartition(":")
        raw = bytearray(base64.b64decode(body))
        raw[-1] ^= 1
        text = f"{head}:{base64.b64encode(raw).decode()}"
        kv.create_or_update_secret(f"gpuaas/{path}", {"ciphertext": text})

    async def key_rotated() -> None:
        server.root.secrets.transit.rotate_key("gpuaas")

    return Kind(store, moved, changed, key_rotated)


async def test_values_come_back_by_version(kind: Kind) -> None:
    path = _path()
    values = [b"first", bytes(range(256)), b"x" * 60_000]
    assert [await kind.store.put(path, value) for value in values] == [1, 2, 3]
    assert await kind.store.versions(path) == [1, 2, 3]
    assert [await kind.store.get(path, number) for number in (1, 2, 3)] == values
    assert await kind.store.get(path) == values[-1]


async def test_what_is_not_there_is_said(kind: Kind) -> None:
    path = _path()
    assert await kind.store.versions(path) == []
    with pytest.raises(SecretMissing):
        await kind.store.get(path)
    await kind.store.put(path, b"one")
    with pytest.raises(SecretMissing):
        await kind.store.get(path, 2)


async def test_deleted_is_gone_with_every_version(kind: Kind) -> None:
    path = _path()
    await kind.store.put(path, b"one")
    await kind.store.put(path, b"two")
    await kind.store.delete(path)
    await kind.store.delete(path)
    assert await kind.store.versions(path) == []
    with pytest.raises(SecretMissing):
        await kind.store.get(path, 1)


async def test_simultaneous_writers_get_versions_of_their_own(kind: Kind) -> None:
    path = _path()
    values = {f"value {number}".encode() for number in range(8)}
    versions = await asyncio.gather(*(kind.store.put(path, value) for value in values))
    assert sorted(versions) == list(range(1, 9))
    assert {await kind.store.get(path, version) for version in versions} == values


async def test_a_changed_value_is_not_used(kind: Kind) -> None:
    path = _path()
    await kind.store.put(path, b"precious")
    await kind.changed(path)
    with pytest.raises(SecretTampered, match="changed or belongs elsewhere"):
        await kind.store.get(path)


async def test_a_value_moved_to_another_path_is_not_used(kind: Kind) -> None:
    mine, yours = _path(), _path()
    await kind.store.put(mine, b"mine")
    await kind.store.put(yours, b"yours")
    await kind.moved(yours, mine)
    with pytest.raises(PlatformError, match="changed or belongs elsewhere"):
        await kind.store.get(mine)


async def test_the_key_is_rotated_under_readers(kind: Kind) -> None:
    path = _path()
    await kind.store.put(path, b"old")
    reading = True

    async def read_on() -> int:
        count = 0
        while reading:
            assert await kind.store.get(path, 1) == b"old"
            count += 1
        return count

    reader = asyncio.create_task(read_on())
    await kind.key_rotated()
    assert await kind.store.put(path, b"new") == 2
    reading = False
    assert await reader > 0
    assert await kind.store.get(path, 1) == b"old"
    assert await kind.store.get(path, 2) == b"new"


async def test_the_old_key_is_needed_until_all_is_wrapped_anew(platform: Platform) -> None:
    store = EmbeddedStore(platform)
    paths = [_path() for _ in range(3)]
    for path in paths:
        await store.put(path, path.encode())
    await _keys_write(platform, lambda keys: [*keys, _new_key()])
    assert await store.rewrap() == 3
    assert await store.rewrap() == 0
    await _keys_write(platform, lambda keys: keys[1:])
    assert [await store.get(path) for path in paths] == [path.encode() for path in paths]
    await _keys_write(platform, lambda keys: [*keys, _new_key()])
    await _keys_write(platform, lambda keys: keys[1:], remember=False)
    with pytest.raises(KeyringError, match="has no key"):
        await store.get(paths[0])


async def test_a_backup_of_the_database_holds_no_secret(platform: Platform) -> None:
    await EmbeddedStore(platform).put(_path(), b"canary-of-the-database")
    rows = await platform.db.fetch("SELECT * FROM secret_values")
    assert b"canary-of-the-database" not in b"".join(
        value for row in rows for value in row.values() if isinstance(value, bytes)
    )


async def test_a_token_is_renewed_replaced_and_its_loss_survived(openbao: OpenBao) -> None:
    store, path = VaultStore(Settings(**openbao.settings)), _path()
    await store.put(path, b"kept")
    first = store._client.token
    store._token.ends_at -= store._token.seconds * 0.6  # as if most of its life had passed
    nearly = store._token.ends_at
    assert await store.get(path) == b"kept"
    assert store._client.token == first
    assert store._token.ends_at > nearly, "renewed"
    openbao.root.auth.token.revoke(first)  # behind the platform's back
    assert await store.get(path) == b"kept"
    second = store._client.token
    assert second != first
    store._token.ends_at = 0  # ended while nobody asked
    assert await store.get(path) == b"kept"
    assert store._client.token not in {first, second}
    store.close()


async def test_an_outage_is_said_and_ends() -> None:
    with openbao_running() as server:
        settings = Settings(**server.settings, vault_timeout_seconds=5)
        store, path = VaultStore(settings), _path()
        await store.put(path, b"before")
        _stop(server)
        with pytest.raises(PlatformError, match="secret store does not answer") as hung:
            await store.put(path, b"never")
        os.kill(server.process.pid, signal.SIGCONT)
        assert await store.get(path) in {b"before", b"never"}, "one whole value or the other"
        server.root.sys.seal()
        with pytest.raises(PlatformError, match="secret store does not answer"):
            await store.get(path)
    with pytest.raises(PlatformError, match="secret store does not answer") as gone:
        await store.put(path, b"never")
    store.close()
    assert hung.value.code is gone.value.code is ErrorCode.UNAVAILABLE


async def test_a_secret_nobody_names_is_swept(platform: Platform, clock: Any) -> None:
    store = secret_store_of(platform)
    orphan = await secret_stash(platform, "test", b"orphan")
    named = await secret_stash(platform, "test", b"named")
    async with platform.db.transaction() as conn:
        call = system_call(platform, "/test", "test")
        await secret_keep(Work(call, conn, clock.now(), "test"), named)
    await sweep_turn(platform)
    assert await store.get(orphan) == b"orphan"
    clock.advance(hours=2)
    await swept(platform)
    assert await store.versions(orphan) == []
    assert await store.get(named) == b"named"
    async with platform.db.connection() as conn:
        assert not await sweep_cancel(conn, orphan), "what is swept can no longer be named"


def _stop(server: OpenBao) -> None:
    """Have it accept and not answer: the signal is sent at once, its threads stop one by one."""
    os.kill(server.process.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, server.process.pid, os.WSTOPPED)


def _path() -> str:
    return f"test/{os.urandom(8).hex()}"


def _new_key() -> str:
    return base64.b64encode(os.urandom(32)).decode()


async def _keys_write(
    platform: Platform, change: Callable[[list[str]], list[str]], *, remember: bool = True
) -> None:
    """Change the key file as an operator does, then have the platform read it anew."""
    await keyrings.keyring_of(platform)
    file = Path(platform.settings.data_dir) / "keyring.json"
    keys = json.loads(file.read_text())["keys"]
    file.write_text(json.dumps({"keys": change(keys)}))
    del platform.parts["kernel.keyring"]
    if remember:
        await keyrings.keyring_of(platform)
