"""Ending people's sessions and personal tokens, and who may see and end whose.

Rules that end many at once (a new password, a disabled account) call `credentials_end` inside
their own transaction.
"""

from gpuaas_contract.common import Page
from gpuaas_contract.credentials import CredentialsEnded, SignInFailure
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.ids import Prefix
from gpuaas_contract.permissions import Permission
from gpuaas_platform.identity.rules import Escalation
from gpuaas_platform.identity.store import devices, failures, people
from gpuaas_platform.identity.store import tokens as store
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import PLATFORM, Caller, Place
from gpuaas_platform.kernel.database import Record
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import PlatformError, not_found
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work


async def credentials_end(user: Record, ending: store.Ending, work: Work) -> CredentialsEnded:
    """End sessions and personal tokens of a person whose row is held, and emit the event.

    A terminal that was let in and has not fetched its token yet is turned away with the tokens.
    """
    kinds = await store.credentials_end(work.conn, ending)
    if ending.tokens:
        await devices.devices_forget(work.conn, user["id"])
    sessions = kinds.count("session")
    ended = CredentialsEnded(sessions=sessions, tokens=len(kinds) - sessions)
    place = home_of(user)
    event = "identity.user.credentials_ended"
    work.emit(Happened(event, user["id"], place, ended.model_dump()))
    return ended


async def session_end_all(user_id: str, tokens: bool, work: Work) -> Answer[CredentialsEnded]:
    """Sign a person out everywhere: oneself, in a session, or somebody one manages."""
    caller = work.call.caller
    if user_id == caller.id and not in_session(caller):
        raise Escalation("", "Sign in to sign out everywhere; a token cannot do this.")
    await ending_require(user_id, "", work)
    user = await people.user_lock(work.conn, user_id)
    if user is None:
        raise not_found("user", user_id)
    ending = store.Ending(user_id, work.now, tokens=tokens)
    ended = await credentials_end(user, ending, work)
    work.audit(Target("user", user_id, home_of(user), detail=ended.model_dump()))
    return Answer(ended)


async def failure_list(
    call: Call, user_id: str, cursor: str | None, limit: int
) -> Page[SignInFailure]:
    """Failed sign-ins to a person's account: one's own, or of somebody one may read about."""
    await owner_require(call, user_id)
    async with call.db.connection() as conn:
        rows = await failures.failures_page(conn, user_id, cursor_decode(cursor), limit + 1)
    return page_of([_failure(row) for row in rows], limit, lambda failure: failure.id)


async def owner_require(call: Call, user_id: str) -> None:
    """Pass callers who may see this person's sessions and tokens.

    Where else the person holds a role does not matter: a tenant sees those it manages.
    """
    if user_id == call.caller.id:
        return
    async with call.db.connection() as conn:
        user = await people.user_read(conn, user_id)
    if user is None:
        raise not_found("user", user_id)
    call.caller.require(Permission.USER_READ, home_of(user))


async def ending_require(user_id: str, token_id: str, work: Work) -> Place:
    """Pass callers who may end this credential; where the person is at home.

    A narrowed token manages no credential but itself.
    """
    caller = work.call.caller
    if user_id != caller.id:
        user = await people.user_read(work.conn, user_id)
        if user is None:
            raise not_found("user", user_id)
        place = home_of(user)
        work.require(Permission.USER_MANAGE, place)
        return place
    if token_id != caller.token_id and await store.token_narrowed(work.conn, caller.token_id):
        raise Escalation("", "A narrowed token ends no session and no token but itself.")
    return caller.home


def in_session(caller: Caller) -> bool:
    """Whether a person calls from a session, not with a token."""
    return (caller.token_id or "").startswith(f"{Prefix.SESSION}_")


async def session_hold(work: Work) -> None:
    """Hold the caller's row and see that their session still stands.

    So a token made in a session comes before the end of all credentials, and ends with them, or
    is not made.
    """
    await people.user_lock(work.conn, work.call.caller.id)
    row = await store.token_lock(work.conn, work.call.caller.token_id or "", "session")
    if row is None or row["revoked_at"] is not None:
        raise PlatformError(ErrorCode.UNAUTHENTICATED, "The session has ended; sign in again.")


def home_of(user: Record) -> Place:
    """Who manages a person: the platform, or a tenant."""
    return PLATFORM if user["org_id"] is None else Place(user["org_id"])


def _failure(row: Record) -> SignInFailure:
    return SignInFailure(**{name: row[name] for name in SignInFailure.model_fields})
