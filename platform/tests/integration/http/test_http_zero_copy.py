"""Files sent by the kernel through the real server: whole, in part, again, and to who hangs up."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from eventually import eventually

from gpuaas_platform.http.zero_copy import EXTENSION, ZeroCopyProtocol

CONTENT = os.urandom(1 << 20) * 24


class FileApp:
    """Answers every request with a span of the file, and remembers how each sending ended."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDONLY)
        self.ended: list[str] = []

    async def __call__(self, scope: Any, _: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            return
        assert EXTENSION in scope["extensions"]
        start, count = (int(word) for word in scope["path"].strip("/").split("-"))
        if scope["method"] == "POST":  # an ordinary answer on the same connection
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"ordinary"})
            return
        headers = [(b"content-length", str(count).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        try:
            await send({"type": EXTENSION, "file": self._file, "offset": start, "count": count})
        except ConnectionError:
            self.ended.append("gone")
        except asyncio.CancelledError:
            self.ended.append("cancelled")
            raise
        else:
            self.ended.append("sent")

    def close(self) -> None:
        os.close(self._file)


@asynccontextmanager
async def _serving(app: FileApp) -> AsyncIterator[str]:
    config = uvicorn.Config(
        app, http=ZeroCopyProtocol, lifespan="off", log_config=None, timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    listener = socket.create_server(("127.0.0.1", 0))
    task = asyncio.create_task(server.serve(sockets=[listener]))
    await eventually(lambda: server.started, what="a server that has started")
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        with suppress(KeyboardInterrupt):
            await task
        listener.close()


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[FileApp]:
    path = tmp_path / "content"
    path.write_bytes(CONTENT)
    made = FileApp(path)
    yield made
    made.close()


async def test_spans_on_one_connection_among_ordinary_answers(app: FileApp) -> None:
    async with _serving(app) as url, httpx2.AsyncClient(timeout=30) as client:
        for start, count in ((0, len(CONTENT)), (5, 1), (1 << 20, 3 << 20), (len(CONTENT) - 7, 7)):
            answer = await client.get(f"{url}/{start}-{count}")
            assert answer.content == CONTENT[start : start + count]
            assert (await client.post(f"{url}/0-0")).content == b"ordinary"
    assert app.ended == ["sent"] * 4


async def test_many_at_once(app: FileApp) -> None:
    async with _serving(app) as url, httpx2.AsyncClient(timeout=60) as client:
        spans = [(number << 20, 2 << 20) for number in range(20)]
        answers = await asyncio.gather(*(client.get(f"{url}/{s}-{n}") for s, n in spans))
        for (start, count), answer in zip(spans, answers, strict=True):
            assert answer.content == CONTENT[start : start + count]


async def test_one_who_hangs_up_is_noticed_and_others_go_on(app: FileApp) -> None:
    async with _serving(app) as url, httpx2.AsyncClient(timeout=30) as client:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rsplit(":", 1)[1]))
        writer.write(f"GET /0-{len(CONTENT)} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")
        writer.close()
        await _ended(app)
        assert app.ended == ["gone"]
        answer = await client.get(f"{url}/0-100")
        assert answer.content == CONTENT[:100]


async def test_a_file_that_is_too_short_breaks_the_connection_off(app: FileApp) -> None:
    async with _serving(app) as url, httpx2.AsyncClient(timeout=30) as client:
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.get(f"{url}/0-{len(CONTENT) + 1}")
    assert app.ended == ["gone"]


async def test_a_shutdown_ends_what_nobody_takes(app: FileApp) -> None:
    async with _serving(app) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rsplit(":", 1)[1]))
        writer.write(f"GET /0-{len(CONTENT)} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        await reader.readuntil(b"\r\n\r\n")  # and no more: the connection is full
    await _ended(app)
    assert app.ended in (["cancelled"], ["gone"])
    writer.close()


async def _ended(app: FileApp) -> None:
    await eventually(lambda: app.ended, what="the end of a sending")
