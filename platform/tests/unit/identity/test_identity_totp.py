"""Codes of authenticator apps: the RFC's own vectors, the clock's tolerance, no code twice."""

from datetime import UTC, datetime

import pytest

from gpuaas_platform.identity.totp import code_at, secret_uri, step_of

SECRET = b"12345678901234567890"


@pytest.mark.parametrize(
    ("seconds", "code"),
    [
        (59, "94287082"),
        (1111111109, "07081804"),
        (1111111111, "14050471"),
        (1234567890, "89005924"),
        (2000000000, "69279037"),
        (20000000000, "65353130"),
    ],
)
def test_the_vectors_of_rfc_6238(seconds: int, code: str) -> None:
    assert code_at(SECRET, seconds // 30) == code[-6:]


def test_a_clock_may_be_half_a_minute_off_and_no_code_works_twice() -> None:
    now = datetime.fromtimestamp(3000, UTC)
    for step in (99, 100, 101):
        assert step_of(SECRET, code_at(SECRET, step), now, None) == step
    for step in (98, 102):
        assert step_of(SECRET, code_at(SECRET, step), now, None) is None
    assert step_of(SECRET, code_at(SECRET, 100), now, 100) is None
    assert step_of(SECRET, code_at(SECRET, 101), now, 100) == 101


def test_the_address_for_a_qr_code() -> None:
    assert secret_uri(SECRET, "ada@acme.example", "GPUaaS") == (
        "otpauth://totp/GPUaaS%3Aada%40acme.example"
        "?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=GPUaaS"
    )
