"""Identifiers of the public contract: `<prefix>_<26 characters>`, sortable by time of birth.

Called by whoever mints or checks an id. The body is 48 bits of milliseconds and 80 random bits in
Crockford's base 32, so ids of one kind sort by creation and tell nothing else. Pure: time and
randomness are arguments.
"""

import re
from enum import StrEnum
from typing import Final

_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS: Final = tuple(first + second for first in _ALPHABET for second in _ALPHABET)
_BODY: Final = re.compile(rf"[0-7][{_ALPHABET}]{{25}}")
RANDOM_BYTES: Final = 10


class Prefix(StrEnum):
    """One prefix per kind of resource; a prefix, once published, is never given another meaning."""

    TENANT = "org"
    PROJECT = "proj"
    USER = "user"
    SERVICE_ACCOUNT = "sa"
    KEY = "key"
    TOKEN = "tok"
    SESSION = "sess"
    DEVICE_SIGN_IN = "dsi"
    SIGN_IN_FAILURE = "sif"
    SECOND_FACTOR = "fac"
    ROLE = "role"
    BINDING = "bind"
    GROUP_MAPPING = "gmap"
    IDENTITY_PROVIDER = "idp"
    TENANT_DOMAIN = "dom"
    OVERLAY = "ovl"
    AUDIT = "aud"
    EVENT = "evt"
    WEBHOOK = "hook"
    DELIVERY = "dlv"
    APP = "app"
    APP_VERSION = "appv"
    ENTITLEMENT = "ent"
    INSTANCE = "inst"
    MEMBER = "mem"
    OPERATION = "op"
    OPERATION_GROUP = "opg"
    LEASE = "lease"
    REGION = "reg"
    SKU = "sku"
    NODE = "node"
    ENROLMENT = "enr"
    NODE_IDENTITY = "nid"
    CLEANING = "clean"
    ALLOCATION = "alloc"
    TASK = "task"
    CREDENTIAL = "cred"
    CA_KEY = "cak"
    GRANT = "grant"
    SECRET = "sec"
    ARTIFACT_SOURCE = "src"
    ARTIFACT = "art"
    ARTIFACT_KEY = "akey"
    ARTIFACT_DELIVERY = "adel"
    JOB = "job"
    SHARED_RUNTIME = "rt"
    ATTACHMENT = "att"
    CONTRIBUTION = "con"
    USAGE = "use"
    REQUEST = "req"
    GAP = "gap"
    VALIDATION = "val"


def id_make(prefix: Prefix, milliseconds: int, randomness: bytes) -> str:
    """Build an id from the time of birth and `RANDOM_BYTES` random bytes."""
    if len(randomness) != RANDOM_BYTES:
        raise ValueError(f"an id takes {RANDOM_BYTES} random bytes, not {len(randomness)}")
    number = (milliseconds << 80) | int.from_bytes(randomness)
    body = "".join([_PAIRS[(number >> shift) & 1023] for shift in range(120, -1, -10)])
    return f"{prefix}_{body}"


def id_valid(text: str, prefix: Prefix) -> bool:
    """Whether `text` has the form of an id of this kind (not whether such a thing exists)."""
    head, _, body = text.rpartition("_")
    return head == prefix and _BODY.fullmatch(body) is not None
