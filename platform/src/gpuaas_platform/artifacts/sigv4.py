"""AWS Signature Version 4, for the few requests the S3 store makes. Pure: the time is an argument.

Covers what S3-compatible servers ask for: header signatures with the payload's digest, or without
it where a part is streamed (its own digest is checked by us, and travels in `x-amz-checksum`).
"""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import quote

UNSIGNED: Final = "UNSIGNED-PAYLOAD"
_ALGORITHM: Final = "AWS4-HMAC-SHA256"


@dataclass(frozen=True, repr=False)
class Keys:
    """Who signs, and for which region."""

    access_key: str
    secret_key: str
    region: str


@dataclass(frozen=True)
class Signed:
    """What a signature covers: one request, its host and path as they go over the wire."""

    method: str
    host: str
    path: str
    query: Mapping[str, str]
    payload: str


def headers_signed(keys: Keys, request: Signed, now: datetime) -> dict[str, str]:
    """The headers that prove who asks."""
    moment = now.strftime("%Y%m%dT%H%M%SZ")
    headers = {"host": request.host, "x-amz-content-sha256": request.payload, "x-amz-date": moment}
    names = ";".join(sorted(headers))
    canonical = "\n".join(
        [
            request.method,
            path_quoted(request.path),
            query_quoted(request.query),
            *(f"{name}:{headers[name]}" for name in sorted(headers)),
            "",
            names,
            request.payload,
        ]
    )
    scope = f"{moment[:8]}/{keys.region}/s3/aws4_request"
    told = "\n".join([_ALGORITHM, moment, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    signature = hmac.new(_key(keys, moment[:8]), told.encode(), "sha256").hexdigest()
    who = f"Credential={keys.access_key}/{scope}"
    authorization = f"{_ALGORITHM} {who}, SignedHeaders={names}, Signature={signature}"
    return headers | {"authorization": authorization}


def path_quoted(path: str) -> str:
    """A path as S3 signs it: every byte but the unreserved ones and `/`."""
    return quote(path, safe="/-_.~")


def query_quoted(query: Mapping[str, str]) -> str:
    """A query in the one order and writing that is signed."""
    pairs = sorted((quote(k, safe="-_.~"), quote(v, safe="-_.~")) for k, v in query.items())
    return "&".join(f"{name}={value}" for name, value in pairs)


def _key(keys: Keys, day: str) -> bytes:
    key = f"AWS4{keys.secret_key}".encode()
    for word in (day, keys.region, "s3", "aws4_request"):
        key = hmac.digest(key, word.encode(), "sha256")
    return key
