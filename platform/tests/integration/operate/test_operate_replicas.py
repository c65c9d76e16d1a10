"""Replicas on one database: restarted one by one, then one killed, under load. Nothing is lost.

Clients keep no affinity: every request goes to whichever replica is next, and is repeated with its
key when it was not answered. What was answered is there exactly once, with its audit and event.
"""

import asyncio
import json
import secrets
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import asyncpg
import httpx2
from eventually import eventually
from served_platform import ServedPlatform

from gpuaas_contract.identity import CSRF_COOKIE

EMAIL, WAITER = "root@example.org", "waiter@example.org"
PASSWORD = "correct horse battery staple"
REPLICAS, CLIENTS = 2, 3


@dataclass
class Fleet:
    """Replicas that come and go behind a client that asks the next one."""

    environment: dict[str, str]
    replicas: list[ServedPlatform] = field(default_factory=list)
    turn: "count[int]" = field(default_factory=count)

    async def start(self) -> ServedPlatform:
        replica = ServedPlatform(self.environment)
        try:
            await asyncio.to_thread(replica.await_listening)
        except BaseException:
            replica.close()
            raise
        self.replicas.append(replica)
        return replica

    def next_url(self) -> str:
        return self.replicas[next(self.turn) % len(self.replicas)].url

    def close(self) -> None:
        for replica in self.replicas:
            replica.close()


@dataclass
class Load:
    """What clients did: titles that were answered, and how often somebody had to repeat."""

    client: httpx2.AsyncClient
    fleet: Fleet
    headers: dict[str, str]
    answered: dict[str, str] = field(default_factory=dict)
    repeats: int = 0
    done: bool = False
    moved: asyncio.Event = field(default_factory=asyncio.Event)

    async def work(self, name: str) -> None:
        for number in count():
            if self.done:
                return
            await self._mutate(f"{name}-{number}")

    async def _mutate(self, title: str) -> None:
        headers = self.headers | {"Idempotency-Key": secrets.token_hex(16)}
        body = {"category": "missing_event", "title": title}
        while True:
            try:
                answer = await self.client.post(
                    f"{self.fleet.next_url()}/gaps", json=body, headers=headers
                )
            except httpx2.TransportError:
                answer = None
            if answer is not None and answer.status_code == 201:
                self.answered[title] = answer.json()["id"]
                self.moved.set()
                return
            assert answer is None or answer.status_code == 503, answer.text
            self.repeats += 1

    async def listen(self, seen: list[int]) -> None:
        """Follow the stream from its beginning, wherever a replica still serves it."""
        while not self.done:
            last = {"Last-Event-ID": str(seen[-1] if seen else 0)}
            with suppress(httpx2.TransportError):  # the next replica serves it
                async with self.client.stream(
                    "GET", f"{self.fleet.next_url()}/events/stream", headers=self.headers | last
                ) as stream:
                    async for line in stream.aiter_lines():
                        seen += _sequences(line)


async def test_replicas_restart_and_die_under_load(database_url: str, tmp_path: Path) -> None:
    (tmp_path / "password").write_text(PASSWORD)
    fleet = Fleet(
        {
            "GPUAAS_DATABASE_URL": database_url,
            "GPUAAS_DATA_DIR": str(tmp_path),
            "GPUAAS_BOOTSTRAP_ADMIN_EMAIL": EMAIL,
            "GPUAAS_BOOTSTRAP_ADMIN_PASSWORD_FILE": str(tmp_path / "password"),
            # Whoever ends in time ends long before this: waiting requests and streams let go.
            "GPUAAS_SHUTDOWN_GRACE_SECONDS": "600",
            "GPUAAS_EVENT_STREAMS_PER_CALLER": "1",
            "GPUAAS_RATE_LIMIT_PER_SECOND": "100000",
            "GPUAAS_RATE_LIMIT_BURST": "100000",
        }
    )
    try:
        await fleet.start()
        await asyncio.gather(*(fleet.start() for _ in range(REPLICAS - 1)))
        async with httpx2.AsyncClient(timeout=httpx2.Timeout(60, read=150)) as client:
            load = Load(client, fleet, await _signed_in(client, fleet, EMAIL))
            waiter = await _waiter(load)
            seen: list[int] = []
            tasks = [asyncio.create_task(load.work(f"client{n}")) for n in range(CLIENTS)]
            listener = asyncio.create_task(load.listen(seen))
            await _roll(fleet, load, waiter)
            await _kill_relay(fleet, load)
            await _moves_on(load)
            load.done = True
            await asyncio.gather(*tasks)
            await _all_told(database_url, seen)
            listener.cancel()
            await asyncio.gather(listener, return_exceptions=True)
        await _check(database_url, load, seen)
    finally:
        fleet.close()


