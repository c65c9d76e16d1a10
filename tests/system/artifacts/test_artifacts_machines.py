"""Artifacts on real machines that reach the platform and nothing else."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from artifact_shop import Shop
from eventually import eventually
from held_front import HeldFront, held_front

from gpuaas_contract.artifacts import ArtifactDelivery
from gpuaas_sdk.artifacts import Delivered, Delivery, artifact_deliver, artifact_deliver_each
from gpuaas_sdk.machines import ScriptFailed

pytestmark = pytest.mark.system
PATH = "/var/lib/app/runtime.tar"
PART = "/var/lib/app/.gpuaas-"


@pytest.fixture(autouse=True)
async def _clean(shop: Shop) -> None:
    for name in ("n1", "n2"):
        await shop.ground.lab.machine(name).run("rm -rf /var/lib/app /opt/few")


async def _told(shop: Shop, wanted: Callable[[list[ArtifactDelivery]], bool]) -> None:
    """Until the platform's record of deliveries, newest first, is so: it is written afterwards."""

    async def recorded() -> bool:
        listed = shop.client.pages(
            "/artifact-deliveries", ArtifactDelivery, artifact_id=shop.artifact.id
        )
        return wanted([one async for one in listed])

    await eventually(recorded, what="the platform has recorded the delivery")


@asynccontextmanager
async def _held(shop: Shop) -> AsyncIterator[tuple[HeldFront, Delivery]]:
    """A way to the platform that holds a fetch in its middle, and a delivery that takes it."""
    ground, middle = shop.ground, shop.content.stat().st_size // 2
    async with held_front(ground.lab.host_address, ground.served.port, middle) as front:
        yield front, Delivery(shop.artifact, PATH, base_url=front.url)


async def test_each_machine_fetches_by_itself(shop: Shop) -> None:
    delivery = Delivery(shop.artifact, PATH, mode=0o640, group="daemon", purpose="install")
    done = await artifact_deliver_each(
        shop.client, shop.machines, shop.ground.allocations, delivery
    )
    assert [one.how for one in done.values() if isinstance(one, Delivered)] == ["fetched"] * 2
    for number in (0, 1):
        assert await shop.digest_on(number, PATH) == shop.digest
    machine = shop.ground.lab.machine("n1")
    told = (await machine.run(f"stat -c '%a %U:%G' {PATH}; ls -A /var/lib/app")).stdout
    assert told.split("\n")[:2] == ["640 root:daemon", "runtime.tar"]
    again = await artifact_deliver_each(
        shop.client, shop.machines, shop.ground.allocations, delivery
    )
    assert {one.how for one in again.values() if isinstance(one, Delivered)} == {"present"}
    addresses = {str(shop.ground.lab.machine(name).address) for name in ("n1", "n2")}
    await _told(shop, lambda all_: {o.last_fetch_from for o in all_ if o.finished_at} == addresses)


async def test_a_fetch_goes_on_after_a_cut(shop: Shop) -> None:
    """The network goes in the middle of it and comes back; what was there is not fetched again."""
    machine = shop.ground.lab.machine("n1")
    await machine.run("mkdir -p /var/lib/app")
    name = f"{PART}{shop.digest[:32]}.part"
    half = shop.content.read_bytes()[: 40 * 1024 * 1024]
    await machine.write(name, half)
    session = await shop.machines.open(shop.ground.allocation("n1"))
    done = await artifact_deliver(shop.client, session, Delivery(shop.artifact, PATH))
    assert done.how == "fetched"
    assert await shop.digest_on(0, PATH) == shop.digest
    await _told(shop, lambda newest_first: newest_first[0].finished_at is not None)


async def test_the_platform_is_killed_while_a_machine_fetches(shop: Shop) -> None:
    """The fetch is held in its middle, the platform killed and started, and the fetch let go on."""
    session = await shop.machines.open(shop.ground.allocation("n1"))
    machine = shop.ground.lab.machine("n1")
    async with _held(shop) as (front, delivery):
        task = asyncio.create_task(artifact_deliver(shop.client, session, delivery))
        await asyncio.wait_for(front.reached.wait(), 120)
        part = f"{PART}{shop.digest[:32]}.part"
        await machine.run(f"until [ -s {part} ]; do sleep 0.1; done")
        await shop.ground.served.kill()
        await shop.ground.served.start()
        front.go.set()
        assert (await task).how == "fetched"
    assert await shop.digest_on(0, PATH) == shop.digest


