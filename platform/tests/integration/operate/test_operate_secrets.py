"""No secret in any sink: a broad run with canary secrets, then a search of everything it left.

Searched are the logs, the metrics, the spans, every problem document, what webhooks were sent, the
audit export, and a dump of the whole database (events, audit, requests, stored answers and all).
"""

import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from apps_fake_controller import FakeController
from apps_fixtures import Site, site_make
from canary_sinks import Canaries, Taken, database_dump, webhook_target
from eventually import eventually
from identity_fixtures import ADMIN, Browser, World, project_scope, world_running
from otlp_receiver import Received, otlp_receiving
from platform_calls import bearer

from gpuaas_contract.identity import CSRF_COOKIE, LOOPBACK_SESSION_COOKIE
from gpuaas_contract.permissions import RoleName
from gpuaas_platform.identity.bootstrap import AdminWish, admin_create
from gpuaas_platform.kernel.clock import Clock
from gpuaas_platform.kernel.logs import logs_configure
from gpuaas_platform.kernel.settings import Settings
from gpuaas_platform.kernel.telemetry import tracing_running


@dataclass
class Run:
    """The platform, the secrets it was given or gave out, and what it answered."""

    world: World
    target: Taken
    spans: Received
    canaries: Canaries = field(default_factory=Canaries)
    problems: list[bytes] = field(default_factory=list)

    def browser(self) -> Browser:
        browser = self.world.browser()
        browser.client.event_hooks["response"].append(self._look)
        return browser

    async def sign_in(self, email: str, password: str) -> Browser:
        browser = self.browser()
        answer = await browser.post("/sessions", {"email": email, "password": password})
        assert answer.status_code == 201, answer.text
        self.canaries.keep("session", browser.client.cookies[LOOPBACK_SESSION_COOKIE])
        self.canaries.keep("csrf", browser.client.cookies[CSRF_COOKIE])
        return browser

    async def secret_of(self, browser: Browser, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Post for a secret that is shown once, with a key that seals the stored answer."""
        key = self.canaries.keep("idempotency key", secrets.token_hex(16))
        first = await browser.post(path, body, Idempotency_Key=key)
        again = await browser.post(path, body, Idempotency_Key=key)
        assert first.status_code in {200, 201}, first.text
        assert first.json() == again.json()
        found: dict[str, Any] = first.json()
        self.canaries.keep(path.rsplit("/", 1)[-1], found.get("secret") or found["access_token"])
        return found

    async def _look(self, response: httpx2.Response) -> None:
        if response.status_code >= 400:
            self.problems.append(await response.aread())


class _RoleTokens:
    """Stands in for made-up callers: everybody is the administrator until real tokens exist."""

    def __init__(self, token: str) -> None:
        self._token = token

    def add(self, *_: object) -> str:
        return self._token


async def test_no_secret_in_any_sink(
    database_url: str,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    async with _running(database_url, settings) as run:
        password = run.canaries.keep("password", f"pw-{secrets.token_hex(12)}")
        await admin_create(run.world.platform, AdminWish(ADMIN, password=password), "test")
        admin = await run.sign_in(ADMIN, password)
        site = await _site(run, admin)
        await _people(run, admin, site)
        await _machines(run, admin, site)
        await _webhooks(run, admin, site)
        await _mistakes(run, admin)
        await _failures(run, admin, monkeypatch)
        await _gap(run, admin)
        metrics = (await admin.get("/metrics")).content
        export = (await admin.get("/audit/export")).content
        assert b"identity.user.create" in export
        events = (await admin.get("/events", limit="500")).content
        await _relayed(run)
    printed = "".join(capfd.readouterr())
    sinks = {
        "logs": printed.encode(),
        "metrics": metrics,
        "audit export": export,
        "events": events,
        "spans": b"".join(run.spans.bodies),
        "problems": b"\n".join(run.problems),
        "webhook deliveries": b"\n".join(run.target.sent),
        "database": database_dump(database_url, tmp_path),
    }
    assert all(len(sink) > 500 for sink in sinks.values()), {k: len(v) for k, v in sinks.items()}
    assert len(run.canaries.secrets) > 25
    assert {
        name: seen for name, sink in sinks.items() if (seen := run.canaries.seen_in(sink))
    } == {}


def test_the_search_would_find_them() -> None:
    canaries = Canaries()
    canaries.keep("token", "gpt_c29tZS1yYW5kb20tYnl0ZXM")
    for sink in (
        b"a gpt_c29tZS1yYW5kb20tYnl0ZXM b",
        b"c29tZS1yYW5kb20tYnl0ZXM",
        rb"'\x" + b"gpt_c29tZS1yYW5kb20tYnl0ZXM".hex().encode(),
    ):
        assert canaries.seen_in(sink) == ["token 0"]
    assert canaries.seen_in(b"gpt_ and nothing else") == []


@asynccontextmanager
async def _running(database_url: str, settings: Settings) -> AsyncIterator[Run]:
    """A platform with everything on: the lowest log level, spans, webhooks to loopback."""
    with otlp_receiving() as spans, webhook_target() as target:
        loud = Settings.model_validate(
            settings.model_dump()
            | {
                "log_level": "debug",
                "otlp_endpoint": spans.url,
                "webhook_allowed_networks": ["127.0.0.0/8"],
            }
        )
        logs_configure(loud)
        with tracing_running(loud):
            async with world_running(database_url, loud, Clock()) as world:
                yield Run(world, target, spans)


async def _site(run: Run, admin: Browser) -> Site:
    """Machines and an app, made by the administrator with a personal token."""
    token = await run.secret_of(admin, "/personal-tokens", {"name": "canary"})
    client = run.browser().client
    return await site_make(client, run.world.platform, _RoleTokens(token["secret"]), machines=1)


async def _people(run: Run, admin: Browser, site: Site) -> None:
    """Users with passwords, changed and mistyped; sessions begun and ended."""
    org, project = site.place.org_id or "", site.place.project_id or ""
    scope = project_scope(org, project)
    password = run.canaries.keep("password", f"pw-{secrets.token_hex(12)}")
    email = "person@example.org"
    made = await admin.made(f"/tenants/{org}/users", {"email": email, "password": password})
    binding = {"principal_id": made["id"], "role": RoleName.PROJECT_ADMIN, "scope": scope}
    await admin.made("/role-bindings", binding)
    wrong = run.canaries.keep("wrong password", f"pw-{secrets.token_hex(12)}")
    refused = await run.browser().post("/sessions", {"email": email, "password": wrong})
    assert refused.status_code == 401
    person = await run.sign_in(email, password)
    changed = run.canaries.keep("new password", f"pw-{secrets.token_hex(12)}")
    body = {"password": changed, "current_password": password}
    assert (await person.put(f"/users/{made['id']}/password", body)).status_code < 300
    again = await run.sign_in(email, changed)
    token = await run.secret_of(again, "/personal-tokens", {"name": "mine"})
    site.admin = bearer(token["secret"])


async def _machines(run: Run, admin: Browser, site: Site) -> None:
    """A service account with a key, rotated; its token; leases it holds."""
    del admin
    person = run.browser().with_token(site.admin["Authorization"].removeprefix("Bearer "))
    path = f"/projects/{site.place.project_id}/service-accounts"
    account = await person.made(path, {"name": "robot", "roles": [RoleName.APP_OPERATOR]})
    keys = f"/service-accounts/{account['id']}/keys"
    old = await run.secret_of(person, keys, {"name": "first"})
    new = await run.secret_of(person, keys, {"name": "second", "predecessor_id": old["id"]})
    token = await run.secret_of(run.browser(), "/tokens", {"key": new["secret"]})
    site.robot = bearer(token["access_token"])
    await site.deploy()
    controller = FakeController(site)
    claimed = await controller.claim(lease_seconds=60)
    run.canaries.keep("lease", claimed[0]["lease"]["token"])
    await controller.work(claimed[0])
    forged = run.canaries.keep("forged lease", secrets.token_urlsafe(32))
    claimed[0]["lease"]["token"] = forged
    assert (await controller.say(claimed[0], "heartbeat")).status_code == 409


async def _webhooks(run: Run, admin: Browser, site: Site) -> None:
    """A webhook whose secret is rotated, to a target that takes, refuses and takes again."""
    path = f"/tenants/{site.place.org_id}/webhooks"
    made = await run.secret_of(admin, path, {"url": run.target.url})
    hook = made["webhook"]["id"]
    await run.secret_of(admin, f"/webhooks/{hook}/rotate-secret", {})
    for status in (200, 500):
        run.target.status = status
        sent = len(run.target.sent)
        name = f"hooked-{status}"
        await admin.made(f"/tenants/{site.place.org_id}/projects", {"name": name})
        await eventually(partial(_more_sent, run, sent), what=f"a delivery answered {status}")
    assert (await admin.delete(f"/webhooks/{hook}")).status_code < 300


def _more_sent(run: Run, than: int) -> bool:
    return len(run.target.sent) > than


async def _mistakes(run: Run, admin: Browser) -> None:
    """Secrets where they do not belong, and bodies nobody can read."""
    keep = run.canaries.keep
    for value in ("\x00", "\ud800", "é" * 3):
        odd = keep("odd password", f"pw-{secrets.token_hex(12)}")
        text = json.dumps({"email": f"x{value}@example.org", "password": odd + value}).encode()
        headers = admin._headers({"Content-Type": "application/json"})
        for client, path in (admin.client, "/users"), (run.browser().client, "/sessions"):
            answer = await client.post(path, content=text, headers=headers)
            assert answer.status_code < 500, answer.text
    torn = keep("torn body", f"pw-{secrets.token_hex(12)}")
    await admin.client.post(
        "/users",
        content=f'{{"password": "{torn}'.encode(),
        headers=admin._headers({"Content-Type": "application/json"}),
    )
    for body in (
        {"email": "y@example.org", "password": [keep("in a list", secrets.token_hex(16))]},
        {"email": keep("as an email", secrets.token_hex(16)), "password": "short"},
        {"email": "y@example.org", "passwrd": keep("misnamed", secrets.token_hex(16))},
    ):
        assert (await admin.post("/users", body)).status_code == 422
    for header, value in (
        ("Authorization", f"Bearer {keep('unknown token', secrets.token_urlsafe(32))}"),
        ("Authorization", f"Bearer gpt_{keep('forged token', secrets.token_urlsafe(32))}"),
        ("Authorization", f"Basic {keep('basic', secrets.token_urlsafe(32))}"),
        ("Cookie", f"gpuaas_session={keep('cookie', secrets.token_urlsafe(32))}"),
    ):
        stranger = run.browser()
        answer = await stranger.client.get("/whoami", headers={header: value})
        assert answer.status_code == 401
    token = (await run.secret_of(admin, "/personal-tokens", {"name": "pasted"}))["secret"]
    for path in ("/personal-tokens", "/service-account-keys", "/gaps", "/projects"):
        await admin.delete(f"{path}/{token}")
        await admin.get(f"{path}/{token}")
        await admin.patch(f"{path}/{token}", {})
    await admin.get("/gaps", token=keep("in a query", secrets.token_urlsafe(32)))
    bad = {"key": f"gpk_{'0' * 26}_{keep('wrong key', secrets.token_urlsafe(32))}"}
    assert (await run.browser().post("/tokens", bad)).status_code == 401
    csrf = {"X-CSRF-Token": keep("wrong csrf", secrets.token_urlsafe(32))}
    refused = await admin.client.post("/gaps", json={}, headers=csrf)
    assert refused.status_code == 403


async def _failures(run: Run, admin: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    """The platform itself fails, with the secret in the failure's own words."""

    async def fail(_: Any, body: Any, *__: Any, **___: Any) -> None:
        password = run.canaries.secrets["failing password"]
        raise ValueError(f"cannot store {body} with {password}")

    run.canaries.secrets["failing password"] = f"pw-{secrets.token_hex(12)}"
    body = {"email": "z@example.org", "password": run.canaries.secrets["failing password"]}
    with monkeypatch.context() as patched:
        patched.setattr("gpuaas_platform.identity.store.people.user_insert", fail)
        assert (await admin.post("/users", body)).status_code == 500
        assert (await admin.post("/users", body, traceparent="")).status_code == 500


async def _gap(run: Run, admin: Browser) -> None:
    """Somebody pastes a whole exchange into the gap log."""
    token = (await run.secret_of(admin, "/personal-tokens", {"name": "evidence"}))["secret"]
    body = {
        "category": "missing_event",
        "title": "pasted",
        "description": f"I used {token}",
        "evidence": {
            "request": f"POST /x\nAuthorization: Bearer {token}",
            "answer": f'{{"secret": "{token}"}}',
        },
    }
    made = await admin.made("/gaps", body)
    assert token not in str(made)


async def _relayed(run: Run) -> None:
    """Everything told has been numbered."""
    empty = "SELECT count(*) = 0 FROM outbox"
    await eventually(lambda: run.world.platform.db.fetchval(empty), what="an empty outbox")