def _sequences(line: str) -> list[int]:
    return [int(json.loads(line[6:])["sequence"])] if line.startswith("data: ") else []


async def _signed_in(client: httpx2.AsyncClient, fleet: Fleet, email: str) -> dict[str, str]:
    """A personal token, asked for with a session that another replica made."""
    first, other = fleet.replicas[0].url, fleet.replicas[1].url
    session = await client.post(f"{first}/sessions", json={"email": email, "password": PASSWORD})
    assert session.status_code == 201, session.text
    csrf = {"X-CSRF-Token": client.cookies[CSRF_COOKIE]}
    made = await client.post(f"{other}/personal-tokens", json={"name": "load"}, headers=csrf)
    assert made.status_code == 201, made.text
    client.cookies.clear()
    return {"Authorization": f"Bearer {made.json()['secret']}"}


async def _waiter(load: Load) -> dict[str, str]:
    """A second user: its long-polls do not count with the stream of the first."""
    user = {"email": WAITER, "password": PASSWORD}
    url = f"{load.fleet.next_url()}/users"
    made = await load.client.post(url, json=user, headers=load.headers)
    assert made.status_code == 201, made.text
    return await _signed_in(load.client, load.fleet, WAITER)


async def _roll(fleet: Fleet, load: Load, waiter: dict[str, str]) -> None:
    """Replace every replica by a new one, each while somebody waits on it in a long-poll."""
    for old in list(fleet.replicas):
        await _moves_on(load)
        path = f"{old.url}/correlations/nothing-yet?wait=120s"
        asked = {asyncio.create_task(load.client.get(path, headers=waiter)) for _ in range(2)}
        done, pending = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        (refused,), (waiting,) = done, pending
        assert refused.result().status_code == 429  # the other one waits: a caller has one place
        assert await asyncio.to_thread(old.stop) == 0
        assert (await waiting).status_code == 404
        fleet.replicas.remove(old)
        old.close()
        await fleet.start()


async def _kill_relay(fleet: Fleet, load: Load) -> None:
    """Kill whoever numbers the events, without a word of warning."""
    victim, holder = None, ""
    while victim is None:  # who held it before may just have gone
        holder = await _relay_holder(fleet, load)
        found = [one for one in fleet.replicas if holder.endswith(f":{one.process.pid}")]
        victim = found[0] if found else None
    fleet.replicas.remove(victim)
    victim.kill()
    victim.close()

    async def succeeded() -> bool:
        return await _relay_holder(fleet, load) not in {"", holder}

    await eventually(succeeded, within=120)


async def _relay_holder(fleet: Fleet, load: Load) -> str:
    answer = await load.client.get(f"{fleet.next_url()}/admin/health", headers=load.headers)
    duties = {one["duty"]: one["holder"] for one in answer.json()["duties"]}
    return str(duties["relay"] or "")


async def _moves_on(load: Load) -> None:
    """Some more work gets done."""
    target = len(load.answered) + 10
    while len(load.answered) < target:
        load.moved.clear()
        await load.moved.wait()


async def _all_told(url: str, seen: list[int]) -> None:
    """Everything committed is numbered, and the listener has seen the last number."""
    conn = await asyncpg.connect(url, server_settings={"search_path": "gpuaas"})
    try:
        numbered = "SELECT seq FROM event_head WHERE NOT EXISTS (SELECT FROM outbox)"

        async def told() -> bool:
            head = await conn.fetchval(numbered)
            return bool(seen) and seen[-1] == head

        await eventually(told, within=120)
    finally:
        await conn.close()


async def _check(url: str, load: Load, seen: list[int]) -> None:
    conn = await asyncpg.connect(url, server_settings={"search_path": "gpuaas"})
    try:
        gaps = await conn.fetch("SELECT id, title FROM gaps")
        audits = await conn.fetch(
            "SELECT target_id FROM audit_entries WHERE action = 'operate.gap.create'"
        )
        events = await conn.fetch("SELECT subject FROM events WHERE type = 'operate.gap.logged'")
        numbers = await conn.fetch("SELECT seq FROM events ORDER BY seq")
    finally:
        await conn.close()
    assert {row["title"]: row["id"] for row in gaps} == load.answered
    assert len(gaps) == len(load.answered)
    once = Counter(load.answered.values())
    assert Counter(row["target_id"] for row in audits) == once
    assert Counter(row["subject"] for row in events) == once
    assert [row["seq"] for row in numbers] == list(range(1, len(numbers) + 1))
    assert seen == list(range(1, len(numbers) + 1))
