"""Rules of second factors: setting one up, using it at sign-in, losing it.

A factor is asked for after a right password. People who come through an identity provider prove
themselves there. A change of factors needs a session and the present password.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final

from fastapi import Response

from gpuaas_contract.common import Page
from gpuaas_contract.credentials import (
    PasskeyChallenge,
    PasswordProof,
    RecoveryCodes,
    RecoveryCodesLeft,
    SecondFactor,
    SecondFactorBegun,
    SecondFactorConfirm,
    SecondFactorConfirmed,
    SecondFactorCreate,
    SecondFactorKind,
)
from gpuaas_contract.device_sign_in import CODE_LETTERS
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.ids import Prefix
from gpuaas_contract.permissions import Permission
from gpuaas_platform.identity import totp
from gpuaas_platform.identity.credentials import secret_hash
from gpuaas_platform.identity.passkeys import (
    CHALLENGE_BYTES,
    Passkey,
    PasskeyRefused,
    Site,
    answered,
    registration_check,
    registration_options,
    sign_in_check,
    sign_in_options,
)
from gpuaas_platform.identity.revocation import (
    credentials_end,
    home_of,
    in_session,
    owner_require,
    session_hold,
)
from gpuaas_platform.identity.rules import Escalation
from gpuaas_platform.identity.store import people, tokens
from gpuaas_platform.identity.store import second_factors as store
from gpuaas_platform.identity.throttle import guess_begins, guessed
from gpuaas_platform.identity.users import own_password_require, stand_in_for
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.clock import Clock
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.keyring import Keyring, keyring_of
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import PlatformError, invalid, not_found
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work, mutate, refusal_record

CREATE: Final = "identity.second_factor.create"
CONFIRM: Final = "identity.second_factor.confirm"
REMOVE: Final = "identity.second_factor.remove"
CODES: Final = "identity.recovery_codes.create"
_ISSUER: Final = "GPUaaS"
_CONTEXT: Final = "identity.second_factor"
_CHALLENGE_LIFE: Final = timedelta(minutes=5)
_FACTORS_AT_MOST: Final = 10
_CODES: Final = 10
_CODE_LETTERS: Final = 16
_FAIR: Final = 256 - 256 % len(CODE_LETTERS)


Uncount = Callable[[Connection], Awaitable[None]]


class CodeRefused(PlatformError):
    """What was sent is not of the account's second factor."""

    def __init__(self, detail: str = "The code is wrong, or it was used before.") -> None:
        super().__init__(ErrorCode.SIGN_IN_FAILED, detail)


@dataclass(frozen=True)
class FactorProof:
    """What is sent beside a right password, and what it is checked by."""

    code: str | None
    passkey: dict[str, Any] | None
    keyring: Keyring
    site: Site


@dataclass(frozen=True)
class Secret:
    """A new factor's secret, plain for the person and sealed for the database."""

    plain: bytes
    sealed: bytes


async def factor_create(call: Call, given: SecondFactorCreate, site: Site) -> Response:
    """A new app's secret, shown once; or what the browser is to make a passkey by."""
    await _own_change_require(call, CREATE, given.current_password)
    if given.kind is SecondFactorKind.PASSKEY:
        return await mutate(call, CREATE, partial(_passkey_create, given, site))
    plain = call.platform.clock.randomness(totp.SECRET_BYTES)
    sealed = (await keyring_of(call.platform)).seal(plain, _CONTEXT)
    return await mutate(call, CREATE, partial(_create, given, Secret(plain, sealed)))


async def factor_confirm(
    call: Call, factor_id: str, given: SecondFactorConfirm, site: Site
) -> Response:
    """Let a factor count, by its first proof; the first factor comes with recovery codes."""
    await _session_require(call, CONFIRM)
    await guess_begins(call)
    keyring = await keyring_of(call.platform)
    proof = FactorProof(given.code, given.passkey, keyring, site)
    return await mutate(call, CONFIRM, partial(_confirm, factor_id, proof))


