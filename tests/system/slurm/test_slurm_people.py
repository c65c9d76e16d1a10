"""People of the project on a real cluster: they come, run jobs as themselves, and leave.

The tests of one release share a cluster of two machines and go through the life of its people in
this order.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

import pytest

from gpuaas_contract.access import RoleBinding, RoleBindingCreate
from gpuaas_contract.common import Scope, ScopeKind
from gpuaas_contract.identity import (
    PersonalTokenCreate,
    SignIn,
    User,
    UserCreate,
    UserUpdate,
)
from gpuaas_sdk import BearerToken, Client, Request
from gpuaas_sdk.contract import AppInstance, GrantLogin
from gpuaas_sdk.machines import AccessRefused, ssh_access
from gpuaas_sdk.sign_in import password_sign_in
from tools.ground import Ground
from tools.slurm_crew import packages_settle, packages_wanted, placed, until
from tools.slurm_site import BIN, SlurmSite, slurm_up
from tools.suite.rotation import on_turn
from tools.suites import suites

pytestmark = [
    pytest.mark.system,
    pytest.mark.timeout(600),
    pytest.mark.in_order,
]

PASSWORD: Final = "correct horse battery"


@dataclass
class Researcher:
    """A member of the project, as the platform knows them, and their client."""

    user_id: str
    binding_id: str
    client: Client
    token: str

    async def ssh(self, allocation_id: str, command: str) -> tuple[int, str, str]:
        """Run something on a machine as themselves, with the real ssh."""
        access = await ssh_access(self.client, allocation_id, login=GrantLogin.PERSON)
        try:
            ran = await asyncio.create_subprocess_exec(
                *access.command,
                command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            out, err = await ran.communicate()
        finally:
            access.remove()
        return ran.returncode or 0, out.decode(), err.decode()


@dataclass
class Town:
    """The cluster, and how people come to it."""

    site: SlurmSite
    instance_id: str
    stack: contextlib.AsyncExitStack

    @property
    def ground(self) -> Ground:
        return self.site.ground

    async def join(self, name: str, role: str = "project_member") -> Researcher:
        """Somebody new, with a role in the project."""
        ground = self.ground
        email = f"{name}@people.example"
        body = UserCreate(email=email, password=PASSWORD)
        user = await ground.admin.post(f"/tenants/{ground.org_id}/users", body, User)
        scope = Scope(kind=ScopeKind.PROJECT, org_id=ground.org_id, project_id=ground.project_id)
        bind = RoleBindingCreate(principal_id=user.id, role=role, scope=scope)
        binding = await ground.admin.post("/role-bindings", bind, RoleBinding)
        client, token = await self.sign_in(name)
        return Researcher(user.id, binding.id, client, token)

    async def sign_in(self, name: str) -> tuple[Client, str]:
        """A client of somebody who is there, and its token."""
        async with Client(self.ground.url) as nobody:
            who = SignIn(email=f"{name}@people.example", password=PASSWORD)
            token = await password_sign_in(nobody, who, PersonalTokenCreate(name="test"))
        client = Client(self.ground.url, BearerToken(token.secret))
        await self.stack.enter_async_context(client)
        return client, token.secret

    async def settled(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """What is said of people, as soon as it is as wanted."""

        async def look() -> AppInstance:
            return await self.site.instance(self.instance_id)

        found = await until(look, lambda one: wanted(_people(one)))
        return _people(found)

    async def log(self) -> str:
        """What the controllers said so far."""
        return self.site.log

    async def looks(self) -> int:
        """How often the platform was asked for leave to look at an instance."""
        counted = re.compile(r'gpuaas_http_requests_total\{.*/observer".* ([0-9.]+)$', re.MULTILINE)
        answer = await self.ground.admin.send(Request("GET", "/metrics"))
        return sum(int(float(number)) for number in counted.findall(answer.content.decode()))

    async def seen(self, machine: str, command: str) -> str:
        """What the machine's own operator sees."""
        ran = await self.ground.lab.machine(machine).run(command, check=False)
        return ran.stdout.strip()


def _people(instance: AppInstance) -> dict[str, Any]:
    detail = instance.adapter_detail
    found = {} if detail is None else detail.detail
    return dict(found.get("people", {}))


