"""The file of the keyring, and the commands that add a key to it and take it into use.

Used by `keyring.py` and `main.py`. The last key in the file is the one for what is new. A key is
never taken out: whatever was sealed or signed with it needs it for ever.
"""

import argparse
import base64
import json
import os
import secrets
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gpuaas_contract.errors import ErrorCode
from gpuaas_platform.kernel.problems import PlatformError

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 - its only name

ID_BYTES: Final = 8
_KEY_BYTES: Final = 32


class KeyringError(PlatformError):
    """The keys are missing or unusable; the sentence says which file and what to do."""

    def __init__(self, detail: str) -> None:
        super().__init__(ErrorCode.UNAVAILABLE, detail)


def keys_read(path: Path) -> list[bytes]:
    """The keys in the file; the last one is in use."""
    if path.stat().st_mode & 0o077:
        raise KeyringError(f"{path} can be read by others; run: chmod 600 {path}")
    try:
        keys = [
            base64.b64decode(key, validate=True) for key in json.loads(path.read_text())["keys"]
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise KeyringError(f"{path} does not hold keys; restore it from a backup.") from error
    if not keys or any(len(key) != _KEY_BYTES for key in keys):
        raise KeyringError(f"{path} does not hold keys of 32 bytes; restore it from a backup.")
    return keys


def keys_create(path: Path) -> None:
    """A file with one new key, unless there is one: two processes that do this end with one."""
    if path.exists():
        return
    path.parent.mkdir(mode=0o711, parents=True, exist_ok=True)
    aside = _written(path, [secrets.token_bytes(_KEY_BYTES)])
    try:
        path.hardlink_to(aside)
    except FileExistsError:
        pass
    finally:
        aside.unlink()


def key_add(path: Path) -> str:
    """Put a new key into the file without using it yet; returns its name."""
    key = secrets.token_bytes(_KEY_BYTES)
    _written(path, [key, *keys_read(path)]).replace(path)
    return key_id_of(key).hex()


def key_use(path: Path, name: str) -> None:
    """Let a key of the file be the one for what is new."""
    keys = {key_id_of(key).hex(): key for key in keys_read(path)}
    if name not in keys:
        raise KeyringError(f"There is no key {name} in {path}; there are: {', '.join(keys)}.")
    chosen = keys.pop(name)
    _written(path, [*keys.values(), chosen]).replace(path)


def file_stamp(path: Path) -> tuple[int, int] | None:
    """Changes when the file does; None without a file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def key_id_of(key: bytes) -> bytes:
    """A name that tells nothing of the key."""
    return sha256(b"gpuaas-key-id\0" + key).digest()[:ID_BYTES]


def keyring_parser_add(commands: "Commands", path_of: Callable[[], Path]) -> None:
    """Add `keyring show|add|use|rotate`; they need the file, no database."""

    def show(_: argparse.Namespace) -> None:
        *before, last = [key_id_of(key).hex() for key in keys_read(path_of())]
        for name in before:
            _say(name)
        _say(f"{last}  in use")

    def add(_: argparse.Namespace) -> None:
        name = key_add(path_of())
        _say(f"Added {name}, not in use yet. Give every replica the file, then run:")
        _say(f"gpuaas-platform keyring use {name}")

    def use(arguments: argparse.Namespace) -> None:
        key_use(path_of(), arguments.key)
        _say(f"{arguments.key} is in use. What is stored is wrapped anew within five minutes.")

    def rotate(_: argparse.Namespace) -> None:
        name = key_add(path_of())
        key_use(path_of(), name)
        _say(f"{name} is in use. What is stored is wrapped anew within five minutes.")

    keyring = commands.add_parser(
        "keyring", help="show and rotate the keys that seal what the database keeps"
    )
    actions = keyring.add_subparsers(required=True, metavar="ACTION")
    actions.add_parser("show", help="name the keys; names tell nothing of them").set_defaults(
        run=show
    )
    actions.add_parser("rotate", help="add a key and use it, where replicas share the file"
                       ).set_defaults(run=rotate)  # fmt: skip
    actions.add_parser(
        "add", help="add a key without using it, where each replica has a copy of the file"
    ).set_defaults(run=add)
    taken = actions.add_parser("use", help="use a key that every replica has by now")
    taken.add_argument("key", help="its name, from `keyring show`")
    taken.set_defaults(run=use)


def _written(path: Path, keys: list[bytes]) -> Path:
    """The keys in a file beside this one, on disk."""
    aside = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        json.dump({"keys": [base64.b64encode(key).decode() for key in keys]}, file)
        file.flush()
        os.fsync(file.fileno())
    return aside


def _say(line: str) -> None:
    print(line)  # noqa: T201 - the command's answer
