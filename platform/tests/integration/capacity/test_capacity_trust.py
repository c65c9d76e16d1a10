"""Whom made machines let in: told when it changes, said when it was not, never forgotten."""

import asyncio
import struct
from datetime import timedelta
from typing import Any

import pytest
from custody_fixtures import USER_KEY
from made_machines import FakeMaker, Site

from gpuaas_platform.capacity.providers import PART
from gpuaas_platform.capacity.trusting import Trusting
from gpuaas_platform.custody.secret_store import PART as SECRET_STORE
from gpuaas_platform.kernel.problems import Unavailable

pytestmark = pytest.mark.integration


def lists(krl: bytes, grant: Any) -> bool:
    """Whether a revocation list has the certificate of a grant."""
    return struct.pack(">Q", grant["serial"]) in krl


async def test_a_machine_trusts_from_its_first_moment_on_and_that_is_known(site: Site) -> None:
    made = await site.active()
    authority = (await site.client.get("/ssh/ca")).json()["keys"]
    trust = site.fake.orders[0]["trust"]
    assert trust["authorities"] == [one["public_key"] for one in authority]
    assert trust["principals"] == {"root": [made]}
    access = await site.access(made)
    assert (access["carrier"], access["applied"], access["error"]) == ("provider", True, "")
    assert access["confirmed_at"] is not None


async def test_a_revocation_is_told_to_the_machine_it_concerns_and_to_no_other(site: Site) -> None:
    one, other = await site.active("a"), await site.active("b")
    lost, kept = await site.grant(one, USER_KEY), await site.grant(one, USER_KEY)
    site.fake.told.clear()
    await site.revoke(lost)
    await site.until(lambda: lists(site.fake.krl(one), lost))
    assert not lists(site.fake.krl(one), kept)
    assert [order["allocation_id"] for order in site.fake.told] == [one]
    assert (await site.access(one))["applied"] is True
    assert (await site.access(other))["applied"] is True


async def test_a_rotated_authority_reaches_every_machine_and_the_old_one_leaves(site: Site) -> None:
    machines = [await site.active(name) for name in ("a", "b", "c")]
    first = site.fake.holds[machines[0]]["authorities"]
    second = await site.rotate()
    held = [site.fake.holds]
    await site.until(lambda: all(held[0][one]["authorities"] == second for one in machines))
    assert set(first) < set(second)  # the overlap: what the old one signed still opens
    site.clock.advance(seconds=901)
    third = await site.rotate()
    await site.until(lambda: all(held[0][one]["authorities"] == third for one in machines))
    assert first[0] not in third


async def test_a_machine_that_is_off_is_said_to_be_outstanding_and_caught_up(site: Site) -> None:
    made = await site.active()
    lost = await site.grant(made, USER_KEY)
    site.fake.off.add(made)
    await site.revoke(lost)
    assert (await site.access(made))["applied"] is False
    [condition] = (await site.said(made, "access_outstanding"))["conditions"]
    assert "no route to host" in condition["message"]
    assert (await site.access(made))["error"] == "no route to host"
    assert not lists(site.fake.krl(made), lost)

    site.fake.off.clear()
    await site.until(lambda: lists(site.fake.krl(made), lost), later=True)
    await site.said(made)
    access = await site.access(made)
    assert (access["applied"], access["error"]) == (True, "")
    events = "SELECT count(*) FROM events WHERE type LIKE '%capacity.node.access\\_%'"
    assert await site.platform.db.fetchval(events) == 2


async def test_a_machine_that_does_not_answer_keeps_no_other_waiting(site: Site) -> None:
    frozen, live = await site.active("a"), await site.active("b")
    site.fake.frozen[frozen] = asyncio.Event()
    await site.revoke(await site.grant(frozen, USER_KEY))
    lost = await site.grant(live, USER_KEY)
    await site.revoke(lost)
    await site.until(lambda: lists(site.fake.krl(live), lost))
    assert (await site.access(frozen))["applied"] is False
    site.fake.frozen[frozen].set()