async def challenge_create(
    user: Record, uncount: Uncount, site: Site, work: Work
) -> Answer[PasskeyChallenge]:
    """What a person's passkey is to sign, once their password was right."""
    known = await store.passkeys_of(work.conn, user["id"])
    if not known:
        raise PlatformError(ErrorCode.CONFLICT, "The account has no passkey.")
    await uncount(work.conn)
    challenge = work.call.platform.clock.randomness(CHALLENGE_BYTES)
    await store.challenge_insert(work.conn, challenge, user["id"], work.now + _CHALLENGE_LIFE)
    work.audit(Target("user", user["id"], home_of(user)))
    return Answer(PasskeyChallenge(options=sign_in_options(site, challenge, known)), 201)


async def factor_remove(call: Call, factor_id: str, given: PasswordProof) -> Response:
    """Forget one of the caller's own factors."""
    await _own_change_require(call, REMOVE, given.current_password)
    return await mutate(call, REMOVE, partial(_remove, factor_id))


async def codes_create(call: Call, given: PasswordProof) -> Response:
    """New recovery codes in the place of the old ones."""
    await _own_change_require(call, CODES, given.current_password)
    return await mutate(call, CODES, _codes_renew)


async def factor_list(
    call: Call, user_id: str, cursor: str | None, limit: int
) -> Page[SecondFactor]:
    """A person's factors: one's own, or of somebody one may read about."""
    await owner_require(call, user_id)
    async with call.db.connection() as conn:
        rows = await store.factors_page(conn, user_id, cursor_decode(cursor), limit + 1)
    return page_of([_factor(row) for row in rows], limit, lambda factor: factor.id)


async def codes_read(call: Call) -> RecoveryCodesLeft:
    """How many recovery codes the caller has left."""
    async with call.db.connection() as conn:
        return RecoveryCodesLeft(left=await store.codes_left(conn, call.caller.id))


async def factors_reset(user_id: str, work: Work) -> Answer[SecondFactor]:
    """Forget all factors of a person who lost theirs, and end what they are signed in with.

    Takes all that the person may do: who knows their password could sign in as them afterwards.
    """
    user = await people.user_lock(work.conn, user_id)
    if user is None:
        raise not_found("user", user_id)
    place = home_of(user)
    work.require(Permission.USER_MANAGE, place)
    await stand_in_for(user_id, work)
    await store.factors_delete(work.conn, user_id)
    await credentials_end(user, tokens.Ending(user_id, work.now), work)
    work.audit(Target("user", user_id, place))
    work.emit(Happened("identity.user.second_factors_reset", user_id, place, {}))
    return Answer(None, 204)


async def factor_require(proof: FactorProof, user: Record, work: Work) -> None:
    """Pass a sign-in with a right code or passkey, or of an account with no second factor."""
    factors = await store.factors_lock(work.conn, user["id"])
    if not factors:
        return
    if proof.passkey is not None:
        await _passkey_require(proof, factors, work)
        return
    if proof.code is None:
        raise factor_needed([factor["kind"] for factor in factors])
    typed = _typed(proof.code)
    for factor in factors:
        step = _step(factor, typed, proof.keyring, work)
        if step is not None:
            await store.factor_used(work.conn, factor["id"], step, work.now)
            return
    if not await store.code_use(work.conn, user["id"], _code_hash(user["id"], typed), work.now):
        raise CodeRefused
    left = await store.codes_left(work.conn, user["id"])
    event = "identity.user.recovery_code_used"
    work.emit(Happened(event, user["id"], home_of(user), {"left": left}))


def factor_needed(kinds: Sequence[str]) -> PlatformError:
    """The answer for a right password without what belongs to it; which kinds there are."""
    what = "the code of your authenticator app"
    if SecondFactorKind.TOTP not in kinds:
        what = "the answer of your passkey"
    return PlatformError(
        ErrorCode.SECOND_FACTOR_NEEDED,
        f"The password is right. Send {what}, or a recovery code, too.",
        context={"kinds": " ".join(sorted(set(kinds)))},
    )


def guessable(code: str) -> bool:
    """Whether a code is short enough that guessing it could succeed."""
    return len(_typed(code)) < _CODE_LETTERS


