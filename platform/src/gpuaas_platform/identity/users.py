"""Rules of people: who manages them, how they change, and their passwords.

A tenant manages the accounts it made; the platform manages the others. Whoever sets another's
password could act as them, so it takes all that the other may do.
"""

from dataclasses import dataclass
from typing import Final

from gpuaas_contract.common import Page
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.identity import PasswordSet, User, UserCreate, UserUpdate
from gpuaas_contract.ids import Prefix
from gpuaas_contract.permissions import Permission
from gpuaas_platform.identity.administrators import admin_remains
from gpuaas_platform.identity.parts import parts_of
from gpuaas_platform.identity.people import person_changed
from gpuaas_platform.identity.places import tenant_place
from gpuaas_platform.identity.revocation import credentials_end, home_of, in_session
from gpuaas_platform.identity.rules import (
    Escalation,
    role_grants,
    role_permissions,
    stand_in_require,
)
from gpuaas_platform.identity.store import access, tenancy, tokens
from gpuaas_platform.identity.store import people as store
from gpuaas_platform.identity.throttle import guess_begins, guessed
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import PLATFORM, Place
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.etag import etag_headers, match_require
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import Denied, PlatformError, invalid, not_found
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work, refusal_record

PASSWORD_SET: Final = "identity.user.password_set"  # noqa: S105 - the name of an action


@dataclass(frozen=True)
class UserQuery:
    """Which people to list."""

    org_id: str | None
    email: str | None
    cursor: str | None
    limit: int


@dataclass(frozen=True)
class PasswordOwner:
    """Whose password it is to be, for what they are called is no password."""

    email: str
    display_name: str | None = None
    org_id: str | None = None


async def password_hash(call: Call, password: str | None, owner: PasswordOwner) -> str | None:
    """Check and hash a new password, before any transaction begins."""
    if password is None:
        return None
    if store.email_key(password) == store.email_key(owner.email):
        raise invalid("/password", "must not be the email address")
    names = [owner.email, owner.display_name or ""]
    if owner.org_id is not None and call.caller.knows(Place(owner.org_id)):
        async with call.db.connection() as conn:
            tenant = await tenancy.tenant_read(conn, owner.org_id)
        names += [] if tenant is None else [tenant["name"], tenant["display_name"]]
    passwords = parts_of(call.platform).passwords
    fault = await passwords.fault(password, names)
    if fault is not None:
        raise invalid("/password", fault)
    return await passwords.hash(password)


async def user_create(
    org_id: str | None, given: UserCreate, hashed: str | None, work: Work
) -> Answer[User]:
    """A new person, managed by a tenant or by the platform."""
    place = PLATFORM if org_id is None else await tenant_place(work.conn, org_id)
    work.require(Permission.USER_MANAGE, place)
    name = given.display_name or given.email.partition("@")[0]
    new = store.NewUser(work.new_id(Prefix.USER), org_id, given.email, name, hashed, work.now)
    row = await store.user_insert(work.conn, new)
    if row is None:
        raise _address_taken(org_id)
    user = user_of(row)
    work.audit(Target("user", user.id, place, after=user))
    work.emit(Happened("identity.user.created", user.id, place, _told(user)))
    return Answer(user, 201, etag_headers(user.revision))


async def user_list(call: Call, query: UserQuery) -> Page[User]:
    """People the caller may read: managed in their reach, or with a role there."""
    wanted = store.UserFilter(
        call.caller.reach(Permission.USER_READ),
        query.org_id,
        query.email,
        cursor_decode(query.cursor),
        query.limit + 1,
    )
    async with call.db.connection() as conn:
        rows = await store.users_page(conn, wanted)
    return page_of([user_of(row) for row in rows], query.limit, lambda user: user.id)


async def user_read(call: Call, user_id: str) -> User:
    """One person: oneself, or somebody in reach."""
    async with call.db.connection() as conn:
        row = await store.user_read(conn, user_id)
        if row is None:
            raise not_found("user", user_id)
        if user_id != call.caller.id and not await _in_reach(call, conn, user_id):
            call.caller.require(Permission.USER_READ, home_of(row))
    return user_of(row)


async def user_update(user_id: str, given: UserUpdate, work: Work) -> Answer[User]:
    """Change a person. One's own name is one's own; all else is for who manages the account."""
    row = await store.user_lock(work.conn, user_id)
    if row is None:
        raise not_found("user", user_id)
    place = home_of(row)
    own = user_id == work.call.caller.id
    if own and (given.email, given.active) != (None, None):
        if not work.call.caller.allows(Permission.USER_MANAGE, place):
            raise Denied(Permission.USER_MANAGE, hidden=False)  # one knows of oneself
    elif not own:
        work.require(Permission.USER_MANAGE, place)
    if given.email is not None:  # who reads the mail of an account may become it
        await stand_in_for(user_id, work)
    match_require(work.call, row["revision"])
    before = user_of(row)
    async with admin_remains(work.conn, concerned=before.active and given.active is False):
        changed = await store.user_write(work.conn, user_id, given.model_dump(exclude_none=True))
    if changed is None:
        raise _address_taken(row["org_id"])
    after = user_of(changed)
    work.audit(Target("user", user_id, place, before, after))
    kind = "updated"
    if before.active != after.active:
        kind = "activated" if after.active else "deactivated"
        await person_changed(user_id, after.active, work)
        if not after.active:
            await credentials_end(row, tokens.Ending(user_id, work.now), work)
    work.emit(Happened(f"identity.user.{kind}", user_id, place, _told(after)))
    return Answer(after, 200, etag_headers(after.revision))


