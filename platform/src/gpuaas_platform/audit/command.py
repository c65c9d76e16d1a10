"""`gpuaas-platform audit …`: verify the chain in the database, or an exported file without one.

Used by `main.py`. Prints what was found, for people and for scripts: the exit status is 0 when all
is sound and 1 when it is not.
"""

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gpuaas_platform.audit.chain import PURPOSE
from gpuaas_platform.audit.offline import export_verify
from gpuaas_platform.audit.verify import Scope, chain_verify
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.keyring import keyring_of
from gpuaas_platform.kernel.keyring_file import KeyringError

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 - its only name

_WITNESSED = re.compile(r"([1-9]\d{0,17}):([0-9a-f]{64})")
Run = Callable[[argparse.Namespace], None]


def audit_parser_add(commands: "Commands", verify: Run) -> None:
    """Add the commands; `verify` is run with a database."""
    audit = commands.add_parser("audit", help="verify the audit: who did what, unchanged")
    actions = audit.add_subparsers(required=True, metavar="ACTION")
    chain = actions.add_parser("verify", help="recompute the chain in the database")
    chain.add_argument(
        "--witnessed",
        type=_witnessed,
        action="append",
        default=[],
        metavar="SEQ:HASH",
        help="a head kept outside the platform, which the chain must still hold",
    )
    chain.set_defaults(run=verify)
    file = actions.add_parser("verify-file", help="recompute an export; needs no database")
    file.add_argument("file", type=Path, help="lines from GET /audit/export, or - for input")
    file.set_defaults(run=_file_verify)


async def audit_verify(platform: Platform, witnessed: list[tuple[int, str]]) -> bool:
    """Verify the whole chain and say what was found."""
    await platform.db.open()
    try:
        try:
            keys = (await keyring_of(platform)).public_keys(PURPOSE)
        except KeyringError as error:
            keys = None
            _say(f"The signatures of the heads are not checked: {error.detail}")
        found = await chain_verify(platform.db, Scope(witnessed=witnessed, public_keys=keys))
    finally:
        await platform.db.close()
    if found.fault is not None:
        _say(f"NOT SOUND at {found.fault.seq}: {found.fault.kind}: {found.fault.detail}")
        return False
    _say(
        f"Sound: {found.verified_to} entries in the chain, {found.heads} heads agree,"
        f" {found.waiting} entries wait for their place."
    )
    return True


def _file_verify(arguments: argparse.Namespace) -> None:
    if str(arguments.file) == "-":
        found = export_verify(sys.stdin)
    else:
        with arguments.file.open(encoding="utf-8") as lines:
            found = export_verify(lines)
    if found.fault is not None:
        sys.exit(f"NOT SOUND: {found.fault}")
    part = "the whole chain up to" if found.whole else "a part of the chain, the last line at"
    _say(f"Sound: {found.lines} lines, {part} {found.last_seq}:{found.last_hash}")


def _witnessed(text: str) -> tuple[int, str]:
    match = _WITNESSED.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError("give it as SEQ:HASH, the hash as 64 hexadecimal digits")
    return int(match[1]), match[2]


def _say(text: str) -> None:
    print(text)  # noqa: T201 - the command's answer
