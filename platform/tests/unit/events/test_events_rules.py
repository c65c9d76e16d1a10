"""Pure rules of the events room: envelopes, interests, signatures, retries, targets."""

import base64
import ipaddress
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuaas_contract.events import CloudEvent, EventFilter
from gpuaas_contract.permissions import Permission
from gpuaas_platform.events.envelope import cloud_event, event_frame
from gpuaas_platform.events.interest import Interest, type_taken
from gpuaas_platform.events.retry import retry_delay
from gpuaas_platform.events.signing import delivery_headers, secret_text, signature
from gpuaas_platform.kernel.caller import Caller, CallerKind, Grant, Place, Reach
from gpuaas_platform.kernel.outbound import Guard

_ROW: dict[str, Any] = {
    "seq": 42,
    "id": "evt_1",
    "type": "apps.instance.running",
    "subject": "inst_1",
    "at": datetime(2026, 1, 1, tzinfo=UTC),
    "org_id": "org_a",
    "project_id": None,
    "app_slug": None,
    "app_instance_id": None,
    "correlation_id": "cor-1",
    "traceparent": None,
    "data": {"org_id": "a lie", "text": "two\nlines"},
}


def test_the_context_in_the_data_is_the_events_own() -> None:
    event = CloudEvent.model_validate(cloud_event(_ROW, "/gpuaas"))
    assert event.data.org_id == event.orgid == "org_a"
    assert event.data.project_id is None
    assert "projectid" not in cloud_event(_ROW, "/gpuaas"), "an attribute is never null"


def test_a_frame_is_one_message_whatever_the_data() -> None:
    frame = event_frame(_ROW, "/gpuaas")
    lines = frame.sse.decode().split("\n")
    assert [line.partition(":")[0] for line in lines] == ["id", "event", "data", "", ""]
    assert json.loads(lines[2].removeprefix("data: "))["data"]["text"] == "two\nlines"


@pytest.mark.parametrize(
    ("prefixes", "taken"),
    [
        (["apps"], True),
        (["apps.instance"], True),
        (["apps.instance.running"], True),
        (["apps.inst"], False),
        (["billing", "apps.instance"], True),
    ],
)
def test_a_type_is_taken_by_whole_words(prefixes: list[str], taken: bool) -> None:
    assert type_taken(prefixes, "apps.instance.running") is taken


_orgs = st.sampled_from([None, "org_a", "org_b"])
_projects = st.sampled_from([None, "proj_1", "proj_2"])


@given(
    granted=st.lists(st.tuples(_orgs, _projects, st.booleans()), max_size=4),
    org=_orgs,
    project=_projects,
)
def test_the_stream_shows_exactly_what_the_permission_allows(
    granted: list[tuple[str | None, str | None, bool]], org: str | None, project: str | None
) -> None:
    """The fast check of the stream and the one place where permission is decided agree."""
    if org is None:
        project = None
    grants = tuple(
        Grant(
            frozenset({Permission.EVENT_READ if may else Permission.AUDIT_READ}),
            Place(g_org, g_project if g_org else None),
        )
        for g_org, g_project, may in granted
    )
    caller = Caller(CallerKind.USER, "user_1", Place(), grants)
    frame = event_frame(_ROW | {"org_id": org, "project_id": project}, "/gpuaas")
    interest = Interest(EventFilter(), caller.reach(Permission.EVENT_READ))
    assert interest.takes(frame) is caller.allows(Permission.EVENT_READ, Place(org, project))


def test_a_signature_is_the_one_of_the_public_scheme() -> None:
    """The example of the Standard Webhooks specification."""
    key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    body = b'{"test": 2432232314}'
    made = signature(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body)
    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert secret_text(key) == "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def test_two_keys_sign_side_by_side() -> None:
    headers = dict(delivery_headers([b"new", b"old"], "evt_1", _ROW["at"], b"{}"))
    assert headers["webhook-signature"].count("v1,") == 2
    assert headers["webhook-timestamp"] == str(int(_ROW["at"].timestamp()))


@given(attempts=st.integers(1, 500), chance=st.floats(0, 1), asked=st.floats(0, 1e9))
def test_a_retry_waits_longer_each_time_within_bounds(
    attempts: int, chance: float, asked: float
) -> None:
    delay = retry_delay(attempts, chance)
    assert 2.5 <= delay <= 600
    assert retry_delay(attempts + 2, chance) >= min(delay, 300)
    assert delay <= retry_delay(attempts, chance, asked) <= 3600


@pytest.mark.parametrize(
    ("address", "encrypted", "plain"),
    [
        ("93.184.216.34", True, False),
        ("2606:2800:220:1:248:1893:25c8:1946", True, False),
        ("10.0.0.1", False, False),
        ("127.0.0.1", False, False),
        ("169.254.169.254", False, False),
        ("100.64.0.1", False, False),
        ("0.0.0.1", False, False),
        ("224.0.0.1", False, False),
        ("255.255.255.255", False, False),
        ("::1", False, False),
        ("fe80::1", False, False),
        ("fd00::1", False, False),
        ("::ffff:127.0.0.1", False, False),
        ("64:ff9b::7f00:1", False, False),
        ("2002:7f00:1::", False, False),
        ("192.0.2.7", True, True),
    ],
)
def test_the_guard_lets_webhooks_out_and_never_in(
    address: str, encrypted: bool, plain: bool
) -> None:
    guard = Guard((ipaddress.ip_network("192.0.2.0/24"),))
    parsed = ipaddress.ip_address(address)
    assert guard.allows(parsed, encrypted=True) is encrypted
    assert guard.allows(parsed, encrypted=False) is plain


def test_a_url_without_encryption_needs_a_named_network() -> None:
    assert Guard(()).url_check("http://receiver.example/") is not None
    assert Guard(()).url_check("https://receiver.example/") is None
    for unreachable in ("https://rücken.example/", f"https://{'a' * 64}.example/", "https://a..b/"):
        assert Guard(()).url_check(unreachable) is not None
    networks = (ipaddress.ip_network("10.0.0.0/8"),)
    assert Guard(networks).url_check("http://10.1.1.1:8080/hook") is None


def test_an_interest_without_a_reach_takes_nothing() -> None:
    nothing = Reach(everywhere=False, org_ids=(), project_ids=())
    assert not Interest(EventFilter(), nothing).takes(event_frame(_ROW, "/gpuaas"))
