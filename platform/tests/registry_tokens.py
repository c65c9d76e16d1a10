"""A token service as large registries have one: a password becomes a token the registry trusts."""

import base64
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from registry_server import PASSWORD, USER

_SERVICE, _ISSUER = "registry.test", "tokens.test"


@dataclass
class TokenService:
    """A running service: what a registry is told of it, and the scopes it was asked for."""

    auth: dict[str, Any]
    asked: list[str] = field(default_factory=list)


@contextmanager
def token_service(folder: Path) -> Iterator[TokenService]:
    """A service on loopback for as long as the block runs."""
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _certificate(key)
    bundle = folder / "tokens.pem"
    bundle.write_bytes(certificate.public_bytes(Encoding.PEM))
    service = TokenService({})

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            pair = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
            known = self.headers["Authorization"] == f"Basic {pair}"
            scope = parse_qs(urlsplit(self.path).query)["scope"][0]
            if known:
                service.asked.append(scope)
            body = json.dumps({"token": _token(key, certificate, scope)}).encode() if known else b""
            self.send_response(200 if known else 401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its own name
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    realm = f"http://127.0.0.1:{server.server_port}/token"
    service.auth["token"] = {
        "realm": realm, "service": _SERVICE, "issuer": _ISSUER, "rootcertbundle": str(bundle),
    }  # fmt: skip
    try:
        yield service
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _certificate(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _ISSUER)])
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, SHA256())
    )


def _token(key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate, scope: str) -> str:
    kind, name, actions = scope.split(":")
    der = base64.b64encode(certificate.public_bytes(Encoding.DER)).decode()
    now = int(time.time())
    header = {"typ": "JWT", "alg": "ES256", "x5c": [der]}
    claims = {
        "iss": _ISSUER, "sub": USER, "aud": _SERVICE, "exp": now + 300, "nbf": now - 60,
        "iat": now, "jti": secrets.token_hex(8),
        "access": [{"type": kind, "name": name, "actions": actions.split(",")}],
    }  # fmt: skip
    signed = ".".join(_encoded(json.dumps(part).encode()) for part in (header, claims))
    r, s = decode_dss_signature(key.sign(signed.encode(), ec.ECDSA(SHA256())))
    return f"{signed}.{_encoded(r.to_bytes(32) + s.to_bytes(32))}"


def _encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
