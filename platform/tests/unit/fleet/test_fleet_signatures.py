"""SSH signatures as the platform makes and checks them, against the real ssh-keygen."""

import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gpuaas_platform.fleet.signatures import (
    BadSignature,
    fingerprint,
    public_line,
    signature_check,
    signature_make,
)

MESSAGE = b"a text to sign"


def keygen(*words: str, given: bytes = MESSAGE) -> bytes:
    return subprocess.run(
        ["ssh-keygen", *words], input=given, check=True, capture_output=True
    ).stdout


@pytest.mark.parametrize("message", [b"", MESSAGE, b"x" * 100_000])
def test_ssh_keygen_takes_ours(tmp_path: Path, message: bytes) -> None:
    key = Ed25519PrivateKey.generate()
    (tmp_path / "allowed").write_text(f"me {public_line(key)}\n")
    (tmp_path / "signature").write_text(signature_make(key, "space", message))
    words = ("-Y", "verify", "-f", str(tmp_path / "allowed"), "-I", "me", "-n", "space")
    keygen(*words, "-s", str(tmp_path / "signature"), given=message)


def test_ours_takes_that_of_ssh_keygen(tmp_path: Path) -> None:
    keygen("-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "key"))
    line = " ".join((tmp_path / "key.pub").read_text().split()[:2])
    signature = keygen("-Y", "sign", "-f", str(tmp_path / "key"), "-n", "space").decode()
    signature_check(line, "space", MESSAGE, signature)
    shown = keygen("-l", "-f", str(tmp_path / "key.pub")).decode()
    assert fingerprint(line) in shown


def test_every_other_is_refused() -> None:
    key, other = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    good = signature_make(key, "space", MESSAGE)
    line = public_line(key)
    signature_check(line, "space", MESSAGE, good)
    wrong = [
        (public_line(other), "space", MESSAGE, good, "another key"),
        (line, "elsewhere", MESSAGE, good, "another purpose"),
        (line, "space", MESSAGE + b".", good, "not of this text"),
        (line, "space", MESSAGE, "none", "no SSH signature"),
        (line, "space", MESSAGE, good.replace("U1NIU0lH", "U1NIU0lI"), "no SSH signature"),
        (line, "space", MESSAGE, _shortened(good), "ends too early"),
    ]
    for public, space, message, signature, why in wrong:
        with pytest.raises(BadSignature, match=why):
            signature_check(public, space, message, signature)


def _shortened(signature: str) -> str:
    lines = signature.splitlines()
    return "\n".join([lines[0], lines[1][:68], lines[-1]])
