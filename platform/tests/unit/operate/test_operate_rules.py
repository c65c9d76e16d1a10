"""Pure rules of the operate room: masking of evidence, names of sessions, order of pages."""

from datetime import UTC, datetime

import pytest

from gpuaas_platform.kernel.elections import duty_lock
from gpuaas_platform.kernel.masking import MASK, secrets_masked
from gpuaas_platform.kernel.problems import PlatformError
from gpuaas_platform.kernel.replica import replica_name, session_name, session_parse
from gpuaas_platform.kernel.waiting import wait_seconds
from gpuaas_platform.operate.health import sessions_of
from gpuaas_platform.operate.timeline import _behind, _cursor, _position

SECRET = "gpk_01k0000000000000000000000_Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4"


@pytest.mark.parametrize(
    "text",
    [
        f"Authorization: Bearer {SECRET}",
        f"curl -H 'authorization: bearer {SECRET}' http://x",
        f'{{"password": "{SECRET}", "name": "kept"}}',
        f"password={SECRET}&name=kept",
        f"key {SECRET} in the middle",
        "whsec_Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4",
        "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0abc.c2lnbmF0dXJl",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nZm9vYmFyYmF6\n-----END OPENSSH PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nZm9vYmFyYmF6 cut off",
        f"Cookie: gpuaas_session={SECRET}; other=1",
    ],
)
def test_credentials_in_evidence_are_masked(text: str) -> None:
    masked = secrets_masked(text)
    assert MASK in masked
    for part in (SECRET, "Zm9vYmFyYmF6", "c2lnbmF0dXJl"):
        assert part not in masked
    assert ("kept" in masked) == ("kept" in text)


@pytest.mark.parametrize(
    "text", ["POST /api/v1/projects/proj_1/app-instances", "409 state_conflict", "tokens are short"]
)
def test_ordinary_evidence_is_kept(text: str) -> None:
    assert secrets_masked(text) == text


def test_a_session_names_its_replica() -> None:
    parsed = session_parse(session_name("relay"))
    assert parsed is not None
    assert parsed[0] == "relay"
    assert replica_name().endswith(parsed[2])
    assert len(session_name("a-very-long-purpose")) <= 63
    assert session_parse("psql") is None
    assert session_parse("gpuaas-platform") is None


def test_a_duty_is_held_by_whoever_has_its_lock() -> None:
    rows = [
        {"name": "gpuaas-signals 0.1.0 a:1", "locks": []},
        {"name": "gpuaas-signals 0.1.0 b:2", "locks": []},
        {"name": "gpuaas-relay 0.1.0 a:1", "locks": [7]},
        {"name": "gpuaas-relay 0.1.0 b:2", "locks": [duty_lock("relay")]},
        {"name": "gpuaas-audit-chain 0.1.0 a:1", "locks": []},
        {"name": "gpuaas-platform", "locks": []},
    ]
    sessions = sessions_of(rows)  # type: ignore[arg-type] # records read like mappings
    assert [one.name for one in sessions.replicas] == ["a:1", "b:2"]
    assert sessions.holder("relay") == "b:2"
    assert sessions.holder("audit-chain") is None
    assert [one.duty for one in sessions.duties] == ["audit-chain", "relay"]


def test_a_cursor_leads_back_to_its_place() -> None:
    position = (datetime(2026, 1, 1, 12, 30, 15, 123456, tzinfo=UTC), 3, "op_abc/step one"[:6])
    assert _position(_cursor(position)) == position
    at = position[0]
    assert _behind(position, 2) == (at, "~")
    assert _behind(position, 3) == (at, "op_abc")
    assert _behind(position, 4) == (at, "")


@pytest.mark.parametrize(
    ("text", "seconds"), [("0s", 0), ("250ms", 0.25), ("30s", 30), ("99s", 30)]
)
def test_a_wait_is_read_and_bounded(text: str, seconds: float) -> None:
    assert wait_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "30", "-1s", "1m", "1.5s", "s"])
def test_a_wait_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(PlatformError):
        wait_seconds(text)
