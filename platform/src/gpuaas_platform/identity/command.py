"""`gpuaas-platform admin …`: the first administrator, or a way back in when all are locked out.

Used by `main.py`, beside a running platform or without one. Whoever can reach the database may do
this; it is audited as done by the system.
"""

import argparse
import getpass
import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.identity import PASSWORD_MIN
from gpuaas_platform.identity.bootstrap import AdminWish, admin_create, password_from
from gpuaas_platform.identity.parts import Parts, parts_keep
from gpuaas_platform.identity.passwords import Passwords
from gpuaas_platform.identity.resolving import Resolver
from gpuaas_platform.identity.store import people
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.problems import PlatformError

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 - its only name

Run = Callable[[argparse.Namespace], None]


def admin_parser_add(commands: "Commands", create: Run) -> None:
    """Add the commands; `create` is run with a database."""
    admin = commands.add_parser("admin", help="make a platform administrator")
    actions = admin.add_subparsers(required=True, metavar="ACTION")
    make = actions.add_parser(
        "create",
        help="make sure a person exists and is a platform administrator; safe to repeat",
        description="Works beside a running platform and without one. A person who exists keeps"
        " their password unless a new one is given.",
    )
    make.add_argument("--email", required=True, help="address the administrator signs in with")
    make.add_argument("--name", help="name to show")
    password = make.add_mutually_exclusive_group()
    password.add_argument("--password-file", type=Path, help="file with the password")
    password.add_argument(
        "--generate-password", action="store_true", help="make a password and print it, once"
    )
    make.set_defaults(run=create)


async def admin_create_run(platform: Platform, arguments: argparse.Namespace) -> None:
    """Make the administrator and say what was done."""
    parts_keep(platform, Parts(Passwords(), Resolver(platform.db, platform.clock)))
    await platform.db.open()
    try:
        password, generated = await _password(platform, arguments)
        wish = AdminWish(arguments.email, arguments.name, password)
        made = await admin_create(platform, wish, "command")
    finally:
        await platform.db.close()
    did = "is now" if made.created else "was there and is"
    _say(f"{arguments.email} ({made.user_id}) {did} a platform administrator.")
    if generated:
        _say(f"Password, shown this once: {password}")
    elif made.password_set and not made.created:
        _say("The password was changed; their sessions, tokens and second factors have ended.")


async def _password(platform: Platform, arguments: argparse.Namespace) -> tuple[str | None, bool]:
    """The password to set, and whether it was made up here."""
    if arguments.password_file is not None:
        return password_from(arguments.password_file), False
    if arguments.generate_password:
        return secrets.token_urlsafe(18), True
    async with platform.db.connection() as conn:
        if await people.operator_by_email(conn, arguments.email) is not None:
            return None, False
    if not sys.stdin.isatty():
        raise PlatformError(
            ErrorCode.INVALID_REQUEST, "Give --password-file FILE or --generate-password."
        )
    first = getpass.getpass(f"Password for {arguments.email} (at least {PASSWORD_MIN}): ")
    if first != getpass.getpass("Again: "):
        raise PlatformError(ErrorCode.INVALID_REQUEST, "The two passwords differ.")
    return first, False


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - the command's answer
