"""Rules of browser sessions: signing in with a password, staying, leaving.

The session's secret goes into a cookie (`cookies.py`); it is in no body, log, event or audit row.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Final

from fastapi import Response

from gpuaas_contract.common import Model, Page
from gpuaas_contract.credentials import Session
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.federation import SignInAccount, SignInChoice
from gpuaas_contract.identity import SESSION_PREFIX, SignIn
from gpuaas_contract.ids import Prefix
from gpuaas_platform.identity.credentials import SECRET_BYTES, secret_hash, secret_make
from gpuaas_platform.identity.known_devices import device_cookie_make, device_known
from gpuaas_platform.identity.parts import parts_of
from gpuaas_platform.identity.passkeys import Site
from gpuaas_platform.identity.revocation import ending_require, home_of, owner_require
from gpuaas_platform.identity.second_factors import (
    CodeRefused,
    FactorProof,
    challenge_create,
    factor_needed,
    factor_require,
    guessable,
)
from gpuaas_platform.identity.store import people
from gpuaas_platform.identity.store import tokens as store
from gpuaas_platform.identity.store.failures import Failure, failure_keep
from gpuaas_platform.identity.store.second_factors import factor_kinds
from gpuaas_platform.identity.throttle import (
    NOTICED,
    Attempt,
    attempt_begin,
    attempt_failed,
    attempt_of,
    attempt_returned,
    attempt_succeeded,
    code_attempt_begin,
    code_succeeded,
)
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import PLATFORM, Caller, CallerKind
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.keyring import keyring_of
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import PlatformError, not_found
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work, mutate, refusal_record

SESSION_CREATE: Final = "identity.session.create"
_KIND: Final = "session"
_ACCOUNTS_TRIED: Final = 8


class SessionBegun(Model):
    """A session with its secret, on its way from the rules to the cookie; never sent as it is."""

    session: Session
    secret: str
    device: str | None = None


@dataclass(frozen=True)
class Visit:
    """The browser that signs in: what it holds since an earlier time, and the site it is at."""

    device_cookie: str | None
    site: Site


@dataclass(frozen=True)
class Entrance:
    """Accounts whose password was sent, of people who are let in."""

    attempt: Attempt
    users: list[Record]
    # The password of one account frees no guesses at another one with the same address.
    all_right: bool

    async def over(self, conn: Connection) -> None:
        """Uncount the attempt: the password was right."""
        await (attempt_succeeded if self.all_right else attempt_returned)(self.attempt, conn)


@dataclass(frozen=True)
class Proof:
    """A right password: the hash it matches, that hash in today's form, what is sent beside it.

    With the cookie for the browser.
    """

    entrance: Entrance
    stored: str
    rehashed: str | None
    factor: FactorProof
    device: str


async def session_create(call: Call, given: SignIn, visit: Visit) -> Response | SignInChoice:
    """Check who signs in and begin a session; the answer holds a `SessionBegun`.

    An address may have accounts in several tenants. Which ones is told only to who knows the
    password of more than one of them, and then as a choice.
    """
    entrance = await _password_require(call, given, visit)
    if len(entrance.users) > 1:
        return await _choice(call, entrance)
    user, attempt = entrance.users[0], entrance.attempt
    await _factor_begin(call, given, entrance)
    passwords = parts_of(call.platform).passwords
    stored: str = user["password_hash"]
    rehashed = await passwords.hash(given.password) if passwords.outdated(stored) else None
    keyring = await keyring_of(call.platform)
    cookie = await device_cookie_make(call.platform, user["id"], attempt.device)
    factor = FactorProof(given.code, given.passkey, keyring, visit.site)
    proof = Proof(entrance, stored, rehashed, factor, cookie)
    person = replace(call, caller=Caller(CallerKind.USER, user["id"], home_of(user), ()))
    try:
        return await mutate(person, SESSION_CREATE, partial(_password_session, proof))
    except CodeRefused as refused:
        await password_refused(call, [user], attempt, "second_factor")
        raise refused from None


async def passkey_challenge_create(
    call: Call, given: SignIn, visit: Visit
) -> Response | SignInChoice:
    """What a passkey is to sign, for whoever knows the password; another one at each asking."""
    entrance = await _password_require(call, given, visit)
    if len(entrance.users) > 1:
        return await _choice(call, entrance)
    user = entrance.users[0]
    caller = Caller(CallerKind.USER, user["id"], home_of(user), ())
    person = replace(call, caller=caller, idempotency_key=None)
    handler = partial(challenge_create, user, entrance.over, visit.site)
    return await mutate(person, "identity.passkey_challenge.create", handler)


async def _choice(call: Call, entrance: Entrance) -> SignInChoice:
    async with call.db.connection() as conn:
        await attempt_returned(entrance.attempt, conn)
    return SignInChoice(accounts=[account_offered(user) for user in entrance.users])


async def _password_require(call: Call, given: SignIn, visit: Visit) -> Entrance:
    """Pass a right password of people who are let in, unless its origin has to wait."""
    async with call.db.connection() as conn:
        users = await people.users_by_email(conn, given.email)
        most = await people.passwords_at_one_address(conn)
    ids = {user["id"] for user in users}
    device = await device_known(call.platform, visit.device_cookie, ids)
    attempt = attempt_of(call, given.email, device)
    await attempt_begin(call, attempt)
    right = await _accounts_right(call, given, users, most)
    inside = [user for user in right if _admitted(user)]
    if not inside:
        raise await password_refused(call, right or users, attempt)
    all_right = len(right) == sum(one["password_hash"] is not None for one in users)
    return Entrance(attempt, inside, all_right)


async def _accounts_right(
    call: Call, given: SignIn, users: list[Record], most: int
) -> list[Record]:
    """The accounts of an address whose password this is.

    As many passwords are checked for every address as for the one with the most accounts in the
    installation: the time taken does not tell how many an address has. An address in more tenants
    than `_ACCOUNTS_TRIED` is tried in those it signed in to last.
    """
    passwords = parts_of(call.platform).passwords
    wanted = [
        user
        for user in users
        if user["password_hash"] is not None and given.user_id in {None, user["id"]}
    ][:_ACCOUNTS_TRIED]
    hashes = [user["password_hash"] for user in wanted]
    hashes += [None] * (min(most, _ACCOUNTS_TRIED) - len(hashes))
    verdicts = await asyncio.gather(*(passwords.verify(one, given.password) for one in hashes))
    return [user for user, verdict in zip(wanted, verdicts, strict=False) if verdict]


def account_offered(user: Record) -> SignInAccount:
    """An account as a choice, for who has proved the address or the password."""
    return SignInAccount(user_id=user["id"], org_id=user["org_id"], org_name=user["home_name"])


async def password_refused(
    call: Call, users: list[Record], attempt: Attempt, method: str = "password"
) -> PlatformError:
    """Count and record a failed sign-in by password or what comes after, for its owners to see."""
    count = await attempt_failed(call, attempt)
    clock = call.platform.clock
    async with call.db.connection() as conn:
        for user in users:
            new_id = clock.new_id(Prefix.SIGN_IN_FAILURE)
            await failure_keep(conn, Failure(new_id, user["id"], call.source, clock.now()))
    events = []
    if count in NOTICED:
        data = {"failures": count, "source": call.source}
        kind = "identity.user.sign_ins_failed"
        events = [Happened(kind, user["id"], home_of(user), data) for user in users]
    known = users[0] if len(users) == 1 else None
    return await sign_in_refused(call, known, method, events)


async def sign_in_refused(
    call: Call, user: Record | None, method: str, events: Sequence[Happened] = ()
) -> PlatformError:
    """Record a failed sign-in; the same answer whatever was wrong."""
    error = PlatformError(ErrorCode.SIGN_IN_FAILED, "Email or password is wrong.")
    if method == "oidc":
        error = PlatformError(ErrorCode.SIGN_IN_FAILED, "The provider's answer was not accepted.")
    known, place = ("unknown", PLATFORM) if user is None else (user["id"], home_of(user))
    target = Target("user", known, place, detail={"method": method})
    await refusal_record(call, SESSION_CREATE, error, target, events)
    return error


async def session_begin(
    user: Record,
    method: str,
    work: Work,
    *,
    org_id: str | None = None,
    device: str | None = None,
) -> Answer[SessionBegun]:
    """Begin a session for somebody who proved who they are; `org_id` keeps it in one tenant.

    What a tenant's provider says of a person holds in that tenant: a session by it is kept there.
    `device` is for the browser to keep.
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
        source=work.call.source,
        method=method,
        org_id=org_id,
    )
    row = await store.token_insert(work.conn, new)
    await people.signed_in(work.conn, user["id"], work.now)
    detail = {"user_id": user["id"], "method": method}
    work.audit(Target("session", new.id, home_of(user), detail=detail))
    begun = SessionBegun(session=_session(row, new.id), secret=secret, device=device)
    return Answer(begun, 201, secret=True)


