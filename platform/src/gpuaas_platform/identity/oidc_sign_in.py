"""Signing in through an OIDC provider: which account it opens, and what the person's groups carry.

The provider is asked first, outside of any transaction; then one transaction finds the account
(`linking.py`), links it, applies the groups and begins the session. Where the person has a choice,
or has to prove an account by its password, the sign-in waits for them (`pending.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Final

import structlog
from fastapi import Response

from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.ids import Prefix
from gpuaas_platform.identity.credentials import SECRET_BYTES, secret_hash, secret_make
from gpuaas_platform.identity.groups import groups_apply
from gpuaas_platform.identity.linking import (
    Account,
    Link,
    Proof,
    accounts_opened,
    domain_of,
    home_of_newcomer,
    password_needed,
)
from gpuaas_platform.identity.oidc import Person, Provider, ProviderConfig, TokenRefused
from gpuaas_platform.identity.oidc_flow import FLOW_BYTES, Flow, flow_begin
from gpuaas_platform.identity.parts import parts_of, providers_of
from gpuaas_platform.identity.providers import provider_used
from gpuaas_platform.identity.revocation import home_of
from gpuaas_platform.identity.sessions import (
    SESSION_CREATE,
    SessionBegun,
    session_begin,
    sign_in_refused,
)
from gpuaas_platform.identity.store import federation, groups, people, tokens
from gpuaas_platform.identity.users import admitted
from gpuaas_platform.kernel.call import Call, Platform
from gpuaas_platform.kernel.caller import PLATFORM, Caller, CallerKind, Place
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.masking import shapes_masked
from gpuaas_platform.kernel.problems import PlatformError
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work, mutate

PENDING_SECONDS: Final = 600
_PENDING_PREFIX: Final = "gpc"
_METHOD: Final = "oidc"
_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Returned:
    """What the provider sent the browser back with, and to which path."""

    flow: Flow | None
    code: str | None
    issuer: str | None
    redirect_uri: str
    provider_id: str | None


@dataclass(frozen=True)
class Waiting:
    """A sign-in that waits for the person, by the secret their browser keeps."""

    secret: str


@dataclass(frozen=True)
class Standing:
    """What a sign-in opens: accounts that are let in, one that is not, a home for a newcomer."""

    rows: Mapping[str, Record]
    opened: tuple[Account, ...]
    closed: Record | None
    home: tuple[str | None] | None


async def provider_find(platform: Platform, provider_id: str | None) -> Provider:
    """A tenant's provider by its id, else the operator's; not found where there is no such."""
    if provider_id is None:
        provider = parts_of(platform).provider
    else:
        provider = await provider_used(platform, providers_of(platform), provider_id)
    if provider is None:
        raise PlatformError(ErrorCode.NOT_FOUND, "There is no such identity provider.")
    return provider


async def sign_in_begin(
    call: Call, provider_id: str | None, return_to: str, redirect_uri: str
) -> tuple[Flow, str]:
    """A new sign-in, and where to send the browser for it."""
    provider = await provider_find(call.platform, provider_id)
    clock = call.platform.clock
    flow = flow_begin(clock.randomness(FLOW_BYTES), return_to, provider_id or "")
    try:
        return flow, await provider.authorization_url(flow, redirect_uri, clock.now())
    except TokenRefused as error:
        _log.warning("oidc_provider_unusable", error=shapes_masked(str(error)))
        raise PlatformError(
            ErrorCode.UNAVAILABLE, "The identity provider does not describe itself as expected."
        ) from error


async def sign_in_finish(call: Call, returned: Returned) -> Response | Waiting:
    """Check what came back and begin a session; the answer holds a `SessionBegun`."""
    provider = await provider_find(call.platform, returned.provider_id)
    try:
        person = await _person(call, provider, returned)
        async with call.db.connection() as conn:
            standing = await standing_of(conn, provider.config, person)
        user_id = _decided(standing)
    except TokenRefused as error:
        _log.info("oidc_sign_in_refused", error=shapes_masked(str(error)))
        raise await sign_in_refused(call, None, _METHOD) from error
    if standing.opened and user_id is None:
        return await _wait(call, provider.config, person)
    if user_id is None and standing.closed is not None:
        raise await sign_in_refused(call, standing.closed, _METHOD)
    # A code works once: the browser that repeats this is answered by the provider, not from here.
    once = replace(call, idempotency_key=None)
    entry = Entry(provider.config, person, user_id)
    return await mutate(once, SESSION_CREATE, partial(account_enter, entry))


async def standing_of(conn: Connection, config: ProviderConfig, person: Person) -> Standing:
    """What a person at a provider may come in as."""
    rows = await people.accounts_of(conn, subject_of(config, person))
    domain = None if person.email is None else domain_of(person.email)
    owner = None if domain is None else await federation.domain_owner(conn, domain)
    proved = person.email is not None and (person.email_verified or config.trust_email)
    proof = Proof(config.org_id, proved, owner)
    accounts = [
        Account(row["id"], row["org_id"], row["password_hash"] is not None, Link(row["link"]))
        for row in rows
    ]
    found = {row["id"]: row for row in rows}
    opened = accounts_opened(proof, accounts)
    inside = tuple(one for one in opened if _let_in(found[one.user_id]))
    home = None
    if config.create_users and person.email is not None and not opened:
        home = home_of_newcomer(proof, accounts)
    closed = found[opened[0].user_id] if opened and not inside else None
    return Standing(found, inside, closed, home)


def subject_of(config: ProviderConfig, person: Person) -> people.Subject:
    """A person as the links name them."""
    return people.Subject(config.id, person.issuer, person.subject, person.email)


@dataclass(frozen=True)
class Entry:
    """Who comes in, through which provider, as whom; `user_id` is absent for a newcomer.

    `password_hash` is what the account's password was when the person proved it;
    `password_removed` when they chose to end it.
    """

    config: ProviderConfig
    person: Person
    user_id: str | None
    password_hash: str | None = None
    password_removed: bool = False


async def account_enter(entry: Entry, work: Work) -> Answer[SessionBegun]:
    """Link the account if it is not linked, apply the groups and begin the session."""
    config, person = entry.config, entry.person
    names = sorted(person.groups)
    mappings = await groups.mappings_of(work.conn, config.id, person.issuer, names)
    user_id = entry.user_id
    if user_id is None:
        user_id = await _user_make(config, person, work)
    held = await people.user_lock(work.conn, user_id)
    if held is None or not await admitted(work.conn, held):
        raise PlatformError(ErrorCode.SIGN_IN_FAILED, "This person is not let in.")
    # From here on the person themselves acts, also when they were not known a moment ago.
    caller = Caller(CallerKind.USER, held["id"], home_of(held), ())
    work.call = replace(work.call, caller=caller)
    if entry.user_id is not None:
        await _link(entry, held, work)
    else:
        await people.identity_insert(work.conn, subject_of(config, person), user_id, work.now)
    answer = await session_begin(held, _METHOD, work, org_id=config.org_id)
    await groups_apply(held["id"], config.id, mappings, work)
    return answer


async def _person(call: Call, provider: Provider, returned: Returned) -> Person:
    if returned.flow is None or returned.code is None:
        raise TokenRefused("the answer belongs to no sign-in of this browser")
    if returned.flow.provider_id != (returned.provider_id or ""):
        raise TokenRefused("the answer came to the path of another provider")
    if returned.issuer not in {None, provider.issuer}:
        raise TokenRefused("the answer names another issuer")
    now = call.platform.clock.now()
    return await provider.person(returned.code, returned.flow, returned.redirect_uri, now)


def _decided(standing: Standing) -> str | None:
    """The one account to enter without a question; None where the person decides or is new."""
    if len(standing.opened) == 1 and not password_needed(standing.opened[0]):
        return standing.opened[0].user_id
    if not standing.opened and standing.closed is None and standing.home is None:
        raise TokenRefused("no account is open to this person, and none is made for them")
    return None


async def _wait(call: Call, config: ProviderConfig, person: Person) -> Waiting:
    clock = call.platform.clock
    secret = secret_make(_PENDING_PREFIX, clock.randomness(SECRET_BYTES))
    now = clock.now()
    new = federation.NewPending(
        secret_hash=secret_hash(secret),
        provider_id=config.id,
        issuer=person.issuer,
        subject=person.subject,
        email=person.email,
        email_verified=person.email_verified,
        name=person.name,
        groups=sorted(person.groups),
        now=now,
        expires_at=now + timedelta(seconds=PENDING_SECONDS),
    )
    async with call.db.connection() as conn:
        await federation.pending_insert(conn, new)
    return Waiting(secret)


async def _link(entry: Entry, held: Record, work: Work) -> None:
    """Link the account that is held, as the rules allow at this moment."""
    standing = await standing_of(work.conn, entry.config, entry.person)
    account = next((one for one in standing.opened if one.user_id == held["id"]), None)
    if account is None:  # changed since it was looked at first
        raise PlatformError(ErrorCode.SIGN_IN_FAILED, "Sign in again.")
    place = home_of(held)
    if password_needed(account):
        if entry.password_removed:
            await _password_end(held, work)
        elif entry.password_hash is None or entry.password_hash != held["password_hash"]:
            raise PlatformError(ErrorCode.SIGN_IN_FAILED, "Sign in again.")
    who = subject_of(entry.config, entry.person)
    if await people.identity_insert(work.conn, who, held["id"], work.now):
        detail = {"issuer": who.issuer, "provider_id": who.provider_id or ""}
        work.audit(Target("user", held["id"], place, detail=detail), action="identity.user.link")
        work.emit(Happened("identity.user.linked", held["id"], place, detail))


async def _password_end(held: Record, work: Work) -> None:
    """Remove a password that another person may know, and end all that was begun with it."""
    place = home_of(held)
    await people.password_remove(work.conn, held["id"])
    await tokens.tokens_end(work.conn, held["id"], work.now)
    work.audit(Target("user", held["id"], place), action="identity.user.password_remove")
    work.emit(Happened("identity.user.password_removed", held["id"], place, {}))


async def _user_make(config: ProviderConfig, person: Person, work: Work) -> str:
    """A person who comes for the first time, managed by the tenant that has the address's domain.

    Not by a tenant whose role their groups carry: a tenant's administrator makes such mappings, and
    manages the people of the tenant.
    """
    standing = await standing_of(work.conn, config, person)
    email = person.email or ""
    name = (person.name or email.partition("@")[0])[:200]
    user = None
    if standing.home is not None and not standing.opened:
        (org_id,) = standing.home
        new = people.NewUser(work.new_id(Prefix.USER), org_id, email, name, None, work.now)
        user = await people.user_insert(work.conn, new)
    if user is None:  # changed since it was looked at first
        raise PlatformError(ErrorCode.SIGN_IN_FAILED, "Sign in again.")
    place = PLATFORM if user["org_id"] is None else Place(user["org_id"])
    work.audit(Target("user", user["id"], place), action="identity.user.create")
    work.emit(Happened("identity.user.created", user["id"], place, {"email": email}))
    return str(user["id"])


def _let_in(row: Record) -> bool:
    return bool(row["active"] and row["home_active"])