async def test_what_came_wrong_is_removed_and_fetched_anew(shop: Shop) -> None:
    machine = shop.ground.lab.machine("n1")
    await machine.run("mkdir -p /var/lib/app")
    name = f"{PART}{shop.digest[:32]}.part"
    await machine.write(name, b"not the beginning of it")
    session = await shop.machines.open(shop.ground.allocation("n1"))
    with pytest.raises(ScriptFailed, match="what came has the digest"):
        await artifact_deliver(shop.client, session, Delivery(shop.artifact, PATH))
    left = (await machine.run("ls -A /var/lib/app")).stdout
    assert left == ""
    done = await artifact_deliver(shop.client, session, Delivery(shop.artifact, PATH))
    assert done.how == "fetched"


@pytest.mark.parametrize("tool", ["curl", "none"])
async def test_machines_with_less_on_them(shop: Shop, tool: str) -> None:
    """Without Python curl fetches; with nothing at all the content goes over the session."""
    machine = shop.ground.lab.machine("n1")
    hidden = ["/usr/bin/python3"] + (["/usr/bin/curl"] if tool == "none" else [])
    for path in hidden:
        await machine.run(f"mv {path} {path}.hidden")
    try:
        session = await shop.machines.open(shop.ground.allocation("n1"))
        done = await artifact_deliver(shop.client, session, Delivery(shop.artifact, PATH))
        assert done.how == ("fetched" if tool == "curl" else "pushed")
        assert await shop.digest_on(0, PATH) == shop.digest
        again = await artifact_deliver(shop.client, session, Delivery(shop.artifact, PATH))
        assert again.how == "present"
    finally:
        for path in hidden:
            await machine.run(f"mv {path}.hidden {path}")


async def test_where_the_platform_cannot_be_reached_the_session_carries_it(shop: Shop) -> None:
    session = await shop.machines.open(shop.ground.allocation("n1"))
    nowhere = Delivery(shop.artifact, PATH, base_url=f"http://{shop.ground.lab.host_address}:9")
    done = await artifact_deliver(shop.client, session, nowhere)
    assert done.how == "pushed"
    assert await shop.digest_on(0, PATH) == shop.digest


async def test_the_url_is_in_no_file_log_or_process_list(shop: Shop) -> None:
    """What opens the content is looked for everywhere it could have been left on the way."""
    session = await shop.machines.open(shop.ground.allocation("n1"))
    machine = shop.ground.lab.machine("n1")
    await machine.run(
        'nohup sh -c \'while :; do for f in /proc/[0-9]*/cmdline; do tr "\\0" " " <$f;'
        " echo; done; sleep 0.02; done' >/run/seen 2>/dev/null & echo $! >/run/watcher"
    )
    try:
        async with _held(shop) as (front, delivery):
            task = asyncio.create_task(artifact_deliver(shop.client, session, delivery))
            await asyncio.wait_for(front.reached.wait(), 120)
            await machine.run("until grep -q python3 /run/seen; do sleep 0.1; done")
            front.go.set()
            await task
    finally:
        await machine.run("kill $(cat /run/watcher)")
    tokens = (await machine.run("grep -c 'token=' /run/seen; true")).stdout
    assert int(tokens) == 0
    journal = (await machine.run("journalctl --no-pager -o cat | grep -c gpd_; true")).stdout
    assert journal.strip() == "0"
    files = (await machine.run("grep -rlI gpd_ /etc /var /tmp /root /run 2>/dev/null; true")).stdout
    assert files.strip() == ""
    assert "gpd_" not in shop.ground.served.log.read_text(errors="replace")


async def test_one_machine_that_is_cut_off_holds_up_no_other(shop: Shop) -> None:
    cut = shop.ground.lab.machine("n2")
    await shop.machines.open(shop.ground.allocation("n2"))
    await cut.cut()
    try:
        task = asyncio.create_task(
            artifact_deliver_each(
                shop.client, shop.machines, shop.ground.allocations, Delivery(shop.artifact, PATH)
            )
        )
        waiting = f"until [ -f {PATH} ]; do sleep 0.1; done"
        async with asyncio.timeout(120):
            await shop.ground.lab.machine("n1").run(waiting)
    finally:
        await cut.heal()
    done = await task
    first = done[shop.ground.allocation("n1")]
    assert isinstance(first, Delivered)
    assert await shop.digest_on(0, PATH) == shop.digest
