#!/usr/bin/env python3
"""Chromium that does not hear of the host's network changing, in the place of `chromium`.

Lab machines come and go beside the browser's tests, and with each a bridge. Chromium follows the
kernel's word of it and then gives up whatever it is fetching, also from loopback, with
ERR_NETWORK_CHANGED; it has no flag against that. Where the kernel lets it have no routing socket to
listen at, it takes the network for there and steady, and goes on.

Run by Playwright, which wants one program: it becomes the browser that GPUAAS_BROWSER names, or the
one that is found, with all arguments. Tests and measurements ask `deaf_chromium` where it is.
"""

import ctypes
import os
import platform
import shutil
import struct
import sys
from pathlib import Path
from typing import Final

PR_SET_NO_NEW_PRIVS: Final = 38
PR_SET_SECCOMP: Final = 22
SECCOMP_MODE_FILTER: Final = 2
LOAD_WORD: Final = 0x20
JUMP_UNLESS_EQUAL: Final = 0x15
RETURN: Final = 0x06
ALLOW: Final = 0x7FFF0000
REFUSE: Final = 0x00050000
EAFNOSUPPORT: Final = 97
AF_NETLINK: Final = 16
NETLINK_ROUTE: Final = 0
CALL_AT, MACHINE_AT, FAMILY_AT, PROTOCOL_AT = 0, 4, 16, 32
SOCKET: Final = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
"""What the kernel calls the machine, and the number of its call for a socket."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def deaf_chromium() -> Path | None:
    """The program to start, or None where there is no browser."""
    return Path(__file__) if _browser() else None


def _browser() -> str | None:
    return os.environ.get("GPUAAS_BROWSER") or shutil.which("chromium")


def _deafen() -> None:
    """Refuse this process, and whatever it becomes, a routing socket."""
    machine, call = SOCKET[platform.machine()]
    wanted = (
        (MACHINE_AT, machine),
        (CALL_AT, call),
        (FAMILY_AT, AF_NETLINK),
        (PROTOCOL_AT, NETLINK_ROUTE),
    )
    code = []
    for number, (place, value) in enumerate(wanted):
        to_the_end = 2 * (len(wanted) - number) - 1
        code.append(_instruction(LOAD_WORD, place))
        code.append(_instruction(JUMP_UNLESS_EQUAL, value, otherwise=to_the_end))
    code.append(_instruction(RETURN, REFUSE | EAFNOSUPPORT))
    code.append(_instruction(RETURN, ALLOW))
    program = _Program(len(code), b"".join(code))
    _prctl(PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1))
    _prctl(PR_SET_SECCOMP, ctypes.c_ulong(SECCOMP_MODE_FILTER), ctypes.byref(program))


def _instruction(code: int, value: int, otherwise: int = 0) -> bytes:
    """One of the kernel's packet filter; `otherwise` is how many a jump leaves out."""
    return struct.pack("HBBI", code, 0, otherwise, value)


def _prctl(option: int, *arguments: object) -> None:
    padded = (*arguments, *(ctypes.c_ulong(0),) * (4 - len(arguments)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, *padded) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option}")


if __name__ == "__main__":
    found = _browser()
    if found is None:
        sys.exit("there is no chromium: make setup")
    _deafen()
    os.execv(found, [found, *sys.argv[1:]])  # noqa: S606 - it becomes the browser