async def _create(
    given: SecondFactorCreate, secret: Secret, work: Work
) -> Answer[SecondFactorBegun]:
    user = await _owner(work)
    new = store.NewFactor(
        id=work.new_id(Prefix.SECOND_FACTOR),
        user_id=user["id"],
        kind=given.kind,
        name=given.name,
        now=work.now,
        secret=secret.sealed,
    )
    await _insert(new, work)
    begun = SecondFactorBegun(
        id=new.id,
        secret=totp.secret_text(secret.plain),
        uri=totp.secret_uri(secret.plain, user["email"], _ISSUER),
    )
    return Answer(begun, 201, secret=True)


async def _passkey_create(
    given: SecondFactorCreate, site: Site, work: Work
) -> Answer[SecondFactorBegun]:
    user = await _owner(work)
    new = store.NewFactor(
        id=work.new_id(Prefix.SECOND_FACTOR),
        user_id=user["id"],
        kind=given.kind,
        name=given.name,
        now=work.now,
        challenge=work.call.platform.clock.randomness(CHALLENGE_BYTES),
    )
    await _insert(new, work)
    known = await store.passkeys_of(work.conn, user["id"])
    who = (user["id"], user["email"])
    options = registration_options(site, who, new.challenge or b"", known)
    return Answer(SecondFactorBegun(id=new.id, options=options), 201)


async def _insert(new: store.NewFactor, work: Work) -> None:
    await store.factor_insert(work.conn, new)
    detail = {"kind": new.kind, "name": new.name}
    work.audit(Target("second_factor", new.id, work.call.caller.home, detail=detail))


async def _owner(work: Work) -> Record:
    """The caller, who has a password and may have another factor."""
    await session_hold(work)
    caller = work.call.caller
    user = await people.user_read(work.conn, caller.id)
    if user is None or user["password_hash"] is None:
        raise PlatformError(ErrorCode.CONFLICT, "You sign in through your organisation's provider.")
    if len(await store.factors_lock(work.conn, caller.id)) >= _FACTORS_AT_MOST:
        raise PlatformError(
            ErrorCode.QUOTA_EXCEEDED, f"You have {_FACTORS_AT_MOST} second factors; remove one."
        )
    return user


async def _confirm(factor_id: str, proof: FactorProof, work: Work) -> Answer[SecondFactorConfirmed]:
    await session_hold(work)
    caller = work.call.caller
    row = await store.factor_lock(work.conn, factor_id)
    if row is None or row["user_id"] != caller.id:
        raise not_found("second factor", factor_id)
    if row["confirmed_at"] is not None:
        raise PlatformError(ErrorCode.STATE_CONFLICT, "This second factor is confirmed already.")
    first = not await store.factors_exist(work.conn, caller.id)
    await (_passkey_confirm if row["kind"] == "passkey" else _app_confirm)(row, proof, work)
    codes = await _codes_make(work) if first else None
    await guessed(work.call, work.conn)
    work.audit(Target("second_factor", factor_id, caller.home))
    told = {"user_id": caller.id, "kind": row["kind"], "name": row["name"]}
    work.emit(Happened("identity.second_factor.created", factor_id, caller.home, told))
    held = await store.factor_lock(work.conn, factor_id)
    confirmed = SecondFactorConfirmed(factor=_factor(held or row), recovery_codes=codes)
    return Answer(confirmed, secret=True)


async def _app_confirm(row: Record, proof: FactorProof, work: Work) -> None:
    step = _step(row, _typed(proof.code or ""), proof.keyring, work)
    if step is None:
        raise invalid("/code", "is not what the app shows now; check the clock of its device")
    await store.factor_used(work.conn, row["id"], step, work.now)


async def _passkey_confirm(row: Record, proof: FactorProof, work: Work) -> None:
    try:
        made = registration_check(proof.site, proof.passkey or {}, bytes(row["challenge"]))
    except PasskeyRefused as error:
        raise invalid("/passkey", "is not what was asked for; begin again") from error
    use = store.PasskeyUse(made.credential_id, made.public_key, made.sign_count)
    await store.passkey_used(work.conn, row["id"], use, work.now)


