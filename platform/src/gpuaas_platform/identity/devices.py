"""Rules of signing a terminal in: it shows a code, a person decides, it fetches a token.

Two secrets keep it safe: the terminal's own, which alone fetches the token and only once, and the
code, which is short because people compare it, so guesses are slowed down and it lives for minutes.
Deciding needs a session, because a token must not make another.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final
from urllib.parse import urlencode

from fastapi import Response

from gpuaas_contract.device_sign_in import (
    CODE_LENGTH,
    CODE_LETTERS,
    DEVICE_SECRET_PREFIX,
    DeviceSignIn,
    DeviceSignInAnswer,
    DeviceSignInBegun,
    DeviceSignInCreate,
    DeviceSignInDecision,
    DeviceSignInRedeem,
    DeviceSignInStatus,
)
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.identity import PersonalTokenCreate
from gpuaas_contract.ids import Prefix
from gpuaas_platform.identity.credentials import SECRET_BYTES, secret_hash, secret_make
from gpuaas_platform.identity.revocation import home_of, in_session, session_hold
from gpuaas_platform.identity.store import devices as store
from gpuaas_platform.identity.store import people
from gpuaas_platform.identity.throttle import device_begins, device_fetched, guess_begins, guessed
from gpuaas_platform.identity.tokens import personal_issue, token_seconds
from gpuaas_platform.identity.users import admitted
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import Caller, CallerKind, Place
from gpuaas_platform.kernel.database import Record
from gpuaas_platform.kernel.problems import PlatformError, not_found
from gpuaas_platform.kernel.public_url import public_base
from gpuaas_platform.kernel.work import Answer, Target, Work, mutate

_CREATE: Final = "identity.device_sign_in.create"
_DECIDE: Final = "identity.device_sign_in.decide"
_REDEEM: Final = "identity.device_sign_in.redeem"
_LIFE: Final = timedelta(minutes=10)
_INTERVAL_SECONDS: Final = 2
_PAGE: Final = "/device"
# A byte below this falls on each letter equally often.
_FAIR: Final = 256 - 256 % len(CODE_LETTERS)


async def device_create(call: Call, given: DeviceSignInCreate) -> Response:
    """Begin a sign-in for a terminal; anybody may, so an address may not begin many."""
    await device_begins(call)
    # Whoever repeats this gets another code; an answer is not kept for nobody in particular.
    once = replace(call, idempotency_key=None)
    return await mutate(once, _CREATE, partial(_begin, given))


async def device_read(call: Call, user_code: str) -> DeviceSignIn:
    """What a person is asked to let in."""
    _session_require(call.caller, user_code)
    await guess_begins(call)
    async with call.db.connection() as conn:
        row = await store.device_by_code(conn, _code(user_code))
        if row is None:
            raise not_found("device sign-in", user_code)
        await guessed(call, conn)
    return _device(row, call.platform.clock.now())


async def device_decide(call: Call, user_code: str, given: DeviceSignInDecision) -> Response:
    """Let a terminal in as the person who says so, or refuse it; once."""
    _session_require(call.caller, user_code)
    await guess_begins(call)
    return await mutate(call, _DECIDE, partial(_decide, user_code, given))


async def device_redeem(call: Call, given: DeviceSignInRedeem) -> Response | DeviceSignInAnswer:
    """The token of a terminal that was let in, once; until then, how it stands."""
    hashed = secret_hash(given.secret)
    async with call.db.connection() as conn:
        row = await store.device_by_secret(conn, hashed)
        user = None
        if row is not None and row["user_id"] is not None:
            user = await people.user_read(conn, row["user_id"])
    if row is None:
        raise PlatformError(ErrorCode.SIGN_IN_FAILED, "This sign-in is not known, or long over.")
    status = _device(row, call.platform.clock.now()).status
    if user is None or status in {DeviceSignInStatus.DENIED, DeviceSignInStatus.EXPIRED}:
        return DeviceSignInAnswer(status=status)
    person = replace(call, caller=Caller(CallerKind.USER, user["id"], home_of(user), ()))
    return await mutate(person, _REDEEM, partial(_redeem, hashed))


async def _begin(given: DeviceSignInCreate, work: Work) -> Answer[DeviceSignInBegun]:
    clock = work.call.platform.clock
    secret = secret_make(DEVICE_SECRET_PREFIX, clock.randomness(SECRET_BYTES))
    code = _code_make(clock.randomness(8 * CODE_LENGTH))
    new = store.NewDevice(
        id=work.new_id(Prefix.DEVICE_SIGN_IN),
        secret_hash=secret_hash(secret),
        user_code=code,
        name=given.name,
        source=work.call.source,
        token_seconds=token_seconds(work.call.platform, given.expires_in_seconds),
        now=work.now,
        expires_at=work.now + _LIFE,
    )
    await store.device_insert(work.conn, new)
    work.audit(Target("device_sign_in", new.id, detail={"name": given.name}))
    shown = _shown(code)
    base = public_base(work.call.platform.settings)
    begun = DeviceSignInBegun(
        id=new.id,
        secret=secret,
        user_code=shown,
        verification_url=f"{base}{_PAGE}?{urlencode({'code': shown})}",
        interval_seconds=_INTERVAL_SECONDS,
        expires_at=new.expires_at,
    )
    return Answer(begun, 201, secret=True)


async def _decide(user_code: str, given: DeviceSignInDecision, work: Work) -> Answer[DeviceSignIn]:
    caller = work.call.caller
    await session_hold(work)
    row = await store.device_by_code(work.conn, _code(user_code), lock=True)
    if row is None:
        raise not_found("device sign-in", user_code)
    await guessed(work.call, work.conn)
    before = _device(row, work.now)
    if before.status is not DeviceSignInStatus.PENDING:
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            f"This sign-in is {before.status}; begin another one at the terminal.",
        )
    status = DeviceSignInStatus.APPROVED if given.approve else DeviceSignInStatus.DENIED
    within = None if caller.within is None else caller.within.org_id
    await store.device_write(work.conn, row["id"], status, caller.id, within)
    after = before.model_copy(update={"status": status})
    detail = {"name": row["name"], "source": row["source"], "approved": given.approve}
    work.audit(
        Target("device_sign_in", row["id"], caller.home, before=before, after=after, detail=detail)
    )
    return Answer(after)


async def _redeem(hashed: bytes, work: Work) -> Answer[DeviceSignInAnswer]:
    """Make the token while the sign-in is held, so that it is made once."""
    user = await people.user_lock(work.conn, work.call.caller.id)
    row = await store.device_by_secret(work.conn, hashed, lock=True)
    approved = row is not None and _device(row, work.now).status is DeviceSignInStatus.APPROVED
    if row is None or user is None or not approved or not await admitted(work.conn, user):
        raise PlatformError(ErrorCode.SIGN_IN_FAILED, "This sign-in is used, or its time is over.")
    await store.device_write(work.conn, row["id"], DeviceSignInStatus.REDEEMED, user["id"])
    await device_fetched(work.call, work.conn)
    wanted = PersonalTokenCreate(name=row["name"], expires_in_seconds=row["token_seconds"])
    within = None if row["org_id"] is None else Place(row["org_id"])
    token = await personal_issue(wanted, within, work)
    work.audit(Target("device_sign_in", row["id"], home_of(user), detail={"token_id": token.id}))
    answer = DeviceSignInAnswer(status=DeviceSignInStatus.APPROVED, token=token)
    return Answer(answer, secret=True)


def _session_require(caller: Caller, user_code: str) -> None:
    """Only a person at a browser is asked; to a token there is no such thing."""
    if not in_session(caller):
        raise not_found("device sign-in", user_code)


def _device(row: Record, now: datetime) -> DeviceSignIn:
    status = DeviceSignInStatus(row["status"])
    open_ = status in {DeviceSignInStatus.PENDING, DeviceSignInStatus.APPROVED}
    return DeviceSignIn(
        id=row["id"],
        user_code=_shown(row["user_code"]),
        name=row["name"],
        source=row["source"],
        token_seconds=row["token_seconds"],
        status=DeviceSignInStatus.EXPIRED if open_ and row["expires_at"] <= now else status,
        created_at=row["created_at"],
        expires_at=row["expires_at"],
    )


def _code(typed: str) -> str:
    """A code as it is kept, however it was typed."""
    return "".join(letter for letter in typed.upper() if letter in CODE_LETTERS)


def _code_make(randomness: bytes) -> str:
    fair = [byte % len(CODE_LETTERS) for byte in randomness if byte < _FAIR]
    return "".join(CODE_LETTERS[number] for number in fair[:CODE_LENGTH])


def _shown(code: str) -> str:
    half = CODE_LENGTH // 2
    return f"{code[:half]}-{code[half:]}"
