"""A socket to a machine's sshd, or an error in time. Used by `ssh_wire.py`."""

import asyncio
import socket
from contextlib import suppress
from ipaddress import ip_address
from typing import Any, Final

_PORT: Final = 22
_REFUSED_PAUSES: Final = (0.2, 0.4, 0.8)  # sshd takes no connections while it reloads


async def plug_make(address: str, patience: float) -> socket.socket:
    """A connected socket; a host without power answers nothing at all, so time is bounded."""
    try:
        async with asyncio.timeout(patience):
            for pause in _REFUSED_PAUSES:
                with suppress(ConnectionRefusedError):
                    return await _connected(address)
                await asyncio.sleep(pause)
            return await _connected(address)
    except TimeoutError as error:
        raise TimeoutError(f"no answer within {patience:g} s") from error


async def _connected(address: str) -> socket.socket:
    failure: OSError | None = None
    for family, where in await _places(address):
        plug = socket.socket(family, socket.SOCK_STREAM)
        plug.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(plug, where)
        except OSError as error:
            plug.close()
            failure = error
        except BaseException:
            plug.close()
            raise
        else:
            return plug
    raise failure or OSError(f"{address} has no address")


async def _places(address: str) -> list[tuple[int, tuple[Any, ...]]]:
    """Where an address leads; one in figures is not looked up, which would take a thread."""
    with suppress(ValueError):
        family = socket.AF_INET6 if ip_address(address).version == 6 else socket.AF_INET
        return [(family, (address, _PORT))]
    found = await asyncio.get_running_loop().getaddrinfo(address, _PORT, type=socket.SOCK_STREAM)
    return [(family, where) for family, _, _, _, where in found]