async def _passkey_require(proof: FactorProof, factors: list[Record], work: Work) -> None:
    """Check a passkey's signature over a challenge of this person that was not used before."""
    refused = CodeRefused("The passkey was not accepted; try again.")
    given = proof.passkey or {}
    try:
        credential_id, challenge = answered(given)
    except PasskeyRefused as error:
        raise refused from error
    row = next((one for one in factors if one["credential_id"] == credential_id), None)
    user_id = factors[0]["user_id"]
    if row is None or not await store.challenge_use(work.conn, challenge, user_id, work.now):
        raise refused
    held = Passkey(credential_id, bytes(row["public_key"]), row["sign_count"])
    try:
        count = sign_in_check(proof.site, given, challenge, held)
    except PasskeyRefused as error:
        raise refused from error
    use = store.PasskeyUse(held.credential_id, held.public_key, count)
    await store.passkey_used(work.conn, row["id"], use, work.now)


async def _remove(factor_id: str, work: Work) -> Answer[SecondFactor]:
    await session_hold(work)
    caller = work.call.caller
    row = await store.factor_lock(work.conn, factor_id)
    if row is None or row["user_id"] != caller.id:
        raise not_found("second factor", factor_id)
    await store.factor_delete(work.conn, factor_id)
    if not await store.factors_exist(work.conn, caller.id):
        await store.factors_delete(work.conn, caller.id)
    work.audit(Target("second_factor", factor_id, caller.home))
    told = {"user_id": caller.id, "kind": row["kind"], "name": row["name"]}
    work.emit(Happened("identity.second_factor.removed", factor_id, caller.home, told))
    return Answer(None, 204)


async def _codes_renew(work: Work) -> Answer[RecoveryCodes]:
    await session_hold(work)
    caller = work.call.caller
    if not await store.factors_exist(work.conn, caller.id):
        raise PlatformError(ErrorCode.STATE_CONFLICT, "Set up a second factor first.")
    codes = await _codes_make(work)
    work.audit(Target("user", caller.id, caller.home))
    work.emit(Happened("identity.user.recovery_codes_created", caller.id, caller.home, {}))
    return Answer(RecoveryCodes(codes=codes), 201, secret=True)


async def _codes_make(work: Work) -> list[str]:
    codes = [_code(work.call.platform.clock) for _ in range(_CODES)]
    user_id = work.call.caller.id
    await store.codes_write(work.conn, user_id, [_code_hash(user_id, one) for one in codes])
    return ["-".join(one[at : at + 4] for at in range(0, len(one), 4)) for one in codes]


async def _own_change_require(call: Call, action: str, password: str) -> None:
    await _session_require(call, action)
    await own_password_require(call, password)


async def _session_require(call: Call, action: str) -> None:
    if not in_session(call.caller):
        error = Escalation("", "Sign in to change how you sign in; a token cannot do this.")
        await refusal_record(call, action, error)
        raise error


def _step(row: Record, code: str, keyring: Keyring, work: Work) -> int | None:
    if row["secret"] is None:
        return None
    secret = keyring.unseal(bytes(row["secret"]), _CONTEXT)
    return totp.step_of(secret, code, work.now, row["last_step"])


def _code(clock: Clock) -> str:
    fair = [byte for byte in clock.randomness(8 * _CODE_LETTERS) if byte < _FAIR]
    return "".join(CODE_LETTERS[byte % len(CODE_LETTERS)] for byte in fair[:_CODE_LETTERS])


def _code_hash(user_id: str, code: str) -> bytes:
    return secret_hash(f"{user_id} {code}")


def _typed(code: str) -> str:
    """A code as it is compared, however it was typed."""
    return "".join(letter for letter in code.upper() if letter.isalnum())


def _factor(row: Record) -> SecondFactor:
    return SecondFactor(
        id=row["id"],
        kind=SecondFactorKind(row["kind"]),
        name=row["name"],
        created_at=row["created_at"],
        last_used_at=row["last_used_at"],
    )
