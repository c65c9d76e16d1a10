"""No sequence of changes lets people gain what they did not hold, however they conspire.

Two people with random roles work together: they give and take roles, make and change custom roles,
make service accounts and keys and use them, and try to become a third person or a stronger account.
Whatever succeeds, all of them together may never do more than the two could at the start.
"""

import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import asyncpg
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from identity_fixtures import (
    Browser,
    World,
    key_exchanged,
    project_scope,
    tenant_scope,
    world_running,
)

from gpuaas_contract.permissions import ROLES, Permission, RoleName
from gpuaas_platform.identity.credentials import secret_hash
from gpuaas_platform.kernel.caller import Grant, Place
from gpuaas_platform.kernel.clock import Clock
from gpuaas_platform.kernel.settings import Settings

_names = count(1)
_ADMINISTRATION = [
    Permission.BINDING_MANAGE, Permission.ROLE_MANAGE, Permission.SERVICE_ACCOUNT_MANAGE,
    Permission.USER_MANAGE,
]  # fmt: skip
_WORK = [Permission.INSTANCE_CREATE, Permission.SECRET_DELIVER, Permission.TENANT_UPDATE]
_INDEX = st.integers(0, 5)

keys = st.lists(st.sampled_from(_ADMINISTRATION + _WORK), min_size=1, max_size=5, unique=True)
places = st.sampled_from(["tenant", "first", "second"])
holdings = st.lists(st.tuples(keys, places), min_size=1, max_size=2)
actions = st.one_of(
    st.tuples(st.just("bind"), _INDEX, _INDEX, _INDEX, places),
    st.tuples(st.just("bind_built_in"), _INDEX, _INDEX, st.sampled_from(sorted(RoleName)), places),
    st.tuples(st.just("unbind"), _INDEX, _INDEX),
    st.tuples(st.just("role_make"), _INDEX, keys),
    st.tuples(st.just("role_change"), _INDEX, _INDEX, keys),
    st.tuples(st.just("account_make"), _INDEX, _INDEX, places),
    st.tuples(st.just("key_make"), _INDEX, _INDEX),
    st.tuples(st.just("password"), _INDEX),
    st.tuples(st.just("email"), _INDEX),
)