@pytest.fixture(scope="module", params=on_turn("distribution", suites()))
async def town(
    request: pytest.FixtureRequest, ground_factory: Callable[..., Awaitable[Ground]]
) -> AsyncIterator[Town]:
    suite: str = request.param
    ground = await ground_factory(f"people-{suite}", 2, suite, await packages_wanted(suite))
    await packages_settle(suite, ground.lab.machines)
    options = ("--observe-seconds", "2")
    async with (
        contextlib.AsyncExitStack() as stack,
        slurm_up(ground, options=options) as site,
    ):
        asked = await site.deploy("c1", placed(ground, "n1", ["n2"], packages="installed"))
        [done] = await site.ended(asked)
        assert done.status == "succeeded", done.error
        yield Town(site, asked.operations[0].instance_id, stack)


async def test_a_member_logs_in_and_runs_jobs_as_themselves(town: Town) -> None:
    ada = await town.join("ada.l")
    before = (await town.settled(lambda people: people.get("accounts", 0) >= 1))["accounts"]
    await town.settled(lambda people: people["accounts"] > before or people["accounts"] >= 2)
    head = town.ground.allocation("n1")

    async def ran() -> tuple[int, str, str]:
        return await ada.ssh(head, "id -un; srun -N1 id -u")

    status, out, err = await until(ran, lambda one: one[0] == 0)
    name, uid = out.split()
    assert name == "ada-l", err
    assert int(uid) > 200_000
    assert await town.seen("n2", "id -u ada-l") == uid
    sent = await ada.ssh(head, "sbatch --parsable --wrap hostname")
    assert re.fullmatch(r"\d+\n", sent[1]), sent
    assert status == 0


