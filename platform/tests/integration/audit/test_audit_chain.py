"""The chain shows every later change, whoever made it; the platform itself cannot make one."""

import hashlib
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import httpx2
import pytest
from anyio import run_process
from eventually import eventually
from journal_fixtures import OTHER_ORG, OTHER_PROJECT, PROJECT, Callers, Hands, happen

from gpuaas_contract.audit import ChainVerification
from gpuaas_contract.permissions import RoleName
from gpuaas_platform.audit.chain import PURPOSE, chain_turn
from gpuaas_platform.audit.offline import export_verify
from gpuaas_platform.audit.verify import Scope, chain_verify
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.keyring import keyring_of


@pytest.fixture
async def admin(database_url: str) -> "AsyncIterator[asyncpg.Connection[asyncpg.Record]]":
    """The owner and superuser of the database: more than the platform ever is."""
    conn = await asyncpg.connect(database_url, server_settings={"search_path": "gpuaas"})
    yield conn
    await conn.close()


@pytest.fixture
async def chained(platform: Platform) -> Platform:
    """A platform with twelve entries in the chain."""
    for number in range(12):
        await happen(platform, subject=f"inst_{number}", detail={"n": number, "ü": ["1", None]})
    await _chained(platform, 12)
    return platform


async def test_every_entry_is_chained_without_a_gap(chained: Platform) -> None:
    rows = await chained.db.fetch("SELECT seq, entry_id FROM audit_chain ORDER BY seq")
    assert [row["seq"] for row in rows] == list(range(1, 13))
    assert await chained.db.fetchval("SELECT count(*) FROM audit_unchained") == 0
    found = await _verify(chained)
    assert (found.ok, found.verified_to, found.waiting) == (True, 12, 0)


@pytest.mark.parametrize("table", ["audit_entries", "audit_chain", "audit_heads"])
@pytest.mark.parametrize(
    "statement", ["UPDATE {} SET seq = 0", "DELETE FROM {}", "TRUNCATE {} CASCADE"]
)
async def test_neither_the_platform_nor_the_owner_can_change_it(
    chained: Platform,
    admin: "asyncpg.Connection[asyncpg.Record]",
    table: str,
    statement: str,
) -> None:
    text = statement.format(table)
    if table == "audit_entries":
        text = text.replace("seq = 0", "reason = 'x'")
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match=r"permission denied|append-only"):
        await chained.db.execute(text)
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="append-only"):
        await admin.execute(text)
    assert (await _verify(chained)).ok


@pytest.mark.parametrize(
    ("tampering", "kind", "seq"),
    [
        ("UPDATE audit_entries SET actor_id = 'user_x' WHERE target_id = 'inst_4'", "altered", 5),
        ("UPDATE audit_entries SET detail = '{}' WHERE target_id = 'inst_0'", "altered", 1),
        ("UPDATE audit_chain SET hash = sha256('x') WHERE seq = 7", "altered", 7),
        ("DELETE FROM audit_entries WHERE target_id = 'inst_3'", "missing_entry", 4),
        ("DELETE FROM audit_chain WHERE seq = 6", "missing_link", 6),
        ("DELETE FROM audit_chain WHERE seq = 12", "unchained_entry", 0),
        (
            """
            ALTER TABLE audit_chain DROP CONSTRAINT audit_chain_entry_id_key;
            UPDATE audit_chain a SET entry_id = b.entry_id FROM audit_chain b
                WHERE (a.seq, b.seq) IN ((2, 3), (3, 2))
            """,
            "altered",
            2,
        ),
        (
            """
            INSERT INTO audit_entries SELECT (jsonb_populate_record(e, '{"id": "aud_forged"}')).*
                FROM audit_entries e LIMIT 1
            """,
            "unchained_entry",
            0,
        ),
    ],
)
async def test_what_a_superuser_changes_is_found(
    chained: Platform,
    admin: "asyncpg.Connection[asyncpg.Record]",
    tampering: str,
    kind: str,
    seq: int,
) -> None:
    await _tamper(admin, tampering)
    found = await _verify(chained)
    assert found.fault is not None
    assert (found.ok, found.fault.kind, found.fault.seq) == (False, kind, seq)


