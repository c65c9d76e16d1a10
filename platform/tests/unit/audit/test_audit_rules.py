"""Pure rules of the audit: the canonical form, the links, the check of an exported file."""

import hashlib
import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gpuaas_contract.audit import ENTRY_FIELDS, GENESIS, AuditEntry, canonical, link, time_text
from gpuaas_platform.audit.offline import export_verify

_ENTRY: dict[str, Any] = dict.fromkeys(ENTRY_FIELDS, "x") | {
    "at": datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
    "detail": {"b": 1, "a": "ü"},
    "org_id": None,
}


def test_the_fields_of_the_chain_are_the_fields_of_the_entry() -> None:
    assert set(ENTRY_FIELDS) == set(AuditEntry.model_fields)


def test_the_canonical_form_is_as_documented() -> None:
    text = canonical(_ENTRY).decode()
    assert '"at":"2026-01-02T03:04:05.000006Z"' in text
    assert '"detail":{"a":"ü","b":1}' in text
    assert list(json.loads(text)) == sorted(ENTRY_FIELDS)
    assert link(GENESIS, _ENTRY) == hashlib.sha256(bytes(32) + text.encode()).digest()


def test_a_moment_is_written_the_same_in_every_zone() -> None:
    at = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert time_text(at.astimezone(timezone(timedelta(hours=5)))) == time_text(at)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(details=st.lists(st.dictionaries(st.text(), _json, max_size=3), min_size=1, max_size=5))
def test_an_export_of_anything_verifies_and_no_line_can_change(
    details: list[dict[str, Any]],
) -> None:
    lines = _export(details)
    found = export_verify(lines)
    assert (found.fault, found.lines, found.whole) == (None, len(details), True)
    for number, line in enumerate(lines):
        changed = json.loads(line)
        changed["entry"]["actor_id"] = "somebody else"
        tampered = [*lines[:number], json.dumps(changed), *lines[number + 1 :]]
        assert f"line {number + 1} " in (export_verify(tampered).fault or "")


def test_a_line_that_was_recomputed_does_not_fit_its_neighbour() -> None:
    lines = _export([{"n": 1}, {"n": 2}, {"n": 3}])
    record = json.loads(lines[1])
    record["entry"]["actor_id"] = "somebody else"
    record["hash"] = link(bytes.fromhex(record["prev_hash"]), record["entry"]).hex()
    found = export_verify([lines[0], json.dumps(record), lines[2]])
    assert "line 3 (seq 3) does not follow" in (found.fault or "")


def test_nonsense_is_said_to_be_nonsense() -> None:
    for line in ("", "{}", "[1]", "null", '{"seq": 1, "prev_hash": "zz", "hash": "", "entry": {}}'):
        assert "not a line of an export" in (export_verify([line]).fault or "")


def _export(details: list[dict[str, Any]]) -> list[str]:
    lines, previous = [], GENESIS
    for seq, detail in enumerate(details, start=1):
        entry = _ENTRY | {"at": time_text(_ENTRY["at"]), "detail": detail}
        digest = link(previous, entry)
        record = {"seq": seq, "prev_hash": previous.hex(), "hash": digest.hex(), "entry": entry}
        lines.append(json.dumps(record))
        previous = digest
    return lines
