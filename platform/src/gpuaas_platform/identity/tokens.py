"""Rules of bearer tokens: a key exchanged for a short-lived one, and people's personal ones."""

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Final

from fastapi import Response

from gpuaas_contract.common import Page
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.identity import (
    ACCESS_TOKEN_PREFIX,
    PERSONAL_TOKEN_PREFIX,
    AccessToken,
    PersonalToken,
    PersonalTokenCreate,
    PersonalTokenCreated,
    ServiceAccountKeyStatus,
    TokenExchange,
)
from gpuaas_contract.ids import Prefix
from gpuaas_contract.permissions import Permission
from gpuaas_platform.identity.accounts import key_of
from gpuaas_platform.identity.credentials import (
    SECRET_BYTES,
    key_id_of,
    secret_hash,
    secret_make,
    secret_matches,
)
from gpuaas_platform.identity.places import scope_place
from gpuaas_platform.identity.revocation import (
    ending_require,
    in_session,
    owner_require,
    session_hold,
)
from gpuaas_platform.identity.rules import Escalation, hold_require, scope_of
from gpuaas_platform.identity.store import machines
from gpuaas_platform.identity.store import tokens as store
from gpuaas_platform.kernel.call import Call, Platform
from gpuaas_platform.kernel.caller import PLATFORM, Caller, CallerKind, Place
from gpuaas_platform.kernel.database import Record
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import Denied, PlatformError, invalid, not_found
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work, mutate, refusal_record

_EXCHANGE: Final = "identity.token.create"
_PERSONAL: Final = "personal"


async def token_exchange(call: Call, given: TokenExchange) -> Response:
    """A service account's key for a short-lived token; the account is the actor."""
    key_id = key_id_of(given.key)
    row = None
    if key_id is not None:
        async with call.db.connection() as conn:
            row = await machines.key_read(conn, key_id)
    if row is None:
        raise PlatformError(ErrorCode.UNAUTHENTICATED, "The key is not known.")
    if not secret_matches(given.key, row["secret_hash"]):
        raise await _exchange_refused(call, row, "The key is not known.")
    home = Place(row["org_id"], row["project_id"])
    account = Caller(CallerKind.SERVICE_ACCOUNT, row["service_account_id"], home, ())
    actor = replace(call, caller=account)
    status = key_of(row, call.platform.clock.now()).status
    if status is not ServiceAccountKeyStatus.ACTIVE or not row["usable"]:
        raise await _exchange_refused(actor, row, "The key has ended, or its account is closed.")
    return await mutate(actor, _EXCHANGE, partial(_token_issue, row["id"]))


async def personal_create(given: PersonalTokenCreate, work: Work) -> Answer[PersonalTokenCreated]:
    """A personal token, shown once; made in a session, so that no token makes another."""
    caller = work.call.caller
    if not in_session(caller):
        raise Escalation("", "Sign in to make a token; a token cannot make another.")
    await session_hold(work)
    place = caller.within
    if given.scope is not None:
        place = await scope_place(work.conn, given.scope)
    if place == PLATFORM:
        raise invalid("/scope", "leave the scope out for a token that is not narrowed to a place")
    if place is not None and not caller.knows(place):
        raise Denied(Permission.PROJECT_READ, hidden=True)
    hold_require(caller, given.permissions or (), place)
    return Answer(await personal_issue(given, place, work), 201, secret=True)


async def personal_issue(
    given: PersonalTokenCreate, place: Place | None, work: Work
) -> PersonalTokenCreated:
    """Make the caller's token, once it is sure that they may have it."""
    caller = work.call.caller
    seconds = token_seconds(work.call.platform, given.expires_in_seconds)
    secret = secret_make(PERSONAL_TOKEN_PREFIX, work.call.platform.clock.randomness(SECRET_BYTES))
    permissions: list[str] | None = None
    if given.permissions is not None:
        permissions = [str(key) for key in sorted(set(given.permissions))]
    new = store.NewToken(
        id=work.new_id(Prefix.TOKEN),
        kind=_PERSONAL,
        hash=secret_hash(secret),
        now=work.now,
        expires_at=work.now + timedelta(seconds=seconds),
        source=work.call.source,
        user_id=caller.id,
        name=given.name,
        permissions=permissions,
        org_id=None if place is None else place.org_id,
        project_id=None if place is None else place.project_id,
    )
    token = _personal(await store.token_insert(work.conn, new))
    work.audit(
        Target("personal_token", token.id, caller.home, after=token),
        action="identity.personal_token.create",
    )
    told = {"user_id": caller.id, "name": token.name}
    work.emit(Happened("identity.personal_token.created", token.id, caller.home, told))
    return PersonalTokenCreated(**token.model_dump(), secret=secret)


