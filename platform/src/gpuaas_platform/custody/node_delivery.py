"""Runtime secrets on their way to a machine: fetched for one task, sealed to that machine's key.

Called by the fleet room, which has authorised whoever made the task. The value is in no row, log or
answer; what leaves here opens on the machine alone, and as nothing else than what it is.
"""

import base64
from dataclasses import dataclass
from functools import partial
from typing import Final

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
from fastapi import Response

from gpuaas_contract.custody import CustodyStatus, RuntimeSecret, Sealed
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.fleet_agent import NODE_SEALING_SUITE, AgentSecret
from gpuaas_platform.capacity.nodes import node_holder
from gpuaas_platform.custody.secret_store import secret_store_of
from gpuaas_platform.custody.store import secrets as store
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.problems import PlatformError, Unavailable, not_found
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work, mutate

# What a machine can open with its Python alone; the suite for service accounts needs AES.
_SUITE: Final = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)


@dataclass(frozen=True)
class NodeReader:
    """The machine a secret is for: its key, and the task that is to have it there."""

    node_id: str
    allocation_id: str
    task_id: str
    secret_id: str
    public_key: bytes
    correlation_id: str


async def secret_find(conn: Connection, secret_id: str) -> RuntimeSecret:
    """A secret without its value, for the room above, which authorises before showing anything."""
    row = await store.secret_read(conn, secret_id)
    if row is None:
        raise not_found("runtime secret", secret_id)
    return RuntimeSecret(**{name: row[name] for name in RuntimeSecret.model_fields})


async def secret_seal_for(call: Call, reader: NodeReader) -> Response:
    """The current version, sealed: once for each task.

    A repeat with the same idempotency key gets the same answer, while the task runs.
    """
    async with call.db.connection() as conn:
        row = await store.secret_read(conn, reader.secret_id)
    value, path = b"", ""
    if row is not None and row["status"] == CustodyStatus.ACTIVE:
        path = row["secret_path"]
        value = await secret_store_of(call.platform).get(path)
    handler = partial(_sealed, reader=reader, fetched=(path, value))
    return await mutate(call, "custody.secret.deliver", handler)


async def _sealed(
    work: Work, reader: NodeReader, fetched: tuple[str, bytes]
) -> Answer[AgentSecret]:
    row = await store.secret_lock(work.conn, reader.secret_id)
    if row is None:
        raise not_found("runtime secret", reader.secret_id)
    _active_require(work, row)
    await _held_require(work, reader)
    path, value = fetched
    if path != row["secret_path"]:
        raise Unavailable("The secret store")
    version, place = row["version"], Place(row["org_id"], row["project_id"])
    delivery = store.Delivery(
        reader.secret_id, version, reader.node_id, reader.task_id, reader.correlation_id,
        reader.allocation_id,
    )  # fmt: skip
    if await store.delivery_known(work.conn, delivery):
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            "The secret of this task was fetched already; it is delivered once.",
        )
    await store.delivery_insert(work.conn, delivery, work.now)
    detail = {
        "version": version, "task": reader.task_id, "node_id": reader.node_id,
        "allocation_id": reader.allocation_id,
    }  # fmt: skip
    work.audit(
        Target(
            "runtime_secret", reader.secret_id, place, detail=detail,
            correlation_id=reader.correlation_id,
        )
    )  # fmt: skip
    data = {
        "name": row["name"], "version": version, "reader": reader.node_id,
        "allocation_id": reader.allocation_id,
    }  # fmt: skip
    work.emit(
        Happened(
            "custody.secret.delivered", reader.secret_id, place, data,
            correlation_id=reader.correlation_id,
        )
    )  # fmt: skip
    info = (
        f"gpuaas:runtime-secret:{reader.secret_id}:{version}:{reader.node_id}:{reader.task_id}"
        f":{reader.allocation_id}"
    )
    sealed = _box(reader.public_key, value, info)
    return Answer(AgentSecret(task_id=reader.task_id, version=version, sealed=sealed), secret=True)


async def _held_require(work: Work, reader: NodeReader) -> None:
    """The holding a secret is for has not ended; what comes after it gets nothing of it."""
    holder = await node_holder(work.conn, reader.node_id)
    if holder is None or holder.allocation_id != reader.allocation_id:
        raise PlatformError(ErrorCode.STATE_CONFLICT, "The allocation of this task has ended.")


def _box(public_key: bytes, value: bytes, info: str) -> Sealed:
    try:
        box = _SUITE.encrypt(value, X25519PublicKey.from_public_bytes(public_key), info.encode())
    except ValueError:  # a point of small order, with which anybody could open it
        raise PlatformError(
            ErrorCode.STATE_CONFLICT, "The machine's key cannot be sealed to; rotate its identity."
        ) from None
    return Sealed(suite=NODE_SEALING_SUITE, info=info, ciphertext=base64.b64encode(box).decode())


def _active_require(work: Work, row: Record) -> None:
    over = row["expires_at"] is not None and row["expires_at"] <= work.now
    if row["status"] != CustodyStatus.ACTIVE or over:
        raise PlatformError(ErrorCode.STATE_CONFLICT, "The secret has ended.")
