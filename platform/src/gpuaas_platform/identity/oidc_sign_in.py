"""Signing in through the OIDC provider: who the person is here, and what their groups carry.

The provider is asked first, outside of any transaction; then one transaction knows the person,
applies their groups and begins the session.
"""

from dataclasses import dataclass, replace
from functools import partial

import structlog
from fastapi import Response

from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.ids import Prefix
from gpuaas_platform.identity.groups import groups_apply
from gpuaas_platform.identity.oidc import Person, Provider, TokenRefused
from gpuaas_platform.identity.oidc_flow import FLOW_BYTES, Flow, flow_begin
from gpuaas_platform.identity.parts import parts_of
from gpuaas_platform.identity.revocation import home_of
from gpuaas_platform.identity.sessions import (
    SESSION_CREATE,
    SessionBegun,
    session_begin,
    sign_in_refused,
)
from gpuaas_platform.identity.store import groups, people
from gpuaas_platform.identity.users import admitted
from gpuaas_platform.kernel.call import Call, Platform
from gpuaas_platform.kernel.caller import PLATFORM, Caller, CallerKind, Place
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.masking import shapes_masked
from gpuaas_platform.kernel.problems import PlatformError
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work, mutate

_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Returned:
    """What the provider sent the browser back with."""

    flow: Flow | None
    code: str | None
    issuer: str | None
    redirect_uri: str


def provider_of(platform: Platform) -> Provider:
    """The configured provider; there is no such page without one."""
    provider = parts_of(platform).provider
    if provider is None:
        raise PlatformError(ErrorCode.NOT_FOUND, "No identity provider is configured.")
    return provider


async def sign_in_begin(call: Call, return_to: str, redirect_uri: str) -> tuple[Flow, str]:
    """A new sign-in, and where to send the browser for it."""
    provider = provider_of(call.platform)
    clock = call.platform.clock
    flow = flow_begin(clock.randomness(FLOW_BYTES), return_to)
    try:
        return flow, await provider.authorization_url(flow, redirect_uri, clock.now())
    except TokenRefused as error:
        _log.warning("oidc_provider_unusable", error=shapes_masked(str(error)))
        raise PlatformError(
            ErrorCode.UNAVAILABLE, "The identity provider does not describe itself as expected."
        ) from error


async def sign_in_finish(call: Call, returned: Returned) -> Response:
    """Check what came back and begin a session; the answer holds a `SessionBegun`."""
    provider = provider_of(call.platform)
    try:
        person = await _person(call, provider, returned)
        async with call.db.connection() as conn:
            user = await _find(conn, call.platform, person)
            welcome = user is None or await admitted(conn, user)
    except TokenRefused as error:
        _log.info("oidc_sign_in_refused", error=shapes_masked(str(error)))
        raise await sign_in_refused(call, None, "oidc") from error
    if not welcome:
        raise await sign_in_refused(call, user, "oidc")
    # A code works once: the browser that repeats this is answered by the provider, not from here.
    once = replace(call, idempotency_key=None)
    return await mutate(once, SESSION_CREATE, partial(_session, person))


async def _person(call: Call, provider: Provider, returned: Returned) -> Person:
    if returned.flow is None or returned.code is None:
        raise TokenRefused("the answer belongs to no sign-in of this browser")
    if returned.issuer not in {None, provider.issuer}:
        raise TokenRefused("the answer names another issuer")
    now = call.platform.clock.now()
    return await provider.person(returned.code, returned.flow, returned.redirect_uri, now)


async def _find(conn: Connection, platform: Platform, person: Person) -> Record | None:
    user_id = await people.identity_user(conn, person.issuer, person.subject)
    if user_id is not None:
        return await people.user_read(conn, user_id)
    if person.email is None:
        raise TokenRefused("the provider tells no email address")
    user = await people.user_by_email(conn, person.email)
    if user is None:
        if not platform.settings.oidc_create_users:
            raise TokenRefused("the person is not known here")
        return None
    if not (person.email_verified or platform.settings.oidc_trust_email):
        raise TokenRefused("the provider has not verified an address that is somebody's here")
    return user


async def _session(person: Person, work: Work) -> Answer[SessionBegun]:
    mappings = await groups.mappings_of(work.conn, person.issuer, sorted(person.groups))
    try:
        user = await _find(work.conn, work.call.platform, person)
    except TokenRefused as error:  # changed since it was looked at first
        raise PlatformError(ErrorCode.SIGN_IN_FAILED, "Sign in again.") from error
    if user is None:
        user = await _user_make(person, mappings, work)
    held = await people.user_lock(work.conn, user["id"])
    if held is None or not await admitted(work.conn, held):
        raise PlatformError(ErrorCode.SIGN_IN_FAILED, "This person is not let in.")
    if await people.identity_user(work.conn, person.issuer, person.subject) is None:
        await people.identity_insert(
            work.conn, people.NewIdentity(person.issuer, person.subject, held["id"], work.now)
        )
    # From here on the person themselves acts, also when they were not known a moment ago.
    caller = Caller(CallerKind.USER, held["id"], home_of(held), ())
    work.call = replace(work.call, caller=caller)
    answer = await session_begin(held, "oidc", work)
    await groups_apply(held["id"], mappings, work)
    return answer


async def _user_make(person: Person, mappings: list[Record], work: Work) -> Record:
    """A person who comes for the first time; their tenant manages them when there is only one."""
    tenants = {row["org_id"] for row in mappings}
    org_id = tenants.pop() if len(tenants) == 1 else None
    email = person.email or ""
    name = (person.name or email.partition("@")[0])[:200]
    new = people.NewUser(work.new_id(Prefix.USER), org_id, email, name, None, work.now)
    user = await people.user_insert(work.conn, new)
    if user is None:
        raise PlatformError(ErrorCode.SIGN_IN_FAILED, "Sign in again.")
    place = PLATFORM if org_id is None else Place(org_id)
    work.audit(Target("user", new.id, place), action="identity.user.create")
    work.emit(Happened("identity.user.created", new.id, place, {"email": email}))
    return user