async def password_prepare(call: Call, user_id: str, given: PasswordSet) -> str | None:
    """Check what a new password needs and hash it, before any transaction begins."""
    if user_id == call.caller.id:
        try:
            await _own_password_check(call, given)
        except Denied as error:
            await refusal_record(call, PASSWORD_SET, error)
            raise
    async with call.db.connection() as conn:
        row = await store.user_read(conn, user_id)
    if row is None:
        return None
    if user_id != call.caller.id and not call.caller.allows(Permission.USER_MANAGE, home_of(row)):
        # About to be refused, and must learn nothing of the person by what is refused here.
        return await parts_of(call.platform).passwords.hash(given.password)
    owner = PasswordOwner(row["email"], row["display_name"], row["org_id"])
    return await password_hash(call, given.password, owner)


async def password_set(
    user_id: str, hashed: str | None, end_tokens: bool, work: Work
) -> Answer[User]:
    """Give a person a new password; end their other sessions, and their tokens unless kept."""
    row = await store.user_lock(work.conn, user_id)
    if row is None or hashed is None:
        raise not_found("user", user_id)
    place = home_of(row)
    own = user_id == work.call.caller.id
    if not own:
        work.require(Permission.USER_MANAGE, place)
        await stand_in_for(user_id, work)
        if not end_tokens:
            raise invalid("/end_tokens", "tokens of others always end with their password")
    await store.password_write(work.conn, user_id, hashed)
    keep = work.call.caller.token_id if own else None
    ending = tokens.Ending(user_id, work.now, keep, end_tokens)
    ended = await credentials_end(row, ending, work)
    work.audit(Target("user", user_id, place, detail=ended.model_dump()))
    work.emit(Happened("identity.user.password_changed", user_id, place, {}))
    return Answer(None, 204)


async def own_password_require(call: Call, given: str | None) -> None:
    """Pass callers who know their present password; whoever holds their session may not guess."""
    await guess_begins(call)
    async with call.db.connection() as conn:
        row = await store.user_read(conn, call.caller.id)
    stored = None if row is None else row["password_hash"]
    passwords = parts_of(call.platform).passwords
    if not await passwords.verify(stored, given or ""):
        raise invalid("/current_password", "is not your present password")
    async with call.db.connection() as conn:
        await guessed(call, conn)


async def stand_in_for(principal_id: str, work: Work) -> None:
    """Pass only callers who may do all that this principal may do."""
    rows = await access.bindings_of(work.conn, principal_id)
    held = [
        grant
        for row in rows
        if row["expires_at"] is None or row["expires_at"] > work.now
        for grant in role_grants(
            role_permissions(row["role_name"], row["permissions"]), access.place_of(row)
        )
    ]
    stand_in_require(work.call.caller, held)


async def admitted(conn: Connection, row: Record) -> bool:
    """Whether a person is let in, by themselves and by the tenant that manages them."""
    if row["org_id"] is None:
        return bool(row["active"])
    home = await tenancy.tenant_read(conn, row["org_id"])
    return bool(row["active"] and home is not None and home["active"])


def user_of(row: Record) -> User:
    """A user as the contract shows them; nothing of the password but that there is one."""
    return User(
        id=row["id"],
        number=row["number"],
        org_id=row["org_id"],
        email=row["email"],
        display_name=row["display_name"],
        active=row["active"],
        has_password=row["password_hash"] is not None,
        revision=row["revision"],
        created_at=row["created_at"],
        last_sign_in_at=row["last_sign_in_at"],
    )


async def _in_reach(call: Call, conn: Connection, user_id: str) -> bool:
    places = await store.user_places(conn, user_id)
    return any(
        call.caller.allows(Permission.USER_READ, Place(row["org_id"], row["project_id"]))
        for row in places
        if row["org_id"] is not None
    )


async def _own_password_check(call: Call, given: PasswordSet) -> None:
    """One's own new password needs the present one, and a session (not a script's token)."""
    if not in_session(call.caller):
        raise Escalation("", "Sign in with your password to change it.")
    await own_password_require(call, given.current_password)


def _address_taken(org_id: str | None) -> PlatformError:
    """Only accounts of the same tenant are in each other's way; of others nothing is said."""
    whose = "the platform" if org_id is None else "this tenant"
    return PlatformError(
        ErrorCode.NAME_TAKEN, f"Another account of {whose} has this email address."
    )


def _told(user: User) -> dict[str, object]:
    return {"email": user.email, "display_name": user.display_name, "active": user.active}
