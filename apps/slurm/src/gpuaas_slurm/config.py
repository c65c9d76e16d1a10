"""The controller's configuration: a TOML file, then the environment, then the command line.

Read once by the command; nothing else reads files or the environment.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

PREFIX = "GPUAAS_SLURM_"


class ConfigError(ValueError):
    """The configuration cannot be used; the message says where and why."""


@dataclass(frozen=True)
class Config:
    """Everything a controller can be told."""

    url: str = "http://127.0.0.1:8470"
    """The platform."""
    key_file: Path | None = None
    """File with the service account's key."""
    private_key_file: Path | None = None
    """File with the X25519 key (PEM) whose public half the service account registered."""
    state: Path = Path("/var/lib/gpuaas-slurm-controller")
    """Folder for what this process keeps; nothing in it is needed by another replica."""
    bundles: Path | None = None
    """Folder with package bundles, where the platform offers none."""
    slug: str = "slurm"
    """Name of the app in the catalog."""
    project: str | None = None
    """Serve this project alone."""
    slots: int = 32
    """Operations at the same time."""
    lease_seconds: int = 60
    """Silence after which another replica takes over."""
    observe_seconds: float = 30.0
    """How often every cluster is looked at; 0 switches it off."""
    log_level: str = "info"
    """Least level logged."""


def config_load(
    path: Path | None, environment: Mapping[str, str], given: Mapping[str, Any]
) -> Config:
    """Return the configuration: what is given wins over the environment, that over the file."""
    values: dict[str, Any] = {}
    if path is not None:
        try:
            values = tomllib.loads(path.read_text())
        except (OSError, tomllib.TOMLDecodeError) as error:
            raise ConfigError(f"{path}: {error}") from error
    known = {field.name: field for field in fields(Config)}
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise ConfigError(f"{path}: there is no setting {unknown[0]}; there are {', '.join(known)}")
    values |= {
        name: environment[PREFIX + name.upper()]
        for name in known
        if PREFIX + name.upper() in environment
    }
    values |= {name: value for name, value in given.items() if name in known and value is not None}
    return Config(**{name: _converted(name, value) for name, value in values.items()})


def private_key_load(path: Path) -> X25519PrivateKey:
    """Return the key secrets are sealed to."""
    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except (OSError, ValueError, TypeError) as error:
        raise ConfigError(f"{path}: {error}") from error
    if not isinstance(key, X25519PrivateKey):
        raise ConfigError(f"{path}: an X25519 key is needed (openssl genpkey -algorithm x25519)")
    return key


def _converted(name: str, value: Any) -> Any:  # noqa: ANN401  a setting of any kind
    kinds = {
        "key_file": Path, "private_key_file": Path, "state": Path, "bundles": Path,
        "slots": int, "lease_seconds": int, "observe_seconds": float,
    }  # fmt: skip
    try:
        return kinds[name](value) if name in kinds else str(value)
    except ValueError as error:
        raise ConfigError(f"{name}: {error}") from error
