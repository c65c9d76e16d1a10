"""Rules of browser sessions: signing in with a password, staying, leaving.

The session's secret goes into a cookie (`cookies.py`); it is in no body, log, event or audit row.
"""

import asyncio
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Final

from fastapi import Response

from gpuaas_contract.common import Model, Page
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.federation import SignInAccount, SignInChoice
from gpuaas_contract.identity import SESSION_PREFIX, Session, SignIn
from gpuaas_contract.ids import Prefix
from gpuaas_platform.identity.credentials import SECRET_BYTES, secret_hash, secret_make
from gpuaas_platform.identity.parts import parts_of
from gpuaas_platform.identity.store import people
from gpuaas_platform.identity.store import tokens as store
from gpuaas_platform.identity.throttle import attempt_begin, attempt_returned, attempt_succeeded
from gpuaas_platform.identity.users import home_of
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import PLATFORM, Caller, CallerKind
from gpuaas_platform.kernel.database import Record
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import PlatformError, not_found
from gpuaas_platform.kernel.work import Answer, Target, Work, mutate, refusal_record

SESSION_CREATE: Final = "identity.session.create"
_KIND: Final = "session"
_ACCOUNTS_TRIED: Final = 8


class SessionBegun(Model):
    """A session with its secret, on its way from the rules to the cookie; never sent as it is."""

    session: Session
    secret: str


async def session_create(call: Call, given: SignIn) -> Response | SignInChoice:
    """Check email and password and begin a session; the answer holds a `SessionBegun`.

    An address may have accounts in several tenants. Which ones is told only to who knows the
    password of more than one of them, and then as a choice.
    """
    await attempt_begin(call, given.email)
    passwords = parts_of(call.platform).passwords
    users, right = await _accounts_right(call, given)
    inside = [user for user in right if _admitted(user)]
    if not inside:
        known = right or users
        target = known[0] if len(known) == 1 else None
        raise await sign_in_refused(call, target, "password")
    if len(inside) > 1:
        async with call.db.connection() as conn:
            await attempt_returned(call, given.email, conn)
        return SignInChoice(accounts=[account_offered(user) for user in inside])
    user = inside[0]
    stored: str = user["password_hash"]
    rehashed = await passwords.hash(given.password) if passwords.outdated(stored) else None
    person = replace(call, caller=Caller(CallerKind.USER, user["id"], home_of(user), ()))
    all_right = len(right) == sum(one["password_hash"] is not None for one in users)
    return await mutate(
        person, SESSION_CREATE, partial(_password_session, given.email, stored, rehashed, all_right)
    )


async def _accounts_right(call: Call, given: SignIn) -> tuple[list[Record], list[Record]]:
    """The accounts of an address, and those whose password this is.

    As many passwords are checked for every address as for the one with the most accounts in the
    installation: the time taken does not tell how many an address has. An address in more tenants
    than `_ACCOUNTS_TRIED` is tried in those it signed in to last.
    """
    passwords = parts_of(call.platform).passwords
    async with call.db.connection() as conn:
        users = await people.users_by_email(conn, given.email)
        most = await people.passwords_at_one_address(conn)
    wanted = [
        user
        for user in users
        if user["password_hash"] is not None and given.user_id in {None, user["id"]}
    ][:_ACCOUNTS_TRIED]
    hashes = [user["password_hash"] for user in wanted]
    hashes += [None] * (min(most, _ACCOUNTS_TRIED) - len(hashes))
    verdicts = await asyncio.gather(*(passwords.verify(one, given.password) for one in hashes))
    right = [user for user, verdict in zip(wanted, verdicts, strict=False) if verdict]
    return users, right


def account_offered(user: Record) -> SignInAccount:
    """An account as a choice, for who has proved the address or the password."""
    return SignInAccount(user_id=user["id"], org_id=user["org_id"], org_name=user["home_name"])


async def sign_in_refused(call: Call, user: Record | None, method: str) -> PlatformError:
    """Record a failed sign-in; the same answer whatever was wrong."""
    error = PlatformError(ErrorCode.SIGN_IN_FAILED, "Email or password is wrong.")
    if method == "oidc":
        error = PlatformError(ErrorCode.SIGN_IN_FAILED, "The provider's answer was not accepted.")
    known, place = ("unknown", PLATFORM) if user is None else (user["id"], home_of(user))
    target = Target("user", known, place, detail={"method": method})
    await refusal_record(call, SESSION_CREATE, error, target)
    return error


async def session_begin(
    user: Record, method: str, work: Work, org_id: str | None = None
) -> Answer[SessionBegun]:
    """Begin a session for somebody who proved who they are; `org_id` keeps it in one tenant.

    What a tenant's provider says of a person holds in that tenant: a session by it is kept there.
    """
    settings = work.call.platform.settings
    secret = secret_make(SESSION_PREFIX, work.call.platform.clock.randomness(SECRET_BYTES))
    expires = work.now + timedelta(seconds=settings.session_seconds)
    idle = work.now + timedelta(seconds=settings.session_idle_seconds)
    new = store.NewToken(
        id=work.new_id(Prefix.SESSION),
        kind=_KIND,
        hash=secret_hash(secret),
        now=work.now,
        expires_at=expires,
        idle_until=min(idle, expires),
        user_id=user["id"],
        org_id=org_id,
    )
    row = await store.token_insert(work.conn, new)
    await people.signed_in(work.conn, user["id"], work.now)
    detail = {"user_id": user["id"], "method": method}
    work.audit(Target("session", new.id, home_of(user), detail=detail))
    return Answer(SessionBegun(session=_session(row, new.id), secret=secret), 201, secret=True)


async def session_list(call: Call, cursor: str | None, limit: int) -> Page[Session]:
    """The caller's own sessions that have not ended."""
    now = call.platform.clock.now()
    wanted = store.TokenFilter(call.caller.id, _KIND, now, cursor_decode(cursor), limit + 1)
    async with call.db.connection() as conn:
        rows = await store.tokens_page(conn, wanted)
    sessions = [_session(row, call.caller.token_id) for row in rows]
    return page_of(sessions, limit, lambda session: session.id)


async def session_end(session_id: str, work: Work) -> Answer[Session]:
    """End one of the caller's own sessions, or the one the request came with (`current`)."""
    wanted = (work.call.caller.token_id or "") if session_id == "current" else session_id
    row = await store.token_lock(work.conn, wanted, _KIND)
    if row is None or row["user_id"] != work.call.caller.id:
        raise not_found("session", session_id)
    await store.token_revoke(work.conn, wanted, work.now)
    work.audit(Target("session", wanted, work.call.caller.home))
    return Answer(None, 204)


async def _password_session(
    email: str, stored: str, rehashed: str | None, all_right: bool, work: Work
) -> Answer[SessionBegun]:
    user = await people.user_lock(work.conn, work.call.caller.id)
    if user is None or not user["active"] or user["password_hash"] != stored:
        raise PlatformError(ErrorCode.SIGN_IN_FAILED, "Email or password is wrong.")
    if rehashed is not None:
        await people.password_rehash(work.conn, user["id"], rehashed)
    # The password of one account frees no guesses at another one with the same address.
    over = attempt_succeeded if all_right else attempt_returned
    await over(work.call, email, work.conn)
    return await session_begin(user, "password", work)


def _admitted(user: Record) -> bool:
    return bool(user["active"] and user["home_active"])


def _session(row: Record, current: str | None) -> Session:
    return Session(
        id=row["id"],
        user_id=row["user_id"],
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        idle_until=row["idle_until"],
        current=row["id"] == current,
    )