async def test_the_command_of_the_access_bundle_logs_a_person_in(town: Town) -> None:
    carl = await town.join("carl")
    await until(
        lambda: town.seen("n1", "cat /etc/ssh/gpuaas_principals/carl"),
        lambda text: carl.user_id in text,
    )
    access = (await town.site.instance(town.instance_id)).access or {}
    words = shlex.split(access["login"]["command"])
    ran = await asyncio.create_subprocess_exec(
        BIN / words[0],
        *words[1:],
        "id -un",
        env={**os.environ, "GPUAAS_URL": town.ground.url, "GPUAAS_TOKEN": carl.token},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await ran.communicate()
    assert (ran.returncode, out) == (0, b"carl\n"), err


async def test_nobody_logs_in_where_jobs_run_or_as_somebody_else(town: Town) -> None:
    eve = await town.join("eve")
    await until(
        lambda: town.seen("n1", "cat /etc/ssh/gpuaas_principals/eve"),
        lambda text: eve.user_id in text,
    )
    status, _, err = await eve.ssh(town.ground.allocation("n2"), "true")
    assert status == 255, err
    access = await ssh_access(eve.client, town.ground.allocation("n1"), login=GrantLogin.PERSON)
    try:
        for other in ("ada-l", "root"):
            words = ("ssh", "-F", str(access.config), "-l", other, access.host, "true")
            tried = await asyncio.create_subprocess_exec(
                *words, stdin=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
            )
            _, said = await tried.communicate()
            assert tried.returncode == 255, said
    finally:
        access.remove()


async def test_a_viewer_gets_no_account(town: Town) -> None:
    vera = await town.join("vera", "project_viewer")
    # Who comes later has an account: whoever gave it knew of her too.
    await town.join("will")
    await until(lambda: town.seen("n1", "id -u will"), bool)
    assert await town.seen("n1", "id -u vera") == ""
    with pytest.raises(AccessRefused):
        await vera.ssh(town.ground.allocation("n1"), "true")


async def test_whoever_leaves_with_a_running_job_is_locked_out_and_forgotten_when_it_ends(
    town: Town,
) -> None:
    bob = await town.join("bob")
    head = town.ground.allocation("n1")
    await until(
        lambda: town.seen("n1", "cat /etc/ssh/gpuaas_principals/bob"),
        lambda text: bob.user_id in text,
    )
    running = "until [ -e /run/enough ]; do sleep .2; done"
    sent = await bob.ssh(
        head, f"sbatch --parsable -w n2 --wrap '{running}' && sbatch --hold --wrap true"
    )
    assert sent[0] == 0, sent
    await until(lambda: town.seen("n1", "squeue -h -u bob -o %T"), lambda text: "RUNNING" in text)
    await town.ground.admin.send(Request("DELETE", f"/role-bindings/{bob.binding_id}"))
    told = await town.settled(
        lambda people: any(one["locked_out"] for one in people.get("leaving", ()))
    )
    assert told["leaving"] == [{"name": "bob", "jobs": 1, "locked_out": True}]
    with pytest.raises(AccessRefused):
        await bob.ssh(head, "true")
    assert await town.seen("n1", "cat /etc/ssh/gpuaas_principals/bob") == ""
    assert (await town.seen("n1", "getent passwd bob")).endswith("nologin")
    # The job that ran was let end; the one that waited will not begin.
    assert await town.seen("n1", "squeue -h -u bob -o %T") == "RUNNING"
    await town.seen("n2", "touch /run/enough")
    await town.settled(lambda people: not people.get("leaving"))
    assoc = "sacctmgr -nP show assoc user=bob format=account"
    assert await until(lambda: town.seen("n1", assoc), lambda text: text == "") == ""
    states = await town.seen("n1", "squeue -h -t all -u bob -o %T")
    assert sorted(states.split()) == ["CANCELLED", "COMPLETED"]


async def test_a_certificate_from_before_opens_nothing_after(town: Town) -> None:
    dan = await town.join("dan")
    head = town.ground.allocation("n1")
    await until(
        lambda: town.seen("n1", "cat /etc/ssh/gpuaas_principals/dan"),
        lambda text: dan.user_id in text,
    )
    access = await ssh_access(dan.client, head, login=GrantLogin.PERSON)
    try:
        body = UserUpdate(active=False)
        await town.ground.admin.send(Request("PATCH", f"/users/{dan.user_id}", body))
        await until(lambda: town.seen("n1", "getent passwd dan"), lambda one: "nologin" in one)
        tried = await asyncio.create_subprocess_exec(
            *access.command,
            "true",
            stdin=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        _, said = await tried.communicate()
        assert tried.returncode == 255, said
    finally:
        access.remove()
    # Who comes back is the same person on every machine.
    uid = await town.seen("n1", "id -u dan")
    await town.ground.admin.send(Request("PATCH", f"/users/{dan.user_id}", UserUpdate(active=True)))
    # What they were signed in with ended with the account.
    dan.client, dan.token = await town.sign_in("dan")

    async def ran() -> tuple[int, str, str]:
        with contextlib.suppress(AccessRefused):
            return await dan.ssh(head, "srun id -u")
        return 1, "", ""

    _, out, _ = await until(ran, lambda one: one[0] == 0)
    assert out.strip() == uid


async def test_nothing_changes_when_nobody_changed(town: Town) -> None:
    async def unchanged() -> bool:
        found = (await town.site.instance(town.instance_id)).last_operation_id
        begun = await town.looks()
        await until(town.looks, lambda looks: looks > begun + 4)
        return (await town.site.instance(town.instance_id)).last_operation_id == found

    await until(unchanged, bool)  # what the test before asked for may still be under way


async def test_an_event_is_enough_to_let_somebody_in(town: Town) -> None:
    await town.site.controller_end()
    town.site.options = ("--observe-seconds", "3600")
    follows = town.site.log.count("events are followed")
    await town.site.controller_start()
    await until(town.log, lambda text: text.count("events are followed") > follows)
    # It looks once when it begins to listen: the first may be seen by that, the second is not.
    for name in ("finn", "gina"):
        await _let_in(town, name)


async def _let_in(town: Town, name: str) -> None:
    """Somebody new, once they may log in."""
    person = await town.join(name)
    await until(
        lambda: town.seen("n1", f"cat /etc/ssh/gpuaas_principals/{name}"),
        lambda text: person.user_id in text,
        300,  # who looked just before it hears of it looks again when that is over
    )


async def test_no_person_is_left_behind(town: Town) -> None:
    asked = await town.site.ask(town.instance_id, "decommission")
    [done] = await town.site.ended(asked)
    assert done.status == "succeeded", done.error
    for machine in ("n1", "n2"):
        assert await town.seen(machine, "awk -F: '$3 > 200000 && $3 < 900000000' /etc/passwd") == ""
        assert await town.seen(machine, "ls /home") == ""
    assert await town.seen("n1", "ls /etc/ssh/gpuaas_principals") == "root"
