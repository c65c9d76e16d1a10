"""The app's own state, kept where the cluster is: what a machine is, and what the cluster is.

`record.json` on every machine says what it was found and made to be; `cluster.json` on the
controller's machine says what the cluster is at its present generation. Any replica of the app
reads them from there, so that nothing is lost with the process that wrote them; the platform is
told the same in the adapter detail. Pure.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import msgspec

from gpuaas_slurm.model import Cluster, Machine, ModelError
from gpuaas_slurm.onmachine.look import MachineLook
from gpuaas_slurm.onmachine.scripts import HOME
from gpuaas_slurm.render import RenderedFile, machine_files

T = TypeVar("T")

FORMAT = 1
RECORD = f"{HOME}/record.json"
CLUSTER = f"{HOME}/cluster.json"


class DocumentError(ValueError):
    """A document of ours on a machine cannot be read; the message says which and why."""


@dataclass(frozen=True)
class Record:
    """What one machine is in the cluster of one instance."""

    instance_id: str
    allocation_id: str
    machine: Machine
    roles: tuple[str, ...]
    format: int = FORMAT


@dataclass(frozen=True)
class ClusterDocument:
    """What the cluster is; its workers are their own machines' business."""

    instance_id: str
    cluster: Cluster
    accounts: Mapping[str, str]
    format: int = FORMAT


def record_of(look: MachineLook) -> Record | None:
    """Return the record on a machine; None where there is none."""
    return _convert(look.record, Record, RECORD)


def cluster_document_of(look: MachineLook) -> ClusterDocument | None:
    """Return the cluster's document on the controller's machine; None where there is none."""
    return _convert(look.cluster, ClusterDocument, CLUSTER)


def document_text(document: Record | ClusterDocument) -> str:
    """Return a document as it is kept: one line of JSON."""
    return json.dumps(msgspec.to_builtins(document), sort_keys=True, separators=(",", ":")) + "\n"


def documents_for(document: ClusterDocument, record: Record) -> tuple[RenderedFile, ...]:
    """Return the documents of one machine as files."""
    kept = RenderedFile(RECORD, document_text(record))
    if record.machine.name != document.cluster.controller.name:
        return (kept,)
    plain = replace(document, cluster=replace(document.cluster, workers=()))
    return (kept, RenderedFile(CLUSTER, document_text(plain)))


def configuration_for(
    cluster: Cluster, machine: Machine, *, worker: bool
) -> tuple[RenderedFile, ...]:
    """Return one machine's configuration files: the others are no part of them."""
    alone = replace(cluster, workers=(machine,) if worker else ())
    return machine_files(alone, machine)


def _convert(found: Mapping[str, Any] | None, kind: type[T], path: str) -> T | None:
    if found is None:
        return None
    try:
        return msgspec.convert(found, kind)
    except (msgspec.ValidationError, ModelError) as error:
        raise DocumentError(f"{path}: {error}") from error