def token_seconds(platform: Platform, wanted: int | None) -> int:
    """How long a personal token works: as wished, or as the settings say; never longer."""
    longest = platform.settings.personal_token_max_seconds
    if wanted is None:
        return min(platform.settings.personal_token_seconds, longest)
    if wanted > longest:
        raise invalid("/expires_in_seconds", f"a token works for {longest} seconds at most here")
    return wanted


async def personal_list(
    call: Call, user_id: str, cursor: str | None, limit: int
) -> Page[PersonalToken]:
    """A person's tokens that have not ended: one's own, or of somebody one may read about."""
    await owner_require(call, user_id)
    now = call.platform.clock.now()
    wanted = store.TokenFilter(user_id, _PERSONAL, now, cursor_decode(cursor), limit + 1)
    async with call.db.connection() as conn:
        rows = await store.tokens_page(conn, wanted)
    return page_of([_personal(row) for row in rows], limit, lambda token: token.id)


async def personal_revoke(user_id: str, token_id: str, work: Work) -> Answer[PersonalToken]:
    """End a person's token, now: one's own, or of somebody one manages."""
    place = await ending_require(user_id, token_id, work)
    row = await store.token_lock(work.conn, token_id, _PERSONAL)
    if row is None or row["user_id"] != user_id:
        raise not_found("personal token", token_id)
    await store.token_revoke(work.conn, token_id, work.now)
    work.audit(Target("personal_token", token_id, place))
    told = {"user_id": user_id, "name": row["name"]}
    work.emit(Happened("identity.personal_token.revoked", token_id, place, told))
    return Answer(None, 204)


async def _token_issue(key_id: str, work: Work) -> Answer[AccessToken]:
    """Issue a token while the key is held: a revocation comes before or after, never between."""
    held = await machines.key_lock(work.conn, key_id)
    row = await machines.key_read(work.conn, key_id)
    if held is None or row is None or not row["usable"]:
        raise PlatformError(ErrorCode.UNAUTHENTICATED, "The key has ended.")
    if key_of(row, work.now).status is not ServiceAccountKeyStatus.ACTIVE:
        raise PlatformError(ErrorCode.UNAUTHENTICATED, "The key has ended.")
    seconds = work.call.platform.settings.access_token_seconds
    expires = work.now + timedelta(seconds=seconds)
    if row["expires_at"] is not None:
        expires = min(expires, row["expires_at"])
    secret = secret_make(ACCESS_TOKEN_PREFIX, work.call.platform.clock.randomness(SECRET_BYTES))
    new = store.NewToken(
        id=work.new_id(Prefix.TOKEN),
        kind="access",
        hash=secret_hash(secret),
        now=work.now,
        expires_at=expires,
        service_account_id=row["service_account_id"],
        key_id=key_id,
    )
    await store.token_insert(work.conn, new)
    await machines.key_used(work.conn, key_id, work.now)
    place = work.call.caller.home
    work.audit(Target("token", new.id, place, detail={"key_id": key_id}))
    token = AccessToken(
        id=new.id,
        access_token=secret,
        expires_in=max(0, int((expires - work.now).total_seconds())),
        expires_at=expires,
        service_account_id=row["service_account_id"],
        org_id=row["org_id"],
        project_id=row["project_id"],
    )
    return Answer(token, 201, secret=True)


async def _exchange_refused(call: Call, row: Record, detail: str) -> PlatformError:
    """Record a refused exchange of a key that exists; a made-up key leaves no row to fill up."""
    error = PlatformError(ErrorCode.UNAUTHENTICATED, detail)
    target = Target("service_account_key", row["id"], Place(row["org_id"], row["project_id"]))
    await refusal_record(call, _EXCHANGE, error, target)
    return error


def _personal(row: Record) -> PersonalToken:
    place = None if row["org_id"] is None else Place(row["org_id"], row["project_id"])
    return PersonalToken(
        id=row["id"],
        name=row["name"],
        permissions=row["permissions"],
        scope=None if place is None else scope_of(place),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        revoked_at=row["revoked_at"],
        last_used_at=row["last_used_at"],
    )
