"""Reads a cluster from the JSON file that `gpuaas-slurm render` is given."""

from dataclasses import asdict
from typing import Any

import msgspec

from gpuaas_slurm.model import Cluster, ModelError
from gpuaas_slurm.version import SlurmVersion


class DescriptionError(ValueError):
    """The description is not of a cluster; the message says where and why."""


def cluster_from_json(text: bytes) -> Cluster:
    """Return the cluster a JSON document describes; a field nobody knows is refused."""
    try:
        document = msgspec.json.decode(text)
        _expand_version(document)
        cluster = msgspec.convert(document, Cluster)
    except (msgspec.ValidationError, msgspec.DecodeError, ModelError, ValueError) as error:
        raise DescriptionError(str(error)) from error
    _refuse_unknown(document, msgspec.to_builtins(cluster), "$")
    return cluster


def _expand_version(document: Any) -> None:  # noqa: ANN401  JSON that is not checked yet
    """Let a release be written as people write it."""
    build = document.get("build") if isinstance(document, dict) else None
    if isinstance(build, dict) and isinstance(build.get("version"), str):
        build["version"] = asdict(SlurmVersion.parse(build["version"]))


def _refuse_unknown(given: Any, known: Any, at: str) -> None:  # noqa: ANN401  JSON
    """Compare with what was understood: a misspelt setting must not be passed over in silence."""
    if isinstance(given, dict) and isinstance(known, dict):
        for name, value in given.items():
            if name not in known:
                raise DescriptionError(f"{at}.{name}: there is no such field")
            _refuse_unknown(value, known[name], f"{at}.{name}")
    elif isinstance(given, list) and isinstance(known, list | tuple):
        for index, (one, other) in enumerate(zip(given, known, strict=False)):
            _refuse_unknown(one, other, f"{at}[{index}]")
