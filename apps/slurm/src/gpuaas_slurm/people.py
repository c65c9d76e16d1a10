"""Who may use the cluster, and what that means on its machines and in accounting. Pure.

Decided from what the platform says of the project's people and from what was seen. Called by the
plan, which asks whether something is to be done, by the step that does it, and by the health
mapping, which says who waits for what. A list of people that could not be read changes nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gpuaas_sdk.contract import Permission, Person
from gpuaas_slurm.commands import Association, Job
from gpuaas_slurm.onmachine.look import MachineLook, UserSeen
from gpuaas_slurm.sites import Site

FIRST_UID, LAST_UID = 200_001, 999_999_999
"""Numbers the platform gives people; an account in between is one an app made."""

MOST_NAMES: Final = 50


@dataclass(frozen=True)
class Account:
    """A person on one machine; without a principal, nobody logs in there as them."""

    name: str
    uid: int
    principal: str = ""


@dataclass(frozen=True)
class MachinePlan:
    """What is to be changed on one machine."""

    make: tuple[Account, ...] = ()
    leave: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()

    @property
    def settled(self) -> bool:
        """Nothing is to be done that can be done."""
        return not self.make and not self.leave


@dataclass(frozen=True)
class AccountingPlan:
    """What is to be changed in accounting; `waiting` have jobs that still run."""

    add: tuple[str, ...] = ()
    reopen: tuple[str, ...] = ()
    close: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    waiting: Mapping[str, int] | None = None

    @property
    def settled(self) -> bool:
        """Nothing is to be done now."""
        return not (self.add or self.reopen or self.close or self.remove)


def members_of(people: Iterable[Person]) -> tuple[Person, ...]:
    """Those who may use the cluster: let in by the platform, and allowed to submit."""
    wanted = Permission.SCHEDULER_QUEUE_SUBMIT
    return tuple(one for one in people if one.active and wanted in (one.permissions or ()))


def machine_plan(people: Sequence[Person], site: Site, look: MachineLook) -> MachinePlan:
    """What one machine needs; jobs run as people everywhere, people log in where jobs are sent."""
    login = site.controller or site.has("login")
    make, blocked = [], []
    names = {one.uid: name for name, one in look.users.items()}
    for person in members_of(people):
        principal = f"{site.allocation_id}:{person.user_id}" if login else ""
        wanted = Account(person.posix_name, person.posix_uid, principal)
        seen = look.users.get(wanted.name)
        if names.get(wanted.uid, wanted.name) != wanted.name or _other(seen, wanted):
            blocked.append(wanted.name)
        elif not _is(seen, wanted, look):
            make.append(wanted)
    kept = {one.posix_name for one in members_of(people)}
    leave = [
        name
        for name, seen in look.users.items()
        if _ours(seen) and name not in kept and (not seen.locked or look.principals.get(name))
    ]
    return MachinePlan(tuple(make), tuple(sorted(leave)), tuple(blocked))


def accounting_plan(
    people: Sequence[Person],
    look: MachineLook,
    associations: Iterable[Association],
    jobs: Iterable[Job] | None,
    account: tuple[str, str],
) -> AccountingPlan:
    """What accounting needs; `look` is at the controller's machine, `account` names cluster too.

    Whoever left is closed at once and forgotten when their last job ended: a user with jobs cannot
    be removed. Without an answer about jobs, nobody is removed.
    """
    kept = {one.posix_name for one in members_of(people)}
    known = {one.user for one in associations if (one.cluster, one.account) == account and one.user}
    ours = {name for name, seen in look.users.items() if _ours(seen)}
    blocked = {
        one.posix_name
        for one in members_of(people)
        if _other(look.users.get(one.posix_name), Account(one.posix_name, one.posix_uid))
    }
    left = (ours - kept) & known
    live = _live(jobs or ())
    locked = {name for name in ours if look.users[name].locked}
    return AccountingPlan(
        add=tuple(sorted(kept - known - blocked)),
        reopen=tuple(sorted(kept & known & locked)),
        close=tuple(sorted(left - locked)),
        remove=tuple(sorted(name for name in left if jobs is not None and name not in live)),
        waiting={name: live[name] for name in sorted(left) if name in live},
    )


def concerned(people: Iterable[Person], look: MachineLook) -> bool:
    """Whether anybody uses the cluster or ever did, by its controller's machine."""
    return bool(members_of(people)) or any(_ours(seen) for seen in look.users.values())


def people_detail(
    people: Sequence[Person] | None, machine: MachinePlan, accounting: AccountingPlan
) -> dict[str, Any]:
    """What the adapter detail says about people."""
    if people is None:
        return {"known": False, "note": "The platform could not be asked; nothing was changed."}
    detail: dict[str, Any] = {"known": True, "accounts": len(members_of(people))}
    if accounting.waiting:
        detail["leaving_note"] = "They are forgotten when their last job has ended."
        detail["leaving"] = [
            {"name": name, "jobs": count, "locked_out": name not in machine.leave}
            for name, count in list(accounting.waiting.items())[:MOST_NAMES]
        ]
    if machine.blocked:
        detail["blocked"] = [
            {"name": name, "note": "The machine has another user of this name or number."}
            for name in machine.blocked[:MOST_NAMES]
        ]
    return detail


def _ours(seen: UserSeen) -> bool:
    return FIRST_UID <= seen.uid <= LAST_UID


def _other(seen: UserSeen | None, wanted: Account) -> bool:
    """Whether the name is somebody else's on this machine."""
    return seen is not None and seen.uid != wanted.uid


def _is(seen: UserSeen | None, wanted: Account, look: MachineLook) -> bool:
    principals = (wanted.principal,) if wanted.principal else ()
    if seen is None or seen.locked:
        return False
    return look.principals.get(wanted.name, ()) == principals


def _live(jobs: Iterable[Job]) -> dict[str, int]:
    """How many jobs of each user run; those that wait are cancelled when their owner leaves."""
    found: dict[str, int] = {}
    for job in jobs:
        if job.running:
            found[job.user] = found.get(job.user, 0) + 1
    return found
