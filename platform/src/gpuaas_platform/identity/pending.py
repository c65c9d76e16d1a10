"""A sign-in at a provider that waits for the person: which account, and its password once.

Only the browser that signed in at the provider sees it, by its cookie: the accounts it names are
shown only to a person who has proved the address.
"""

from dataclasses import replace
from functools import partial
from typing import Final

from fastapi import Response

from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.federation import PendingSignIn, PendingSignInComplete, SignInAccount
from gpuaas_platform.identity.credentials import secret_hash
from gpuaas_platform.identity.linking import Account, password_needed
from gpuaas_platform.identity.oidc import Person, Provider
from gpuaas_platform.identity.oidc_sign_in import (
    Entry,
    Standing,
    account_enter,
    provider_find,
    standing_of,
)
from gpuaas_platform.identity.parts import parts_of
from gpuaas_platform.identity.sessions import (
    SESSION_CREATE,
    SessionBegun,
    account_offered,
    password_refused,
)
from gpuaas_platform.identity.store import federation
from gpuaas_platform.identity.throttle import attempt_begin, attempt_of, attempt_returned
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.database import Record
from gpuaas_platform.kernel.problems import PlatformError, invalid
from gpuaas_platform.kernel.work import Answer, Work, mutate

_NONE_WAITS: Final = "No sign-in waits here, or its time is over. Sign in again."


async def pending_read(call: Call, secret: str | None) -> PendingSignIn:
    """The accounts a person may choose who has just signed in at a provider."""
    row, provider, standing = await _waiting(call, secret)
    return PendingSignIn(
        email=row["email"],
        provider_name=provider.name,
        accounts=[_offered(standing, account) for account in standing.opened],
        expires_at=row["expires_at"],
    )


async def pending_complete(
    call: Call, secret: str | None, given: PendingSignInComplete
) -> Response:
    """Enter the account that was chosen; the answer holds a `SessionBegun`."""
    row, provider, standing = await _waiting(call, secret)
    account = next((one for one in standing.opened if one.user_id == given.user_id), None)
    if account is None:
        raise invalid("/user_id", "is none of the accounts that were offered")
    entry = Entry(provider.config, _person(row), account.user_id)
    if password_needed(account):
        if given.remove_password:
            entry = replace(entry, password_removed=True)
        else:
            hashed = await _password_proved(call, standing.rows[account.user_id], given)
            entry = replace(entry, password_hash=hashed)
    once = replace(call, idempotency_key=None)
    email = standing.rows[account.user_id]["email"]
    handler = partial(_complete, entry, secret_hash(secret or ""), email)
    return await mutate(once, SESSION_CREATE, handler)


async def _complete(entry: Entry, hashed: bytes, email: str, work: Work) -> Answer[SessionBegun]:
    if not await federation.pending_take(work.conn, hashed):
        raise PlatformError(ErrorCode.SIGN_IN_FAILED, _NONE_WAITS)
    if entry.password_hash is not None:
        await attempt_returned(attempt_of(work.call, email), work.conn)
    return await account_enter(entry, work)


async def _waiting(call: Call, secret: str | None) -> tuple[Record, Provider, Standing]:
    now = call.platform.clock.now()
    async with call.db.connection() as conn:
        row = None
        if secret is not None:
            row = await federation.pending_read(conn, secret_hash(secret), now)
    if row is None:
        raise PlatformError(ErrorCode.NOT_FOUND, _NONE_WAITS)
    provider = await provider_find(call.platform, row["provider_id"])
    async with call.db.connection() as conn:
        standing = await standing_of(conn, provider.config, _person(row))
    return row, provider, standing


async def _password_proved(call: Call, user: Record, given: PendingSignInComplete) -> str:
    """The hash of the account's password, which the person knows; tries are counted as always."""
    if given.password is None:
        raise invalid("/password", "is needed once to link this account, or remove_password")
    attempt = attempt_of(call, user["email"])
    await attempt_begin(call, attempt)
    stored: str = user["password_hash"]
    if not await parts_of(call.platform).passwords.verify(stored, given.password):
        raise await password_refused(call, [user], attempt, "oidc_link")
    return stored


def _person(row: Record) -> Person:
    return Person(
        issuer=row["issuer"],
        subject=row["subject"],
        email=row["email"],
        email_verified=row["email_verified"],
        name=row["name"],
        groups=frozenset(row["groups"]),
    )


def _offered(standing: Standing, account: Account) -> SignInAccount:
    offered = account_offered(standing.rows[account.user_id])
    return offered.model_copy(update={"needs_password": password_needed(account)})
