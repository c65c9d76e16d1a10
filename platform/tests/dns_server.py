"""A name server on loopback, with the TXT records a test gives it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import dns.flags
import dns.message
import dns.rcode
import dns.rrset


class NameServer(asyncio.DatagramProtocol):
    """Answers questions for TXT records; any other name does not exist."""

    def __init__(self) -> None:
        self.records: dict[str, list[str]] = {}
        self.asked: list[str] = []
        self._transport: asyncio.DatagramTransport | None = None

    @property
    def address(self) -> str:
        """Where it is, as the settings of the platform name it."""
        assert self._transport is not None
        host, port = self._transport.get_extra_info("sockname")
        return f"{host}:{port}"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        question = dns.message.from_wire(data)
        name = question.question[0].name.to_text().rstrip(".")
        self.asked.append(name)
        answer = dns.message.make_response(question)
        answer.flags |= dns.flags.AA
        if name in self.records:
            texts = [f'"{text}"' for text in self.records[name]]
            answer.answer.append(dns.rrset.from_text(f"{name}.", 60, "IN", "TXT", *texts))
        else:
            answer.set_rcode(dns.rcode.NXDOMAIN)
        assert self._transport is not None
        self._transport.sendto(answer.to_wire(), addr)


@asynccontextmanager
async def name_server() -> AsyncIterator[NameServer]:
    """A name server for the length of a block."""
    loop = asyncio.get_running_loop()
    transport, server = await loop.create_datagram_endpoint(NameServer, local_addr=("127.0.0.1", 0))
    try:
        yield server
    finally:
        transport.close()
