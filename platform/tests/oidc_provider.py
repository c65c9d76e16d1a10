"""A real OpenID Connect provider (canaille) as a process of its own, on loopback.

Run by tests. `POST /test/state` is added to it, so that a test can rotate its signing keys, move
people between groups and register another address to send browsers back to; everything else is the
provider as it is installed.
"""

import json
import sys
import threading
from collections.abc import Iterable
from typing import Any

from canaille import create_app  # type: ignore[import-untyped] # it ships no types
from canaille.app import models  # type: ignore[import-untyped] # it ships no types
from canaille.backends import Backend  # type: ignore[import-untyped] # it ships no types
from flask import Flask, request
from joserfc.jwk import RSAKey
from werkzeug.serving import make_server

CLIENT_ID = "gpuaas"
CLIENT_SECRET = "a secret between the two of us"
PASSWORD = "correct horse battery"


def serve(redirect_uri: str) -> None:
    """Serve until the standard input closes; the first line printed is the issuer."""
    server = make_server("127.0.0.1", 0, Flask("not yet"), threaded=True)
    issuer = f"http://127.0.0.1:{server.server_port}"
    server.app = _app(issuer, redirect_uri)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"issuer": issuer}), flush=True)  # noqa: T201 - read by the test
    sys.stdin.read()
    server.shutdown()


def _app(issuer: str, redirect_uri: str) -> Flask:
    app: Flask = create_app(
        {
            "SECRET_KEY": "only for tests",
            "SERVER_NAME": issuer.removeprefix("http://"),
            "PREFERRED_URL_SCHEME": "http",
            "CANAILLE": {"DATABASE": "memory", "ENABLE_REGISTRATION": False},
            "CANAILLE_OIDC": {"ACTIVE_JWKS": [_key()], "REQUIRE_NONCE": True},
        }
    )
    with app.app_context():
        _people_make(["ada", "bob"])
        _client_make(redirect_uri)

    @app.post("/test/state")
    def state() -> dict[str, Any]:
        wanted = request.get_json()
        if wanted.get("rotate"):
            app.config["CANAILLE_OIDC"]["ACTIVE_JWKS"] = [_key()]
        if wanted.get("forget_codes"):  # its memory mixes up codes that were never redeemed
            for code in Backend.instance.query(models.AuthorizationCode):
                Backend.instance.delete(code)
        if "redirect_uri" in wanted:
            client = Backend.instance.get(models.Client, client_id=CLIENT_ID)
            client.redirect_uris = [*client.redirect_uris, wanted["redirect_uri"]]
            Backend.instance.save(client)
        for group, members in wanted.get("groups", {}).items():
            _group_set(group, members)
        return {"ok": True}

    app.extensions["csrf"].exempt(state)
    return app


def _key() -> dict[str, Any]:
    return dict(RSAKey.generate_key(2048, auto_kid=True).as_dict(private=True))


def _people_make(names: Iterable[str]) -> None:
    for name in names:
        user = models.User(
            user_name=name,
            formatted_name=name.capitalize(),
            family_name=name.capitalize(),
            emails=[f"{name}@example.org"],
            password=PASSWORD,
        )
        Backend.instance.save(user)


def _client_make(redirect_uri: str) -> None:
    client = models.Client(
        client_id=CLIENT_ID,
        client_secret=CLIENT_SECRET,
        client_name="GPUaaS",
        client_uri="http://127.0.0.1",
        redirect_uris=[redirect_uri],
        grant_types=["authorization_code"],
        response_types=["code"],
        scope=["openid", "email", "profile", "groups"],
        token_endpoint_auth_method="client_secret_basic",
    )
    Backend.instance.save(client)
    client.audience = [client]
    Backend.instance.save(client)


def _group_set(name: str, members: list[str]) -> None:
    group = Backend.instance.get(models.Group, display_name=name)
    if group is None:
        group = models.Group(display_name=name)
    group.members = [Backend.instance.get(models.User, user_name=one) for one in members]
    if members:
        Backend.instance.save(group)
    elif group.id is not None:
        Backend.instance.delete(group)


if __name__ == "__main__":
    serve(sys.argv[1])
