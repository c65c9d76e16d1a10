"""What made machines are told: packed whole, many by one process, each answered by itself."""

from __future__ import annotations

import asyncio
import base64
import io
import tarfile
from typing import Any

import pytest

from gpuaas_lab.errors import LabError
from gpuaas_lab.provider import LabProvider, ProviderError
from gpuaas_lab.sshd_trust import packed

TRUST = {
    "authorities": ["ssh-ed25519 AAAA", "ssh-ed25519 BBBB"],
    "principals": {"root": ["alloc_1"], "alice": ["alloc_1:user_1", "alloc_1:user_2"]},
    "krl": base64.b64encode(b"\x00list").decode(),
}


def order(allocation_id: str, **options: str) -> dict[str, Any]:
    """An order as the platform gives it."""
    return {"allocation_id": allocation_id, "options": options, "trust": TRUST}


def test_what_a_machine_gets_is_one_archive_with_a_file_for_each_user() -> None:
    with tarfile.open(fileobj=io.BytesIO(packed(TRUST))) as archive:
        files = {one.name: archive.extractfile(one) for one in archive}
        text = {name: file.read() for name, file in files.items() if file is not None}
    assert text.pop("sshd.conf").splitlines()[1].endswith(b"/principals/%u")
    assert text == {
        "ca.pub": b"ssh-ed25519 AAAA\nssh-ed25519 BBBB\n",
        "revoked": b"\x00list",
        "principals/root": b"alloc_1\n",
        "principals/alice": b"alloc_1:user_1\nalloc_1:user_2\n",
    }


async def test_orders_of_one_moment_are_one_process_and_fail_each_for_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun = []
    real = asyncio.create_subprocess_exec

    async def counted(*words: str, **how: Any) -> asyncio.subprocess.Process:
        begun.append(words)
        return await real(*words, **how)

    monkeypatch.setattr(asyncio, "create_subprocess_exec", counted)
    provider = LabProvider()
    orders = order("alloc_1"), order("alloc_2", lab="Not A Name"), order("alloc_3", lab="no-such")
    ended = await asyncio.gather(
        *(provider.machine_trust(one) for one in orders), return_exceptions=True
    )
    assert len(begun) == 1
    nameless, misnamed, unknown = ended
    assert isinstance(nameless, ProviderError)
    assert "name no lab" in str(nameless)
    assert isinstance(misnamed, ProviderError)
    assert isinstance(unknown, LabError)
    assert not isinstance(unknown, ProviderError)  # it may be there when it is tried again


async def test_a_process_that_dies_is_told_to_everybody_who_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    provider = LabProvider()
    with pytest.raises(LabError, match="process"):
        await provider.machine_trust(order("alloc_1", lab="any"))
