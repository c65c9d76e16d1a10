"""Files arrive whole, owned and verified, or not at all."""

import base64
import getpass
import grp
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from gpuaas_agent import delivering
from gpuaas_agent.delivering import Failed, Interrupted, Source, Stopper
from gpuaas_agent.sealing import sealing_key_make, sealing_key_public
from gpuaas_agent.wire import Unreachable, Wire

SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)
CONTENT = os.urandom(300_000)
DIGEST = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"


class BrokenWire(Wire):
    """A way that breaks off after so many bytes each time, or cannot go on from the middle."""

    def __init__(self, most: int, *, ranges: bool = True, closes: bool = False) -> None:
        self.most = most
        self.closes = closes
        self.ranges = ranges
        self.asked: list[int] = []

    def fetch(self, path: str, start: int, take: Callable[[bytes], None]) -> int:
        assert path == "/x"
        self.asked.append(start)
        if start and not self.ranges:
            return 0
        take(CONTENT[start : start + self.most])
        if start + self.most < len(CONTENT) and not self.closes:
            raise Unreachable("it broke off")
        return start


def spec(path: Path, **more: Any) -> dict[str, Any]:
    group = grp.getgrgid(os.getegid()).gr_name
    return {"path": str(path), "owner": getpass.getuser(), "group": group, "mode": "0640"} | more


def source(digest: str = DIGEST) -> Source:
    return Source("/x", digest, len(CONTENT))


def test_an_artifact_goes_on_where_it_broke_off(tmp_path: Path) -> None:
    wire, wanted = BrokenWire(120_000), spec(tmp_path / "file")
    for _ in range(2):
        with pytest.raises(Unreachable):
            delivering.artifact_put(wire, wanted, source(), Stopper())
        assert not (tmp_path / "file").exists()
    assert delivering.artifact_put(wire, wanted, source(), Stopper())["digest"] == DIGEST
    assert wire.asked == [0, 120_000, 240_000]
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_one_that_cannot_go_on_begins_anew(tmp_path: Path) -> None:
    wanted = spec(tmp_path / "file")
    with pytest.raises(Unreachable):
        delivering.artifact_put(BrokenWire(1000), wanted, source(), Stopper())
    wire = BrokenWire(len(CONTENT), ranges=False)
    delivering.artifact_put(wire, wanted, source(), Stopper())
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_wrong_bytes_do_not_arrive(tmp_path: Path) -> None:
    wanted = spec(tmp_path / "file")
    with pytest.raises(Failed, match="What came is") as failure:
        delivering.artifact_put(
            BrokenWire(len(CONTENT)), wanted, source("sha256:" + "0" * 64), Stopper()
        )
    assert failure.value.code == "digest_differs"
    assert list(tmp_path.iterdir()) == []


def test_a_way_that_brings_nothing_is_no_end(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="too early"):
        delivering.artifact_put(
            BrokenWire(0, closes=True), spec(tmp_path / "f"), source(), Stopper()
        )


def test_one_that_is_stopped_leaves_nothing(tmp_path: Path) -> None:
    wanted = spec(tmp_path / "file")
    with pytest.raises(Interrupted):
        delivering.artifact_put(BrokenWire(9), wanted, source(), Stopper(asked=True))
    delivering.artifact_forget(wanted)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(Failed, match="in time"):
        delivering.artifact_put(BrokenWire(9), wanted, source(), Stopper(deadline=0.0))


def test_a_secret_arrives(tmp_path: Path) -> None:
    key = sealing_key_make()
    public = X25519PublicKey.from_public_bytes(sealing_key_public(key))
    box = SUITE.encrypt(b"the value", public, b"why")
    sealed = {"info": "why", "ciphertext": base64.b64encode(box).decode()}
    wanted = spec(tmp_path / "secret", mode="0400")
    assert delivering.secret_put(wanted, sealed, [sealing_key_make(), key]) == {"size": 9}
    assert (tmp_path / "secret").read_bytes() == b"the value"
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o400
    with pytest.raises(Failed, match="not sealed to this machine"):
        delivering.secret_put(wanted, sealed, [sealing_key_make()])
    with pytest.raises(Failed, match="no folder"):
        delivering.secret_put(spec(tmp_path / "a/b"), sealed, [key])
    with pytest.raises(Failed, match="does not know"):
        delivering.secret_put(wanted | {"owner": "nobody-here"}, sealed, [key])


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("kept")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(Failed) as failure:
        delivering.file_collect({"path": str(tmp_path / "link"), "max_bytes": 10})
    assert failure.value.code == "not_a_file"
    wanted = spec(tmp_path / "link")
    delivering.artifact_put(BrokenWire(len(CONTENT)), wanted, source(), Stopper())
    assert (tmp_path / "real").read_text() == "kept"
