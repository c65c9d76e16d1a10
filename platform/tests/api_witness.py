"""What tests over the whole API look at beside the answers: the tables, the audit, the stream."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from api_scenario import PROJECT_WORD, TENANT_WORD, Scenario
from eventually import eventually
from identity_fixtures import World

from gpuaas_platform.events.stream import Hub, Subscription, hub_of
from gpuaas_platform.kernel.call import Platform

# Written by the record of requests itself, or by loops that go on while the tests ask.
_NOT_STATE = {
    "requests", "audit_entries", "audit_chain", "audit_unchained", "audit_heads", "outbox",
    "event_head", "event_cursors", "webhooks", "webhook_deliveries",
}  # fmt: skip
_COUNTED = ("webhooks",)
_MOVING_COLUMNS = {"tokens": ["last_used_at", "idle_until"]}


@asynccontextmanager
async def unchanged(platform: Platform) -> AsyncIterator[None]:
    """What happens inside leaves every state table as it was, row by row."""
    before = await _state(platform)
    yield
    after = await _state(platform)
    assert after == before, {name for name in before if before[name] != after.get(name)}


async def _state(platform: Platform) -> dict[str, Any]:
    names = await platform.db.fetch(
        "SELECT table_name FROM information_schema.tables"
        " WHERE table_schema = 'public' AND table_type = 'BASE TABLE' ORDER BY 1"
    )
    state: dict[str, Any] = {}
    for (name,) in names:
        if name in _NOT_STATE:
            continue
        moving = _MOVING_COLUMNS.get(name, [])
        lines = f"SELECT (to_jsonb(t) - $1::text[])::text AS line FROM {name} t"  # noqa: S608 - the catalog's own names
        state[name] = await platform.db.fetchval(
            f"SELECT md5(coalesce(string_agg(line, ',' ORDER BY line), '')) FROM ({lines}) l",  # noqa: S608 - as above
            moving,
        )
    for name in _COUNTED:
        state[name] = await platform.db.fetchval(f"SELECT count(*) FROM {name}")  # noqa: S608 - names of tables
    return state


async def hidden_words(world: World, scenario: Scenario, who: str) -> set[str]:
    """Every id of what somebody may not see, and the words that are in its names."""
    column, value = ("org_id", scenario.params["org_id"])
    words = {TENANT_WORD, PROJECT_WORD, value}
    if who == "neighbour":
        column, value = ("project_id", scenario.params["project_id"])
        words = {PROJECT_WORD, value}
    tables = await world.platform.db.fetch(
        "SELECT c.table_name FROM information_schema.columns c JOIN information_schema.columns i"
        " USING (table_schema, table_name) WHERE table_schema = 'public'"
        " AND c.column_name = $1 AND i.column_name = 'id'",
        column,
    )
    for (table,) in tables:
        of_theirs = f"SELECT id FROM {table} WHERE {column} = $1"  # noqa: S608 - the catalog's own names
        rows = await world.platform.db.fetch(of_theirs, value)
        words |= {row["id"] for row in rows}
    return words


async def streamed(world: World, headers: Mapping[str, str]) -> str:
    """What the endless stream shows of all numbered events: up to a heartbeat after the last."""
    db, hub = world.platform.db, hub_of(world.platform)
    await eventually(lambda: db.fetchval("SELECT count(*) = 0 FROM outbox"))
    head = int(await db.fetchval("SELECT seq FROM event_head"))
    others = set(hub._subscriptions)
    said: asyncio.Queue[bytes] = asyncio.Queue()
    end = asyncio.Event()
    sent = iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def receive() -> dict[str, Any]:
        for message in sent:
            return message
        await end.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            said.put_nowait(f"{message['status']}\n".encode())
        else:
            said.put_nowait(message["body"])

    scope = {
        "type": "http", "method": "GET", "path": "/api/v1/events/stream",
        "query_string": b"after=0",
        "headers": [(k.lower().encode(), v.encode()) for k, v in headers.items()],
        "scheme": "http", "server": ("test", 80), "client": ("127.0.0.1", 1), "http_version": "1.1",
        "raw_path": b"/api/v1/events/stream", "root_path": "",
    }  # fmt: skip
    task = asyncio.create_task(world.edge(scope, receive, send))
    shown = b""
    try:
        await eventually(lambda: task.done() or _up_to(hub, hub._subscriptions - others, head))
        await hub.beat()
        while b": heartbeat" not in shown and not (task.done() and said.empty()):
            shown += await asyncio.wait_for(said.get(), 60)
    finally:
        end.set()
        await task
    return shown.decode()


def _up_to(hub: Hub, subscriptions: Iterable[Subscription], head: int) -> bool:
    """Whether each reader gets events as they happen, all up to this one handed out."""
    live = [one.live for one in subscriptions]
    return bool(live) and all(live) and (hub.offered or 0) >= head


async def audit_faults(platform: Platform, expected: Mapping[str, int]) -> list[str]:
    rows = await platform.db.fetch(
        "SELECT correlation_id, count(*) AS number FROM audit_entries"
        " WHERE correlation_id = ANY($1) AND outcome = 'denied' GROUP BY 1",
        list(expected),
    )
    counted = {row["correlation_id"]: row["number"] for row in rows}
    return [
        f"{mark}: {counted.get(mark, 0)} audit rows, not {number}"
        for mark, number in expected.items()
        if counted.get(mark, 0) != number
    ]
