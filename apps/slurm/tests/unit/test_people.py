"""Who may use a cluster, decided: from people, machines and accounting to what is to be done."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuaas_sdk.contract import Permission, Person
from gpuaas_slurm.commands import Association, Job
from gpuaas_slurm.commands.people import as_script, user_add, user_close, user_remove
from gpuaas_slurm.onmachine.look import MachineLook, UserSeen, machine_look
from gpuaas_slurm.people import Account, accounting_plan, machine_plan, members_of, people_detail
from gpuaas_slurm.services import Services
from gpuaas_slurm.sites import CONTROLLER, LOGIN, WORKER, Site

SUBMIT = [Permission.SCHEDULER_QUEUE_SUBMIT]
ACCOUNT = ("c1", "research")


def person(name: str, uid: int, **more: Any) -> Person:
    given: dict[str, Any] = {"active": True, "permissions": SUBMIT, "roles": [], **more}
    return Person(
        user_id=f"user_{name}", email=f"{name}@x", display_name=name, posix_name=name,
        posix_uid=uid, **given,
    )  # fmt: skip


class OnMachine:
    """A member, as far as a site looks at it."""

    def __init__(self, component_key: str) -> None:
        self.component_key = component_key
        self.node = ""


def site(*components: str) -> Site:
    return Site("alloc_1", tuple(OnMachine(one) for one in components))  # type: ignore[misc]  # a site asks no more of a member


def look(users: dict[str, tuple[int, str]], **principals: str) -> MachineLook:
    return MachineLook(
        "debian", "bookworm", "n1", 0.0,
        users={name: UserSeen(uid, shell) for name, (uid, shell) in users.items()},
        principals={name: (value,) for name, value in principals.items()},
    )  # fmt: skip


def job(user: str, state: str) -> Job:
    return Job(
        1, None, None, "", "x", user, "research", "main", state, "", (), (), 1, "", 0, 0, 0, 0, "",
        "",
    )  # fmt: skip


def assoc(*users: str, account: str = "research") -> list[Association]:
    return [Association("c1", account, user, "", ()) for user in ("", *users)]


SHELL, NOLOGIN = "/bin/bash", "/usr/sbin/nologin"
ADA = person("ada", 200_001)
BARE = {"root": (0, SHELL), "daemon": (1, NOLOGIN)}


def test_only_who_is_let_in_and_may_submit_is_a_member() -> None:
    gone = person("bob", 200_002, active=False)
    viewer = person("eve", 200_003, permissions=[])
    assert members_of([ADA, gone, viewer]) == (ADA,)


@pytest.mark.parametrize(
    ("components", "principal"),
    [
        ((CONTROLLER,), "alloc_1:user_ada"),
        ((CONTROLLER, WORKER), "alloc_1:user_ada"),
        ((LOGIN,), "alloc_1:user_ada"),
        ((WORKER,), ""),
    ],
)
def test_people_are_on_every_machine_and_log_in_where_jobs_are_sent(
    components: tuple[str, ...], principal: str
) -> None:
    plan = machine_plan([ADA], site(*components), look(BARE))
    assert plan.make == (Account("ada", 200_001, principal),)
    known = look(BARE | {"ada": (200_001, SHELL)}, **({"ada": principal} if principal else {}))
    assert machine_plan([ADA], site(*components), known).settled


def test_who_left_is_locked_out_once_and_who_comes_back_is_let_in_again() -> None:
    here = look(BARE | {"ada": (200_001, SHELL)}, ada="alloc_1:user_ada")
    gone = person("ada", 200_001, active=False)
    for people in ([], [gone]):
        assert machine_plan(people, site(CONTROLLER), here).leave == ("ada",)
    locked = look(BARE | {"ada": (200_001, NOLOGIN)})
    assert machine_plan([], site(CONTROLLER), locked).settled
    assert machine_plan([ADA], site(CONTROLLER), locked).make[0].name == "ada"
    half = look(BARE | {"ada": (200_001, NOLOGIN)}, ada="alloc_1:user_ada")
    assert machine_plan([], site(CONTROLLER), half).leave == ("ada",)


def test_the_machines_own_users_are_never_touched() -> None:
    own = BARE | {"carl": (1000, SHELL), "svc": (2_000_000_000, SHELL)}
    assert machine_plan([], site(CONTROLLER), look(own)).settled
    clash = machine_plan([person("carl", 200_009)], site(CONTROLLER), look(own))
    assert (clash.make, clash.blocked) == ((), ("carl",))
    number = look(BARE | {"zoe": (200_001, SHELL)}, zoe="x")
    assert machine_plan([ADA, person("zoe", 200_001)], site(CONTROLLER), number).blocked == ("ada",)
    plan = accounting_plan([person("carl", 200_009)], look(own), assoc(), (), ACCOUNT)
    assert plan.settled


def test_accounting_follows_and_leaves_others_alone() -> None:
    here = look(BARE | {"ada": (200_001, SHELL), "bob": (200_002, SHELL)})
    plan = accounting_plan([ADA], here, assoc("bob", "admins-friend"), (), ACCOUNT)
    assert (plan.add, plan.close, plan.remove) == (("ada",), ("bob",), ("bob",))
    elsewhere = accounting_plan([ADA], here, assoc("ada", account="other"), (), ACCOUNT)
    assert elsewhere.add == ("ada",)


def test_somebody_with_running_jobs_is_closed_now_and_removed_later() -> None:
    here = look(BARE | {"bob": (200_002, SHELL)})
    busy = accounting_plan([], here, assoc("bob"), (job("bob", "RUNNING"),), ACCOUNT)
    assert (busy.close, busy.remove, busy.waiting) == (("bob",), (), {"bob": 1})
    locked = look(BARE | {"bob": (200_002, NOLOGIN)})
    waiting = accounting_plan([], locked, assoc("bob"), (job("bob", "COMPLETING"),), ACCOUNT)
    assert waiting.settled
    detail = people_detail([], machine_plan([], site(CONTROLLER), locked), waiting)
    assert detail["leaving"] == [{"name": "bob", "jobs": 1, "locked_out": True}]
    ended = accounting_plan([], locked, assoc("bob"), (job("bob", "COMPLETED"),), ACCOUNT)
    assert ended.remove == ("bob",)
    unknown = accounting_plan([], locked, assoc("bob"), None, ACCOUNT)
    assert unknown.settled


def test_who_comes_back_before_being_forgotten_is_reopened() -> None:
    locked = look(BARE | {"ada": (200_001, NOLOGIN)})
    plan = accounting_plan([ADA], locked, assoc("ada"), (), ACCOUNT)
    assert (plan.add, plan.reopen, plan.remove) == ((), ("ada",), ())


def test_what_could_not_be_asked_is_said_and_nothing_else() -> None:
    plan = machine_plan([], site(CONTROLLER), look(BARE))
    assert people_detail(None, plan, accounting_plan([], look(BARE), (), (), ACCOUNT)) == {
        "known": False,
        "note": "The platform could not be asked; nothing was changed.",
    }


@given(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.booleans()), unique_by=lambda one: one[0]),
    st.dictionaries(st.sampled_from("abcdefg"), st.booleans()),
)
def test_after_the_plan_is_done_there_is_nothing_to_do(
    given_people: list[tuple[str, bool]], present: dict[str, bool]
) -> None:
    people = [person(name, 200_000 + ord(name), active=active) for name, active in given_people]
    before = {
        name: (200_000 + ord(name), SHELL if open_ else NOLOGIN) for name, open_ in present.items()
    }
    seen = look(BARE | before)
    plan = machine_plan(people, site(CONTROLLER), seen)
    users, principals = dict(seen.users), dict(seen.principals)
    for account in plan.make:
        users[account.name] = UserSeen(account.uid, SHELL)
        principals[account.name] = (account.principal,)
    for name in plan.leave:
        users[name] = replace(users[name], shell=NOLOGIN)
        principals.pop(name, None)
    after = replace(seen, users=users, principals=principals)
    assert machine_plan(people, site(CONTROLLER), after).settled


def test_commands_name_everybody_once_and_nobody_means_no_command() -> None:
    assert as_script([*user_add((), *ACCOUNT), *user_close((), *ACCOUNT)]) == ""
    text = as_script(user_add(("ada", "bob"), *ACCOUNT))
    assert text == "sacctmgr --immediate add user ada,bob account=research cluster=c1\n"
    assert as_script(user_remove(("bob",), "c1")).count("bob") == 1


def test_a_look_tells_users_and_principals() -> None:
    text = (
        "os\tdebian bookworm\nhostname\tn1\nnow\t1.5\nuser\troot:0:/bin/bash\n"
        "user\tada:200001:/bin/bash\nprincipal\troot alloc_1\nprincipal\tada alloc_1:user_ada\n"
        "end\tlook\n"
    )
    seen = machine_look(text)
    assert seen.users["ada"] == UserSeen(200_001, "/bin/bash")
    assert seen.principals == {"ada": ("alloc_1:user_ada",)}


@pytest.mark.parametrize(("shown", "known"), [(SUBMIT, True), ([], True), (None, False)])
async def test_people_whose_permissions_are_not_shown_are_not_people_without_any(
    shown: list[Permission] | None, *, known: bool
) -> None:
    class Platform:
        async def pages(self, *_: object, **__: object) -> AsyncIterator[Person]:
            yield person("ada", 200_001)
            yield person("bob", 200_002, permissions=shown)

    services = Services(Platform())  # type: ignore[arg-type]  # as much of a client as is asked
    assert (await services.people("proj_1") is not None) is known