async def session_list(call: Call, user_id: str, cursor: str | None, limit: int) -> Page[Session]:
    """A person's sessions that have not ended: one's own, or of somebody one may read about."""
    await owner_require(call, user_id)
    now = call.platform.clock.now()
    wanted = store.TokenFilter(user_id, _KIND, now, cursor_decode(cursor), limit + 1)
    async with call.db.connection() as conn:
        rows = await store.tokens_page(conn, wanted)
    sessions = [_session(row, call.caller.token_id) for row in rows]
    return page_of(sessions, limit, lambda session: session.id)


async def session_end(user_id: str, session_id: str, work: Work) -> Answer[Session]:
    """End a person's session: one's own, or of somebody one manages.

    `current` is the one the request came with.
    """
    wanted = (work.call.caller.token_id or "") if session_id == "current" else session_id
    place = await ending_require(user_id, wanted, work)
    row = await store.token_lock(work.conn, wanted, _KIND)
    if row is None or row["user_id"] != user_id:
        raise not_found("session", session_id)
    await store.token_revoke(work.conn, wanted, work.now)
    work.audit(Target("session", wanted, place))
    return Answer(None, 204)


async def _password_session(proof: Proof, work: Work) -> Answer[SessionBegun]:
    user = await people.user_lock(work.conn, work.call.caller.id)
    if user is None or not user["active"] or user["password_hash"] != proof.stored:
        raise PlatformError(ErrorCode.SIGN_IN_FAILED, "Email or password is wrong.")
    if proof.rehashed is not None:
        await people.password_rehash(work.conn, user["id"], proof.rehashed)
    await factor_require(proof.factor, user, work)
    await proof.entrance.over(work.conn)
    await code_succeeded(proof.entrance.attempt, work.conn)
    return await session_begin(user, "password", work, device=proof.device)


async def _factor_begin(call: Call, given: SignIn, entrance: Entrance) -> None:
    """Ask for the second factor of an account that has one, or count what was sent."""
    if given.code is not None or given.passkey is not None:
        short = given.passkey is None and guessable(given.code or "")
        await code_attempt_begin(call, entrance.attempt, short=short)
        return
    async with call.db.connection() as conn:
        kinds = await factor_kinds(conn, entrance.users[0]["id"])
        if not kinds:
            return
        await entrance.over(conn)
    raise factor_needed(kinds)


def _admitted(user: Record) -> bool:
    return bool(user["active"] and user["home_active"])


def _session(row: Record, current: str | None) -> Session:
    return Session(
        id=row["id"],
        user_id=row["user_id"],
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        idle_until=row["idle_until"],
        last_used_at=row["last_used_at"],
        source=row["source"],
        current=row["id"] == current,
    )