async def test_what_changes_while_a_machine_is_told_is_told_as_well(site: Site) -> None:
    made = await site.active()
    first, second = await site.grant(made, USER_KEY), await site.grant(made, USER_KEY)
    thaw = site.fake.frozen[made] = asyncio.Event()
    site.fake.told.clear()
    await site.revoke(first)
    await site.until(lambda: len(site.fake.told) == 1)
    await site.revoke(second)
    thaw.set()
    await site.until(lambda: lists(site.fake.krl(made), second))
    assert (await site.access(made))["applied"] is True


async def test_two_replicas_do_not_tell_one_machine_at_once(site: Site) -> None:
    made = await site.active()
    thaw = site.fake.frozen[made] = asyncio.Event()
    site.fake.told.clear()
    await site.revoke(await site.grant(made, USER_KEY))
    await site.until(lambda: len(site.fake.told) == 1)
    other = Trusting(site.platform)
    await other.turn()
    await other.close()
    assert len(site.fake.told) == 1
    thaw.set()


async def test_what_a_dead_replica_was_about_to_tell_is_told_by_another(site: Site) -> None:
    made = await site.active()
    lost = await site.grant(made, USER_KEY)
    until = site.clock.now() + timedelta(seconds=30)
    claim = "UPDATE machine_trust SET token = 'dead', attempt = 1, leased_until = $1"
    await site.platform.db.execute(claim, until)
    await site.revoke(lost)
    other = Trusting(site.platform)
    await other.turn()
    assert not other._tasks
    await other.close()
    assert not lists(site.fake.krl(made), lost)
    site.clock.advance(seconds=31)
    site.platform.signals.send(("capacity.trust",))
    await site.until(lambda: lists(site.fake.krl(made), lost))


class Away:
    """A secret store that is not reached."""

    async def get(self, path: str) -> bytes:
        """Nothing comes."""
        raise Unavailable(f"The secret store ({path})")


async def test_a_revocation_arrives_while_no_secret_can_be_read(site: Site) -> None:
    """A replica that has just started, and whose secret store is away."""
    made = await site.active()
    lost = await site.grant(made, USER_KEY)
    site.platform.parts.update({"custody.signing_key": None, SECRET_STORE: Away()})
    await site.revoke(lost)
    await site.until(lambda: lists(site.fake.krl(made), lost))
    assert (await site.client.get("/ssh/ca")).status_code == 200
    path = f"/allocations/{made}/access-grants"
    body = {"public_key": USER_KEY}
    assert (await site.client.post(path, json=body, headers=site.admin)).status_code == 503


async def test_what_changed_on_a_machine_by_itself_is_set_right(site: Site) -> None:
    made = await site.active()
    right = site.fake.holds[made]["authorities"]
    site.fake.holds[made] = {"authorities": ["somebody else"]}
    site.clock.advance(minutes=16)
    site.platform.signals.send(("capacity.trust",))
    await site.until(lambda: site.fake.holds[made]["authorities"] == right)


async def test_a_machine_given_back_is_closed_though_it_cannot_be_taken_away(site: Site) -> None:
    made = await site.active()
    site.fake.stuck = [OSError("the hypervisor is busy")]
    await site.release(made)
    await site.until(lambda: site.fake.holds[made]["principals"] == {})
    await site.became(made, "released")
    assert await site.platform.db.fetchval("SELECT count(*) FROM machine_trust") == 0


async def test_a_provider_that_cannot_tell_its_machines_goes_on_and_that_is_said(
    site: Site,
) -> None:
    maker = FakeMaker()
    maker.gate.set()
    site.platform.parts[PART] = {"fake": maker}
    made = await site.active()
    assert maker.orders[0]["trust"]["principals"] == {"root": [made]}
    [condition] = (await site.said(made, "access_outstanding"))["conditions"]
    assert condition["reason"] == "provider_cannot"
    access = await site.access(made)
    assert (access["carrier"], access["applied"]) == ("provider", False)
    assert "certificates end there when they expire" in access["error"]
    await site.release(made)
    await site.became(made, "released")


async def test_only_operators_see_what_a_machine_trusts(site: Site) -> None:
    made = await site.active()
    path = f"/nodes/{(await site.node(made))['id']}/access"
    assert (await site.client.get(path, headers=site.admin)).status_code in {403, 404}
    missing = await site.client.get("/nodes/node_none/access", headers=site.root)
    assert missing.status_code == 404
