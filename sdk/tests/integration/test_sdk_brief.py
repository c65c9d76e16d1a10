"""The light client on real connections: every way an answer can come, or fail to come."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from anyio.lowlevel import checkpoint
from eventually import eventually
from tls_front import Authority

from gpuaas_sdk import (
    BearerToken,
    BriefClient,
    NotFoundError,
    Request,
    Retries,
    ServiceAccountKey,
    UnreachableError,
)
from gpuaas_sdk.brief import brief_will_do
from gpuaas_sdk.calls import Params

pytestmark = pytest.mark.integration
AT_ONCE = Retries(attempts=3, first_delay=0.0, longest_delay=0.0)
OK = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{"name":"x"}'
CHUNKED = (
    b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b'5\r\n{"nam\r\n7\r\ne":"x"}\r\n0\r\n\r\n'
)
UNTIL_CLOSED = b'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{"name":"x"}'
CUT = b'HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{"na'
NOTHING = b"HTTP/1.1 204 No Content\r\n\r\n"
MISSING = {
    "title": "none", "status": 404, "detail": "because", "code": "not_found",
    "correlation_id": "cor_1", "retryable": False,
}  # fmt: skip


class Server:
    """A server that gives these answers in turn, and keeps what it was told on which connection."""

    def __init__(self, *answers: bytes, hangs_up: bool = False) -> None:
        self.answers = list(answers)
        self.hangs_up = hangs_up
        self.told: list[tuple[int, str, dict[str, str], bytes]] = []
        self.connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                line, *rest = head.strip().split("\r\n")
                headers = {k.lower(): v for k, v in (one.split(": ", 1) for one in rest)}
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                self.told.append((number, line, headers, body))
                answer = self.answers.pop(0)
                writer.write(answer)
                await writer.drain()
                if self.hangs_up or answer in {CUT, UNTIL_CLOSED, b""}:
                    return
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()


@asynccontextmanager
async def talking(
    server: Server, credentials: BearerToken | ServiceAccountKey | None = None
) -> AsyncIterator[BriefClient]:
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    try:
        async with BriefClient(f"http://127.0.0.1:{port}/", credentials, retries=AT_ONCE) as made:
            yield made
    finally:
        listening.close()
        await checkpoint()


async def test_calls_share_a_connection_and_carry_what_every_call_does() -> None:
    server = Server(OK, NOTHING)
    async with talking(server, BearerToken("gpt_1")) as client:
        params: Params = {"limit": 5, "all": True, "kind": ["a", "b&c"], "cursor": None}
        answer = await client.send(Request("GET", "/projects?x=1", params=params))
        assert answer.json() == {"name": "x"}
        assert answer.headers["content-type"] == "application/json"
        change = Request("POST", "/projects", {"name": "ä"}, if_match='"3"', correlation_id="cor_9")
        assert (await client.send(change)).content == b""
    (first, line, headers, _), (second, posted, changing, body) = server.told
    assert first == second == 1
    assert line == "GET /api/v1/projects?x=1&limit=5&all=true&kind=a&kind=b%26c HTTP/1.1"
    assert headers["authorization"] == "Bearer gpt_1"
    assert headers["host"].startswith("127.0.0.1:")
    assert headers["x-correlation-id"].startswith("cor_")
    assert "idempotency-key" not in headers
    assert posted == "POST /api/v1/projects HTTP/1.1"
    assert json.loads(body) == {"name": "ä"}
    assert (changing["if-match"], changing["x-correlation-id"]) == ('"3"', "cor_9")
    assert len(changing["idempotency-key"]) == 32


@pytest.mark.parametrize("answer", [OK, CHUNKED, UNTIL_CLOSED])
async def test_an_answer_is_whole_however_it_comes(answer: bytes) -> None:
    async with talking(Server(answer, OK)) as client:
        for _ in range(2):
            assert (await client.send(Request("GET", "/x"))).json() == {"name": "x"}


async def test_a_connection_that_was_closed_meanwhile_is_replaced() -> None:
    server = Server(OK, OK, hangs_up=True)
    async with talking(server) as client:
        await client.send(Request("GET", "/x"))
        await eventually(client._idle[0].reader.at_eof, what="the end of the connection")
        await client.send(Request("GET", "/x"))
    assert server.connections == 2


@pytest.mark.parametrize("lost", [CUT, b"", b"nonsense\r\n\r\n"])
async def test_a_lost_answer_is_asked_for_again_with_the_same_key(lost: bytes) -> None:
    server = Server(lost, OK)
    async with talking(server) as client:
        await client.send(Request("POST", "/x", {}))
    keys = {headers["idempotency-key"] for _, _, headers, _ in server.told}
    assert (len(server.told), len(keys)) == (2, 1)


async def test_nobody_there_is_said_after_every_attempt() -> None:
    async with BriefClient("http://127.0.0.1:9", retries=AT_ONCE) as client:
        with pytest.raises(UnreachableError, match=r"http://127\.0\.0\.1:9/api/v1 does not answer"):
            await client.send(Request("GET", "/x"))


async def test_calls_at_the_same_time_do_not_wait_for_each_other() -> None:
    server = Server(OK, OK, OK)
    async with talking(server) as client:
        await asyncio.gather(*(client.send(Request("GET", "/x")) for _ in range(3)))
    assert server.connections == 3


async def test_a_refusal_is_the_problem_the_platform_named() -> None:
    body = json.dumps(MISSING).encode()
    head = f"HTTP/1.1 404 Not Found\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    async with talking(Server(head + body, OK)) as client:
        with pytest.raises(NotFoundError, match="not_found: because"):
            await client.send(Request("GET", "/x"))
        await client.send(Request("GET", "/x"))  # the connection goes on


async def test_a_key_becomes_a_token() -> None:
    token = b'{"access_token": "gps_1", "expires_in": 600}'
    issued = f"HTTP/1.1 200 OK\r\nContent-Length: {len(token)}\r\n\r\n".encode() + token
    server = Server(issued, OK)
    async with talking(server, ServiceAccountKey("gpk_1")) as client:
        await client.send(Request("GET", "/x"))
    assert json.loads(server.told[0][3]) == {"key": "gpk_1"}
    assert server.told[1][2]["authorization"] == "Bearer gps_1"


async def test_only_authorities_the_host_trusts_are_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = Authority.make()
    (tmp_path / "ca.pem").write_bytes(authority.pem())
    context = authority.context("127.0.0.1", tmp_path)
    server = Server(OK)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=context)
    url = f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    async with BriefClient(url, retries=Retries(attempts=1)) as client:
        with pytest.raises(UnreachableError, match="certificate verify failed"):
            await client.send(Request("GET", "/x"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    async with BriefClient(url, retries=Retries(attempts=1)) as client:
        assert (await client.send(Request("GET", "/x"))).json() == {"name": "x"}
    listening.close()


def test_where_a_proxy_is_asked_for_it_will_not_do() -> None:
    assert brief_will_do({"HOME": "/"})
    assert not brief_will_do({"HTTPS_PROXY": "http://proxy:3128"})
