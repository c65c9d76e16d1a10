"""The first administrator of a fresh platform: by command, or by settings for unattended starts.

Called by `gpuaas-platform admin create` and by this room's life. Acts as the system, through the
same transaction, audit and events as every other mutation.
"""

import secrets
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import structlog

from gpuaas_contract.common import Model
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.identity import PASSWORD_MAX, PASSWORD_MIN
from gpuaas_contract.ids import Prefix
from gpuaas_contract.permissions import ROLES, RoleName
from gpuaas_platform.identity.bindings import binding_make
from gpuaas_platform.identity.parts import parts_of
from gpuaas_platform.identity.revocation import credentials_end
from gpuaas_platform.identity.roles import KnownRole
from gpuaas_platform.identity.store import access, people, second_factors, tokens
from gpuaas_platform.kernel.call import Call, Platform
from gpuaas_platform.kernel.caller import PLATFORM, SYSTEM
from gpuaas_platform.kernel.problems import PlatformError
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work, mutate

_log = structlog.get_logger(__name__)
_ADMIN: Final = KnownRole(
    access.RoleRef(RoleName.PLATFORM_ADMIN, None),
    RoleName.PLATFORM_ADMIN,
    ROLES[RoleName.PLATFORM_ADMIN],
)


@dataclass(frozen=True)
class AdminWish:
    """The administrator that shall exist. Without a password an existing one keeps theirs."""

    email: str
    display_name: str | None = None
    password: str | None = None
    only_if_none: bool = False


class AdminMade(Model):
    """What was there and what was done."""

    user_id: str
    created: bool
    password_set: bool


async def admin_create(platform: Platform, wish: AdminWish, why: str) -> AdminMade:
    """Make sure this person exists, is active and is a platform administrator. Repeatable."""
    if wish.password is not None and not PASSWORD_MIN <= len(wish.password) <= PASSWORD_MAX:
        raise PlatformError(
            ErrorCode.INVALID_REQUEST,
            f"A password has {PASSWORD_MIN} to {PASSWORD_MAX} characters.",
        )
    hashed = None
    if wish.password is not None:
        passwords = parts_of(platform).passwords
        fault = await passwords.fault(wish.password, [wish.email, wish.display_name or ""])
        if fault is not None:
            raise PlatformError(ErrorCode.INVALID_REQUEST, f"The password {fault}")
        hashed = await passwords.hash(wish.password)
    made = await mutate(
        _system_call(platform, why), "identity.administrator.create", partial(_make, wish, hashed)
    )
    return AdminMade.model_validate_json(bytes(made.body))


async def bootstrap_from_settings(platform: Platform) -> None:
    """Make the administrator the settings name, on a platform that has none."""
    email = platform.settings.bootstrap_admin_email
    if email is None:
        return
    async with platform.db.connection() as conn:
        if await access.admins_count(conn):
            return
    file = platform.settings.bootstrap_admin_password_file
    if file is None:
        raise PlatformError(
            ErrorCode.INVALID_REQUEST,
            "GPUAAS_BOOTSTRAP_ADMIN_EMAIL needs GPUAAS_BOOTSTRAP_ADMIN_PASSWORD_FILE beside it.",
        )
    wish = AdminWish(email, password=password_from(file), only_if_none=True)
    try:
        made = await admin_create(platform, wish, "settings")
    except PlatformError as error:
        if error.code is not ErrorCode.CONFLICT:  # another replica was first
            raise
    else:
        _log.info("first_administrator_created", user_id=made.user_id)


def password_from(file: Path) -> str:
    """The password in a file; the newline at its end is not part of it."""
    return file.read_text().rstrip("\r\n")


async def _make(wish: AdminWish, hashed: str | None, work: Work) -> Answer[AdminMade]:
    await access.admins_lock(work.conn)
    user = await people.operator_by_email(work.conn, wish.email)
    if wish.only_if_none and await access.admins_count(work.conn):
        raise PlatformError(ErrorCode.CONFLICT, "There is an administrator already.")
    created = user is None
    if user is None:
        if hashed is None:
            raise PlatformError(ErrorCode.INVALID_REQUEST, "A new administrator needs a password.")
        name = wish.display_name or wish.email.partition("@")[0]
        new = people.NewUser(work.new_id(Prefix.USER), None, wish.email, name, hashed, work.now)
        user = await people.user_insert(work.conn, new)
        if user is None:
            raise PlatformError(
                ErrorCode.NAME_TAKEN, "Another account of the platform has this email address."
            )
        work.emit(Happened("identity.user.created", user["id"], PLATFORM, {"email": wish.email}))
    elif hashed is not None:
        await people.password_write(work.conn, user["id"], hashed)
        await second_factors.factors_delete(work.conn, user["id"])
        await credentials_end(user, tokens.Ending(user["id"], work.now), work)
    if not user["active"]:
        await people.user_write(work.conn, user["id"], {"active": True})
    work.audit(Target("user", user["id"], PLATFORM, detail={"created": created}))
    await _bind(user["id"], work)
    return Answer(AdminMade(user_id=user["id"], created=created, password_set=hashed is not None))


async def _bind(user_id: str, work: Work) -> None:
    held = await access.bindings_of(work.conn, user_id)
    if any(
        row["role_name"] == RoleName.PLATFORM_ADMIN
        and row["source"] == "direct"
        and row["expires_at"] is None
        for row in held
    ):
        return
    new = access.NewBinding(
        id=work.new_id(Prefix.BINDING),
        principal_id=user_id,
        role=_ADMIN.ref,
        place=PLATFORM,
        created_by=SYSTEM.id,
        now=work.now,
    )
    await binding_make(new, _ADMIN, work)


def _system_call(platform: Platform, why: str) -> Call:
    return Call(
        platform=platform,
        caller=SYSTEM,
        correlation_id=f"cor_{secrets.token_hex(12)}",
        traceparent=f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01",
        method="LOCAL",
        path=f"bootstrap:{why}",
        source="local",
        idempotency_key=None,
        request_hash=b"",
        if_match=None,
    )
