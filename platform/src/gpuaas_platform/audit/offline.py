"""Verification of an exported file, without a database: anybody can do the same. Pure.

Every line is checked by itself; neighbours are checked against each other where the file has both
(an export of the whole chain has them all, a tenant's has its own lines only).
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from gpuaas_contract.audit import GENESIS, link


@dataclass(frozen=True)
class FileVerification:
    """What was found: how many lines, whether they are the whole chain from its start, a fault."""

    lines: int
    whole: bool
    last_seq: int
    last_hash: str
    fault: str | None


def export_verify(lines: Iterable[str]) -> FileVerification:
    """Check the lines of an export, one at a time, to the first fault."""
    count, last_seq, last_hash, whole = 0, 0, GENESIS.hex(), True
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
            seq, previous, digest = record["seq"], record["prev_hash"], record["hash"]
            computed = link(bytes.fromhex(previous), record["entry"]).hex()
        except (ValueError, KeyError, TypeError) as error:
            fault = f"line {number} is not a line of an export: {error!r}"
            return FileVerification(count, False, last_seq, last_hash, fault)
        if computed != digest:
            fault = f"line {number} (seq {seq}): the entry does not have the hash it claims"
            return FileVerification(count, False, last_seq, last_hash, fault)
        if seq == last_seq + 1 and previous != last_hash:
            fault = f"line {number} (seq {seq}) does not follow from the line before"
            return FileVerification(count, False, last_seq, last_hash, fault)
        whole = whole and seq == last_seq + 1
        count, last_seq, last_hash = number, seq, digest
    return FileVerification(count, whole, last_seq, last_hash, None)
