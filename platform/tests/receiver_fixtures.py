"""A real HTTP receiver of webhooks on loopback, that answers as a test tells it to."""

import asyncio
import base64
import contextlib
import hashlib
import hmac
import json
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.types import Receive, Scope, Send


@dataclass(frozen=True)
class Received:
    """One delivery as it arrived."""

    headers: dict[str, str]
    body: bytes

    @property
    def event(self) -> dict[str, Any]:
        event: dict[str, Any] = json.loads(self.body)
        return event

    def signed_by(self, secret: str) -> bool:
        """Whether the secret made one of the signatures; written from the public scheme alone."""
        key = base64.b64decode(secret.removeprefix("whsec_"))
        head = f"{self.headers['webhook-id']}.{self.headers['webhook-timestamp']}.".encode()
        digest = hmac.new(key, head + self.body, hashlib.sha256).digest()
        expected = f"v1,{base64.b64encode(digest).decode()}"
        return expected in self.headers["webhook-signature"].split(" ")


@dataclass
class Receiver:
    """What arrived, and what the next answers are (then 204 for ever)."""

    url: str = ""
    received: list[Received] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    default: int = 204
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    hold: asyncio.Event | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.received.append(Received(headers, body))
        if self.hold is not None:
            await self.hold.wait()
        status = self.answers.pop(0) if self.answers else self.default
        start = {"type": "http.response.start", "status": status, "headers": self.headers}
        await send(start)
        await send({"type": "http.response.body", "body": b""})

    @property
    def numbers(self) -> list[int]:
        """The numbers in the data of what arrived."""
        return [item.event["data"]["n"] for item in self.received if "n" in item.event["data"]]


@contextlib.asynccontextmanager
async def receiving(port: int = 0) -> AsyncIterator[Receiver]:
    """A receiver that listens for the length of the block."""
    receiver = Receiver()
    listener = socket.create_server(("127.0.0.1", port))
    config = uvicorn.Config(receiver, lifespan="off", log_config=None, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    task = asyncio.create_task(server._serve([listener]))
    receiver.url = f"http://127.0.0.1:{listener.getsockname()[1]}/hook"
    try:
        yield receiver
    finally:
        server.should_exit = True
        if receiver.hold is not None:
            receiver.hold.set()
        await task
