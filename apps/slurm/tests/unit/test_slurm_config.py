"""The controller's configuration: file, environment, command line, in this order."""

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from gpuaas_slurm.config import ConfigError, config_load, private_key_load


def pem(key: X25519PrivateKey | Ed25519PrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def test_what_is_nearer_wins(tmp_path: Path) -> None:
    file = tmp_path / "controller.toml"
    file.write_text('url = "http://file"\nslots = 3\nslug = "file"\n')
    env = {"GPUAAS_SLURM_URL": "http://env", "GPUAAS_SLURM_LEASE_SECONDS": "20"}
    found = config_load(file, env, {"slug": "given", "url": None, "command": "controller"})
    assert (found.url, found.slots, found.slug) == ("http://env", 3, "given")
    assert found.lease_seconds == 20


def test_a_misspelt_setting_is_told(tmp_path: Path) -> None:
    file = tmp_path / "controller.toml"
    file.write_text("slotz = 3\n")
    with pytest.raises(ConfigError, match="slotz"):
        config_load(file, {}, {})


def test_a_file_that_is_not_there_and_a_number_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml"):
        config_load(tmp_path / "none.toml", {}, {})
    with pytest.raises(ConfigError, match="slots"):
        config_load(None, {"GPUAAS_SLURM_SLOTS": "many"}, {})


def test_only_a_key_that_can_open_secrets_is_taken(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.pem", tmp_path / "bad.pem"
    key = X25519PrivateKey.generate()
    good.write_bytes(pem(key))
    assert private_key_load(good).private_bytes_raw() == key.private_bytes_raw()
    bad.write_bytes(pem(Ed25519PrivateKey.generate()))
    with pytest.raises(ConfigError, match="X25519"):
        private_key_load(bad)
    with pytest.raises(ConfigError):
        private_key_load(tmp_path / "none.pem")