@dataclass
class Plot:
    """A tenant with two conspirators and a third person in it."""

    world: World
    org_id: str
    projects: dict[str, str]
    conspirators: list[Browser] = field(default_factory=list)
    people: list[str] = field(default_factory=list)
    roles: list[str] = field(default_factory=list)
    accounts: list[str] = field(default_factory=list)
    victim: str = ""
    became_victim: bool = False

    def scope(self, place: str) -> dict[str, Any]:
        if place == "tenant":
            return tenant_scope(self.org_id)
        return project_scope(self.org_id, self.projects[place])

    async def act(self, action: tuple[Any, ...]) -> None:
        name, who, *rest = action
        actor = self.conspirators[who % len(self.conspirators)]
        await getattr(self, f"_{name}")(actor, *rest)

    async def power(self) -> set[tuple[str, Place]]:
        """All that the conspirators together may do, by place."""
        held: set[tuple[str, Place]] = set()
        for one in self.conspirators:
            for entry in (await one.seen("/whoami"))["permissions"]:
                scope = entry["scope"]
                grant = Grant(frozenset(), Place(scope["org_id"], scope["project_id"]))
                held |= {
                    (key, place)
                    for key in entry["permissions"]
                    for place in self.places()
                    if grant.covers(place)
                }
        return held

    def places(self) -> list[Place]:
        return [Place(self.org_id), *(Place(self.org_id, one) for one in self.projects.values())]

    async def _bind(self, actor: Browser, whom: int, role: int, place: str) -> None:
        if self.roles:
            await self._bind_built_in(actor, whom, self.roles[role % len(self.roles)], place)

    async def _bind_built_in(self, actor: Browser, whom: int, role: str, place: str) -> None:
        principals = self.people + self.accounts
        principal = principals[whom % len(principals)]
        body = {"principal_id": principal, "role": role, "scope": self.scope(place)}
        await actor.post("/role-bindings", body)

    async def _unbind(self, actor: Browser, number: int) -> None:
        held = (await actor.seen("/role-bindings", org_id=self.org_id))["items"]
        if held:
            await actor.delete(f"/role-bindings/{held[number % len(held)]['id']}")

    async def _role_make(self, actor: Browser, wanted: list[str]) -> None:
        body = {"name": f"r{next(_names)}", "permissions": wanted}
        answer = await actor.post(f"/tenants/{self.org_id}/roles", body)
        if answer.status_code == 201:
            self.roles.append(answer.json()["id"])

    async def _role_change(self, actor: Browser, role: int, wanted: list[str]) -> None:
        if self.roles:
            chosen = self.roles[role % len(self.roles)]
            await actor.patch(f"/roles/{chosen}", {"permissions": wanted})

    async def _account_make(self, actor: Browser, role: int, place: str) -> None:
        project = self.projects.get(place) or self.projects["first"]
        roles = [self.roles[role % len(self.roles)]] if self.roles else ["app_operator"]
        body = {"name": f"a{next(_names)}", "roles": roles}
        answer = await actor.post(f"/projects/{project}/service-accounts", body)
        if answer.status_code == 201:
            self.accounts.append(answer.json()["id"])

    async def _key_make(self, actor: Browser, account: int) -> None:
        if not self.accounts or len(self.conspirators) > 4:
            return
        chosen = self.accounts[account % len(self.accounts)]
        answer = await actor.post(f"/service-accounts/{chosen}/keys", {})
        if answer.status_code == 201:
            token = await key_exchanged(actor, answer.json()["secret"])
            self.conspirators.append(actor.with_token(token.json()["access_token"]))

    async def _password(self, actor: Browser) -> None:
        body = {"password": "a password of theirs"}
        answer = await actor.put(f"/users/{self.victim}/password", body)
        self.became_victim = self.became_victim or answer.status_code == 204

    async def _email(self, actor: Browser) -> None:
        body = {"email": f"taken{next(_names)}@example.org"}
        answer = await actor.patch(f"/users/{self.victim}", body)
        self.became_victim = self.became_victim or answer.status_code == 200


