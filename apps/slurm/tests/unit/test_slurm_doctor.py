"""What keeps a controller from working is said with its remedy; nothing is contacted for it."""

import tarfile
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from gpuaas_slurm.bundling import bundle_pack
from gpuaas_slurm.command.doctor import examined
from gpuaas_slurm.config import Config
from gpuaas_slurm.main import main


async def test_everything_that_is_missing_is_told_with_its_remedy() -> None:
    found = [one async for one in examined(Config())]
    assert [one.good for one in found] == [False, False]
    assert "openssl genpkey -algorithm x25519" in found[0].remedy
    assert "app_operator" in found[1].remedy


async def test_what_is_right_is_said_too(tmp_path: Path) -> None:
    key = X25519PrivateKey.generate()
    path = tmp_path / "private.pem"
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    found = [one async for one in examined(Config(private_key_file=path))]
    assert [one.good for one in found] == [True, False]


def test_the_command_ends_with_1_when_something_is_in_the_way(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["doctor"]) == 1
    said = capsys.readouterr()
    assert said.out.count("→") == 2
    assert "2 in the way" in said.err


def test_a_controller_without_its_key_says_so_and_ends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["controller", "--state", str(tmp_path)]) == 1
    assert "--key-file" in capsys.readouterr().err


def test_the_same_packages_make_the_same_bundle(tmp_path: Path) -> None:
    folder = tmp_path / "packages"
    folder.mkdir()
    (folder / "Packages").write_text("Package: a\n")
    (folder / "a.deb").write_bytes(b"\0" * 100)
    first, second = tmp_path / "first.tar", tmp_path / "second.tar"
    bundle_pack(folder, first)
    (folder / "a.deb").touch()
    (folder / "a.deb").chmod(0o600)
    bundle_pack(folder, second)
    assert first.read_bytes() == second.read_bytes()
    with tarfile.open(first) as archive:
        assert archive.getnames() == ["Packages", "a.deb"]