async def test_an_entry_removed_before_it_was_chained_is_found(
    chained: Platform, admin: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    await _tamper(
        admin, "INSERT INTO audit_unchained (entry_id) VALUES ('aud_gone')"
    )  # what the queue looks like when its entry was deleted
    found = await _verify(chained)
    assert found.fault is not None
    assert (found.fault.kind, "aud_gone" in found.fault.detail) == ("missing_entry", True)


async def test_a_chain_cut_short_contradicts_its_signed_head(
    chained: Platform, admin: "asyncpg.Connection[asyncpg.Record]", clock: Hands
) -> None:
    await _head_kept(chained, admin, clock)
    assert (await _verify(chained)).heads == 1
    await _tamper(
        admin,
        "DELETE FROM audit_entries WHERE id IN (SELECT entry_id FROM audit_chain WHERE seq > 10)",
        "DELETE FROM audit_chain WHERE seq > 10",
    )
    found = await _verify(chained)
    assert found.fault is not None
    assert (found.fault.kind, found.fault.seq) == ("cut_short", 12)


async def test_a_chain_rewritten_from_a_tampered_entry_contradicts_its_signed_head(
    chained: Platform, admin: "asyncpg.Connection[asyncpg.Record]", clock: Hands
) -> None:
    """Whoever can write the database can recompute every hash, but not sign the new head."""
    await _head_kept(chained, admin, clock)
    await _tamper(
        admin,
        "UPDATE audit_entries SET reason = 'nothing to see' WHERE target_id = 'inst_2'",
        "INSERT INTO audit_unchained (entry_id) SELECT entry_id FROM audit_chain ORDER BY seq",
        "DELETE FROM audit_chain",
    )
    chained.signals.send(("audit",))
    await _chained(chained, 12)
    found = await _verify(chained)
    assert found.fault is not None
    assert (found.fault.kind, found.fault.seq) == ("head_mismatch", 12)
    await _tamper(
        admin, "UPDATE audit_heads SET hash = (SELECT hash FROM audit_chain WHERE seq = 12)"
    )
    found = await _verify(chained)
    assert found.fault is not None
    assert found.fault.kind == "head_forged"


async def test_a_witnessed_head_is_enough_even_when_the_kept_ones_are_gone(
    chained: Platform,
    admin: "asyncpg.Connection[asyncpg.Record]",
    callers: Callers,
    client: httpx2.AsyncClient,
) -> None:
    headers = {"Authorization": f"Bearer {callers.add(RoleName.AUDITOR)}"}
    head = (await client.get("/audit/head", headers=headers)).json()
    assert head["seq"] == 12
    witnessed = {"witnessed": f"{head['seq']}:{head['hash']}"}
    sound = (await client.get("/audit/verification", params=witnessed, headers=headers)).json()
    assert (sound["ok"], sound["heads"]) == (True, 1)
    await _tamper(
        admin,
        "DELETE FROM audit_heads",
        "DELETE FROM audit_entries WHERE id IN (SELECT entry_id FROM audit_chain WHERE seq > 10)",
        "DELETE FROM audit_chain WHERE seq > 10",
    )
    cut = (await client.get("/audit/verification", params=witnessed, headers=headers)).json()
    assert (cut["ok"], cut["fault"]["kind"]) == (False, "cut_short")
    unaware = (await client.get("/audit/verification", headers=headers)).json()
    assert unaware["ok"] is True, "without a witness nothing in the database tells"


async def test_a_head_is_told_as_an_event(
    chained: Platform, admin: "asyncpg.Connection[asyncpg.Record]", clock: Hands
) -> None:
    await _head_kept(chained, admin, clock)

    async def told() -> "asyncpg.Record | None":
        return await chained.db.fetchrow("SELECT * FROM events WHERE type = 'audit.chain.head'")

    event = await eventually(told)
    kept = await chained.db.fetchrow("SELECT * FROM audit_heads")
    assert kept is not None
    assert event["data"]["seq"] == 12
    assert event["data"]["hash"] == kept["hash"].hex()
    assert event["org_id"] is None, "only who reads all events reads this one"


async def test_a_long_chain_is_verified_piece_by_piece(
    chained: Platform, callers: Callers, client: httpx2.AsyncClient
) -> None:
    headers = {"Authorization": f"Bearer {callers.add(RoleName.AUDITOR)}"}
    after: int | None = 0
    reached = []
    while after is not None:
        params = {"after": after, "limit": 5}
        answer = (await client.get("/audit/verification", params=params, headers=headers)).json()
        assert answer["ok"] is True
        reached.append(answer["verified_to"])
        after = answer["next_after"]
    assert reached == [5, 10, 12]


async def test_only_who_may_verify_does(
    chained: Platform, callers: Callers, client: httpx2.AsyncClient
) -> None:
    for role, place in ((RoleName.TENANT_ADMIN, PROJECT), (RoleName.PROJECT_VIEWER, PROJECT)):
        headers = {"Authorization": f"Bearer {callers.add(role, place)}"}
        assert (await client.get("/audit/verification", headers=headers)).status_code == 403


async def test_an_export_of_all_is_the_whole_chain_and_verifies_offline(
    chained: Platform, callers: Callers, client: httpx2.AsyncClient, tmp_path: Path
) -> None:
    token = callers.add(RoleName.AUDITOR)
    answer = await client.get("/audit/export", headers={"Authorization": f"Bearer {token}"})
    assert answer.headers["Content-Type"].startswith("application/x-ndjson")
    lines = answer.text.splitlines()
    found = export_verify(lines)
    assert (found.fault, found.lines, found.whole, found.last_seq) == (None, 12, True, 12)
    _verify_by_hand(lines)
    file = tmp_path / "audit.ndjson"
    file.write_text(answer.text)
    command = [str(Path(sys.executable).with_name("gpuaas-platform")), "audit", "verify-file"]
    done = await run_process([*command, str(file)], check=False)
    assert (done.returncode, f"12:{found.last_hash}" in done.stdout.decode()) == (0, True)
    file.write_text(answer.text.replace("inst_5", "inst_9"))
    done = await run_process([*command, str(file)], check=False)
    assert (done.returncode, "line 6" in done.stderr.decode()) == (1, True)
    assert export_verify(lines[:4] + lines[5:]).whole is False
    swapped = json.loads(lines[4]) | {"prev_hash": json.loads(lines[2])["hash"]}
    assert "hash it claims" in (export_verify([json.dumps(swapped)]).fault or "")


async def test_a_tenants_export_has_its_own_lines_each_verifiable(
    platform: Platform, callers: Callers, client: httpx2.AsyncClient
) -> None:
    for place in (PROJECT, OTHER_ORG, OTHER_PROJECT, OTHER_ORG, PROJECT):
        await happen(platform, place)
    await _chained(platform, 5)
    token = callers.add(RoleName.TENANT_ADMIN, PROJECT.__class__(PROJECT.org_id))
    answer = await client.get("/audit/export", headers={"Authorization": f"Bearer {token}"})
    lines = answer.text.splitlines()
    assert [json.loads(line)["seq"] for line in lines] == [1, 3, 5]
    assert {json.loads(line)["entry"]["org_id"] for line in lines} == {PROJECT.org_id}
    found = export_verify(lines)
    assert (found.fault, found.whole) == (None, False)


async def test_the_command_verifies_the_database(
    chained: Platform, admin: "asyncpg.Connection[asyncpg.Record]", database_url: str
) -> None:
    environment = {
        "GPUAAS_DATABASE_URL": database_url,
        "GPUAAS_DATA_DIR": str(chained.settings.data_dir),
        "PATH": "/usr/bin:/bin",
    }
    command = [str(Path(sys.executable).with_name("gpuaas-platform")), "audit", "verify"]

    async def run(*more: str) -> tuple[int, str]:
        done = await run_process([*command, *more], check=False, env=environment)
        return done.returncode, done.stdout.decode()

    status, said = await run()
    assert (status, "12 entries" in said) == (0, True), said
    assert (await run("--witnessed", f"3:{'0' * 64}"))[0] == 1
    await _tamper(admin, "UPDATE audit_entries SET reason = 'x' WHERE target_id = 'inst_7'")
    status, said = await run()
    assert (status, "NOT SOUND at 8: altered" in said) == (1, True)


async def test_chaining_again_after_a_crash_between_statements_changes_nothing(
    chained: Platform,
) -> None:
    """The step is one transaction: what a dead process had begun is as if it never was."""
    await happen(chained)
    await _chained(chained, 13)
    async with chained.db.connection() as conn:
        assert await chain_turn(chained, conn) is False
    assert (await _verify(chained)).verified_to == 13


def _verify_by_hand(lines: list[str]) -> None:
    """The documented way, with nothing of ours."""
    previous = bytes(32)
    for line in lines:
        record = json.loads(line)
        text = json.dumps(
            record["entry"], sort_keys=True, separators=(",", ":"), ensure_ascii=False
        )
        previous = hashlib.sha256(previous + text.encode()).digest()
        assert previous.hex() == record["hash"]


async def _chained(platform: Platform, count: int) -> None:
    async def enough() -> bool:
        return int(await platform.db.fetchval("SELECT count(*) FROM audit_chain")) >= count

    await eventually(enough)


async def _head_kept(
    platform: Platform, admin: "asyncpg.Connection[asyncpg.Record]", clock: Hands
) -> None:
    clock.advance(minutes=11)
    platform.signals.send(("audit",))

    async def kept() -> bool:
        return bool(await admin.fetchval("SELECT count(*) > 0 FROM audit_heads"))

    await eventually(kept)


async def _verify(platform: Platform) -> ChainVerification:
    keyring = await keyring_of(platform)
    return await chain_verify(platform.db, Scope(public_keys=keyring.public_keys(PURPOSE)))


async def _tamper(admin: "asyncpg.Connection[asyncpg.Record]", *statements: str) -> None:
    """As a superuser who switches the triggers off."""
    async with admin.transaction():
        await admin.execute("SET LOCAL session_replication_role = replica")
        for statement in statements:
            await admin.execute(statement)
