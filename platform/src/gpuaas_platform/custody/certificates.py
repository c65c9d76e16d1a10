"""OpenSSH certificates and revocation lists, as bytes. Pure but for the certificate's nonce.

Called by this room's services. A certificate carries nothing it was not asked for: no forwarding
of ports, agents or X11, no rc file, a terminal only where it was wanted.
"""

import base64
import hashlib
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization.ssh import (
    SSHCertificateBuilder,
    SSHCertificateType,
    load_ssh_public_key,
)

from gpuaas_platform.kernel.problems import invalid

PublicKey = ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey | rsa.RSAPublicKey
_RSA_MIN_BITS: Final = 2048
_MAGIC: Final = b"SSHKRL\n\0"
_FORMAT: Final = 1
_SECTION_CERTIFICATES: Final = 1
_SERIAL_LIST: Final = 0x20


@dataclass(frozen=True)
class Certificate:
    """What a certificate says."""

    public_key: PublicKey
    serial: int
    key_id: str
    principal: str
    valid_after: datetime
    valid_before: datetime
    source_address: Sequence[str]
    force_command: str | None
    pty: bool


def public_key_parse(text: str) -> PublicKey:
    """A person's or controller's key; refuses kinds and sizes that should not be certified."""
    try:
        key = load_ssh_public_key(text.encode())
    except (ValueError, UnsupportedAlgorithm) as error:
        raise invalid("/public_key", "is no SSH public key that can be certified") from error
    if isinstance(key, rsa.RSAPublicKey) and key.key_size < _RSA_MIN_BITS:
        raise invalid("/public_key", f"an RSA key has at least {_RSA_MIN_BITS} bits")
    if not isinstance(key, PublicKey):
        raise invalid("/public_key", "has to be an Ed25519, ECDSA or RSA key")
    return key


def certificate_sign(authority: ed25519.Ed25519PrivateKey, wanted: Certificate) -> str:
    """The certificate, as a line for a file beside the key."""
    builder = (
        SSHCertificateBuilder()
        .public_key(wanted.public_key)
        .serial(wanted.serial)
        .type(SSHCertificateType.USER)
        .key_id(wanted.key_id.encode())
        .valid_principals([wanted.principal.encode()])
        .valid_after(int(wanted.valid_after.timestamp()))
        .valid_before(int(wanted.valid_before.timestamp()))
    )
    if wanted.force_command is not None:
        builder = builder.add_critical_option(b"force-command", wanted.force_command.encode())
    if wanted.source_address:
        networks = ",".join(wanted.source_address).encode()
        builder = builder.add_critical_option(b"source-address", networks)
    if wanted.pty:
        builder = builder.add_extension(b"permit-pty", b"")
    return builder.sign(authority).public_bytes().decode()


def public_key_line(key: PublicKey) -> str:
    """A key as OpenSSH writes it."""
    return key.public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    ).decode()


def fingerprint(line: str) -> str:
    """A key's fingerprint as `ssh-keygen -l` and sshd's log show it."""
    digest = hashlib.sha256(_blob(line)).digest()
    return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def revocation_list(revoked: Mapping[str, Sequence[int]], version: int, at: datetime) -> bytes:
    """A KRL (OpenSSH's PROTOCOL.krl): serials of revoked certificates by the key that signed."""
    header = struct.pack(">IQQQ", _FORMAT, version, int(at.timestamp()), 0)
    parts = [_MAGIC, header, _string(b""), _string(b"gpuaas")]
    for line in sorted(revoked):
        serials = b"".join(struct.pack(">Q", serial) for serial in sorted(revoked[line]))
        listed = bytes([_SERIAL_LIST]) + _string(serials)
        section = _string(_blob(line)) + _string(b"") + listed
        parts.append(bytes([_SECTION_CERTIFICATES]) + _string(section))
    return b"".join(parts)


def _blob(line: str) -> bytes:
    return base64.b64decode(line.split()[1])


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data
