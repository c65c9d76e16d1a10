"""What the kernel answers but writes in no file: raw bytes, by name, for `Reader.kernel`."""

import ctypes
import os
import socket
import struct
import sys

from gpuaas_agent.facts.reading import UnreadableError

TIMEX_SIZE = 208
RTM_GETADDR = 22
NLM_F_REQUEST, NLM_F_DUMP = 0x1, 0x300
NLMSG_DONE = 3


def kernel_answer(source: str) -> bytes:
    """Return the kernel's raw answer to one of the named questions."""
    if source == "adjtimex":
        return _adjtimex()
    if source == "rtm-getaddr":
        return _addresses()
    if source == "uname-machine":
        return os.uname().machine.encode()
    raise UnreadableError(source, "is no question known here")


def _adjtimex() -> bytes:
    """Read the clock's discipline; with `modes` left 0 nothing is set."""
    if sys.maxsize < 2**32:
        raise UnreadableError("adjtimex", "is read on 64-bit systems only")
    buffer = ctypes.create_string_buffer(TIMEX_SIZE + 64)
    if ctypes.CDLL(None, use_errno=True).adjtimex(buffer) < 0:
        raise UnreadableError("adjtimex", os.strerror(ctypes.get_errno()))
    return buffer.raw[:TIMEX_SIZE]


def _addresses() -> bytes:
    request = struct.pack("=IHHIIBxxxi", 24, RTM_GETADDR, NLM_F_REQUEST | NLM_F_DUMP, 1, 0, 0, 0)
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as netlink:
            netlink.settimeout(5)
            netlink.bind((0, 0))
            netlink.send(request)
            return _until_done(netlink)
    except OSError as error:
        raise UnreadableError("rtm-getaddr", str(error)) from error


def _until_done(netlink: socket.socket) -> bytes:
    parts = []
    while True:
        part = netlink.recv(65536)
        parts.append(part)
        at = 0
        while at + 16 <= len(part):
            length, kind = struct.unpack_from("=IH", part, at)
            if kind in {NLMSG_DONE, 2} or length < 16:
                return b"".join(parts)
            at += (length + 3) & ~3
