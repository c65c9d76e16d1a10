"""Certificates and revocation lists, as OpenSSH's own tool reads them."""

import subprocess
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gpuaas_platform.custody.certificates import (
    Certificate,
    certificate_sign,
    fingerprint,
    public_key_line,
    public_key_parse,
    revocation_list,
)
from gpuaas_platform.kernel.problems import PlatformError

_NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
_CA = Ed25519PrivateKey.generate()
_PLAIN = Certificate(
    public_key=Ed25519PrivateKey.generate().public_key(),
    serial=7,
    key_id="grant=g caller=c",
    principal="alloc_1",
    valid_after=_NOW,
    valid_before=_NOW + timedelta(minutes=5),
    source_address=[],
    force_command=None,
    pty=False,
)


def _keygen(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["ssh-keygen", *words], capture_output=True, text=True, check=False)


def _shown(wanted: Certificate, folder: Path) -> list[str]:
    file = folder / "cert.pub"
    file.write_text(certificate_sign(_CA, wanted))
    done = _keygen("-L", "-f", file)
    assert done.returncode == 0, done.stderr
    return [line.strip() for line in done.stdout.splitlines()]


def test_a_plain_certificate_permits_nothing_extra(tmp_path: Path) -> None:
    lines = _shown(_PLAIN, tmp_path)
    assert "Serial: 7" in lines
    assert 'Key ID: "grant=g caller=c"' in lines
    assert lines[lines.index("Principals:") + 1] == "alloc_1"
    assert "Critical Options: (none)" in lines
    assert "Extensions: (none)" in lines
    ca = fingerprint(public_key_line(_CA.public_key()))
    assert any(line.startswith("Signing CA: ED25519 ") and ca in line for line in lines)


def test_what_was_asked_for_is_in_it(tmp_path: Path) -> None:
    more = replace(_PLAIN, source_address=["10.0.0.0/8", "::1/128"], force_command="id", pty=True)
    lines = _shown(more, tmp_path)
    at = lines.index("Critical Options:")
    assert lines[at + 1 : at + 3] == ["force-command id", "source-address 10.0.0.0/8,::1/128"]
    assert lines[lines.index("Extensions:") + 1 :] == ["permit-pty"]


def test_a_revocation_list_names_what_is_revoked_and_no_other(tmp_path: Path) -> None:
    line = public_key_line(_CA.public_key())
    other = public_key_line(Ed25519PrivateKey.generate().public_key())
    krl = tmp_path / "krl"
    krl.write_bytes(revocation_list({line: [9, 7], other: [8]}, 3, _NOW))
    shown = _keygen("-Q", "-l", "-f", krl)
    assert "# KRL version 3" in shown.stdout, shown.stderr
    for serial, revoked in ((7, True), (8, False), (9, True)):
        file = tmp_path / f"{serial}.pub"
        file.write_text(certificate_sign(_CA, replace(_PLAIN, serial=serial)))
        done = _keygen("-Q", "-f", krl, file)
        assert ("REVOKED" in done.stdout) is revoked, done.stdout + done.stderr


def test_an_empty_revocation_list_is_one(tmp_path: Path) -> None:
    krl = tmp_path / "krl"
    krl.write_bytes(revocation_list({}, 0, _NOW))
    assert _keygen("-Q", "-l", "-f", krl).returncode == 0


def test_keys_that_should_not_be_certified_are_refused() -> None:
    weak = rsa.generate_private_key(public_exponent=65537, key_size=1024)  # noqa: S505 - to be refused
    line = weak.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    for text in (line.decode(), "ssh-ed25519 AAAA", "ssh-dss AAAAB3NzaC1kc3MAAACBAP"):
        with pytest.raises(PlatformError, match="/public_key"):
            public_key_parse(text)