@pytest.fixture(scope="module")
async def shared_world(
    postgres_url: str, template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[World]:
    """One platform for all examples: each makes a tenant of its own."""
    name = f"escalation_{os.getpid()}"
    server = await asyncpg.connect(postgres_url)
    await server.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
    url = postgres_url.replace("/gpuaas?", f"/{name}?")
    folder = tmp_path_factory.mktemp("escalation")
    chosen = Settings(data_dir=folder, rate_limit_per_second=1e6, rate_limit_burst=1_000_000)
    async with world_running(url, chosen, Clock()) as made:
        yield made
    await server.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await server.close()


@settings(
    max_examples=60,
    deadline=None,  # a real database answers each step,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # and shrinking would take minutes
)
@given(
    first=holdings, second=holdings, third=holdings, plan=st.lists(actions, min_size=4, max_size=14)
)
async def test_conspirators_never_gain(
    shared_world: World,
    first: list[tuple[list[str], str]],
    second: list[tuple[list[str], str]],
    third: list[tuple[list[str], str]],
    plan: list[tuple[Any, ...]],
) -> None:
    plot = await plot_made(shared_world, [first, second, third])
    start = await plot.power()
    victim = {
        (key, place)
        for held, where in third
        for key in held
        for place in plot.places()
        if Grant(frozenset(), plot_place(plot, where)).covers(place)
    }
    for action in plan:
        await plot.act(action)
        now = await plot.power()
        assert now <= start, sorted(now - start)
        if plot.became_victim:
            assert victim <= start, sorted(victim - start)


async def test_the_plot_can_succeed_within_what_it_holds(shared_world: World) -> None:
    """The test above is not idle: with enough to begin with, every kind of step succeeds.

    Roles 0 to 3 are what the three people and the account hold; 4 is the one made first.
    """
    everything = [([str(key) for key in ROLES[RoleName.TENANT_ADMIN]], "tenant")]
    plot = await plot_made(shared_world, [everything, everything, everything])
    steps: list[tuple[Any, ...]] = [
        ("role_make", 0, [Permission.INSTANCE_CREATE]),
        ("bind", 0, 1, 4, "tenant"),
        ("bind_built_in", 0, 1, "project_viewer", "first"),
        ("role_change", 1, 4, [Permission.TENANT_UPDATE]),
        ("account_make", 0, 4, "first"),
        ("key_make", 1, 1),
        ("password", 0),
    ]
    for step in steps:
        await plot.act(step)
    assert (len(plot.conspirators), plot.became_victim) == (3, True)
    changes = await shared_world.platform.db.fetchval(
        "SELECT count(*) FROM audit_entries WHERE org_id = $1 AND outcome = 'allowed'", plot.org_id
    )
    assert changes >= 8


async def plot_made(world: World, held: list[list[tuple[list[str], str]]]) -> Plot:
    """Put the tenant and its people straight into the database, with what they hold."""
    number, db, now = next(_names), world.platform.db, world.platform.clock.now()
    org = f"org_{number}"
    plot = Plot(world, org, {"first": f"proj_{number}a", "second": f"proj_{number}b"})
    await db.execute(
        "INSERT INTO tenants (id, name, display_name, created_at) VALUES ($1, $1, $1, $2)", org, now
    )
    for project in plot.projects.values():
        await db.execute(
            "INSERT INTO projects (id, org_id, name, display_name, created_at)"
            " VALUES ($1, $2, $1, $1, $3)", project, org, now,
        )  # fmt: skip
    for index, holding in enumerate(held):
        user, secret = f"user_{number}_{index}", f"gpp_{number}_{index}"
        await db.execute(
            "INSERT INTO users (id, org_id, email, email_key, display_name, created_at)"
            " VALUES ($1, $2, $1 || '@x', $1 || '@x', $1, $3)", user, org, now,
        )  # fmt: skip
        await db.execute(
            "INSERT INTO tokens (id, kind, hash, user_id, created_at, expires_at)"
            " VALUES ($1, 'personal', $2, $3, $4, $4::timestamptz + interval '1 day')",
            f"tok_{number}_{index}", secret_hash(secret), user, now,
        )  # fmt: skip
        for order, (wanted, where) in enumerate(holding):
            await _hold(plot, f"{number}_{index}_{order}", user, wanted, where)
        plot.people.append(user)
        if index < 2:
            plot.conspirators.append(world.browser().with_token(secret))
    plot.victim = plot.people[2]
    await _strong_account(plot, number)
    return plot


async def _strong_account(plot: Plot, number: int) -> None:
    """A service account somebody else made, which may do more than most conspirators."""
    db, now, project = plot.world.platform.db, plot.world.platform.clock.now(), "first"
    await db.execute(
        "INSERT INTO service_accounts (id, org_id, project_id, name, display_name, created_at)"
        " VALUES ($1, $2, $3, $1, $1, $4)",
        f"sa_{number}", plot.org_id, plot.projects[project], now,
    )  # fmt: skip
    wanted = [str(key) for key in _ADMINISTRATION + _WORK]
    await _hold(plot, f"{number}_strong", f"sa_{number}", wanted, project)
    plot.accounts.append(f"sa_{number}")


def plot_place(plot: Plot, where: str) -> Place:
    return Place(plot.org_id, plot.projects.get(where))


async def _hold(plot: Plot, name: str, user: str, wanted: list[str], where: str) -> None:
    db, now = plot.world.platform.db, plot.world.platform.clock.now()
    await db.execute(
        "INSERT INTO roles (id, org_id, name, permissions, created_at)"
        " VALUES ($1, $2, $1, $3, $4)", f"role_{name}", plot.org_id, wanted, now,
    )  # fmt: skip
    place = plot_place(plot, where)
    await db.execute(
        "INSERT INTO role_bindings (id, principal_id, role_id, org_id, project_id, source,"
        " created_by, created_at) VALUES ($1, $2, $3, $4, $5, 'direct', 'test', $6)",
        f"bind_{name}", user, f"role_{name}", place.org_id, place.project_id, now,
    )  # fmt: skip
    plot.roles.append(f"role_{name}")
