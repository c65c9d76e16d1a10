"""The other ways in, on real machines: a key from custody, and tasks the node's agent pulls."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from gpuaas_contract.custody import AccessCredential, AccessCredentialCreate, AccessCredentialRotate
from gpuaas_contract.fleet import EnrolmentCreate, EnrolmentCreated
from gpuaas_sdk import (
    AccessRefused,
    File,
    Machines,
    MachineUnreachable,
    PermanentFailure,
    ScriptFailed,
    ScriptTimedOut,
    SealingKey,
)
from gpuaas_sdk.machines import AgentAccess, Patience, SealedKeyAccess
from tools.ground import Ground

pytestmark = pytest.mark.system


async def credential_make(ground: Ground, name: str, key: str) -> AccessCredential:
    """A private key put into custody."""
    body = AccessCredentialCreate(name=name, username="root", private_key=key, deliveries_max=3)
    path = f"/projects/{ground.project_id}/access-credentials"
    return await ground.admin.post(path, body, AccessCredential)


async def test_a_key_from_custody_opens_machines_that_trust_it(ground: Ground) -> None:
    credential = await credential_make(ground, "lab", ground.lab.key.read_text())
    mine = SealingKey(ground.project.sealing_key)
    async with ground.operator() as client:
        machines = Machines(client, SealedKeyAccess(credential.id, mine))
        ended = await machines.each(ground.allocations, lambda machine: machine.run("hostname"))
        assert [getattr(one, "stdout", one) for one in ended.values()] == ["n1\n", "n2\n", "n3\n"]
        await machines.close()
        path = f"/access-credentials/{credential.id}"
        assert (await client.get(path, AccessCredential)).deliveries == 1

        other = Machines(client, SealedKeyAccess(credential.id, SealingKey()))
        with pytest.raises(MachineUnreachable, match="not sealed to the key at hand"):
            await other.open(ground.allocation("n1"))
        await other.close()


async def test_a_key_that_no_machine_knows_is_refused_and_its_successor_is_asked_for(
    ground: Ground,
) -> None:
    strange = await asyncio.create_subprocess_exec(
        "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "/dev/stdout",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    said, _ = await strange.communicate(b"y\n")
    text = said.decode()
    key = text[text.index("-----BEGIN") : text.index("KEY-----\n", text.index("-----END")) + 9]
    credential = await credential_make(ground, "strange", key)
    access = SealedKeyAccess(
        credential.id, SealingKey(ground.project.sealing_key), Patience(refused=0)
    )
    async with ground.operator() as client:
        machines = Machines(client, access)
        with pytest.raises(AccessRefused, match=credential.id):
            await machines.open(ground.allocation("n1"))
        rotate = AccessCredentialRotate(private_key=ground.lab.key.read_text())
        path = f"/access-credentials/{credential.id}/rotate"
        successor = await ground.admin.post(path, rotate, AccessCredential)
        with pytest.raises(AccessRefused):
            await machines.open(ground.allocation("n1"))
        by_successor = machines.by(
            SealedKeyAccess(successor.id, SealingKey(ground.project.sealing_key))
        )
        ran = await (await by_successor.open(ground.allocation("n1"))).run("hostname")
        assert ran.stdout == "n1\n"
        await machines.close()


@pytest.fixture(scope="module")
async def enrolled(ground_factory: Callable[..., Awaitable[Ground]]) -> Ground:
    """A ground of one machine with an agent."""
    ground = await ground_factory("machines-agent", 1)
    wish = EnrolmentCreate(node_id=ground.nodes["n1"], platform_url=ground.bridge_url)
    made = await ground.admin.post("/enrolments", wish, EnrolmentCreated)
    await ground.lab.machine("n1").run(made.command)
    return ground


async def test_scripts_go_through_the_agent_too(enrolled: Ground) -> None:
    async with enrolled.operator() as client:
        machines = Machines(client, AgentAccess()).bound("cor_agent", "a task")
        machine = await machines.open(enrolled.allocation("n1"))
        ran = await machine.run(
            'cat; echo "$GREETING"; echo "$GPUAAS_CORRELATION_ID" >&2',
            env={"GREETING": 'it\'s "me"'},
            input=b"\x00in\n",
        )
        assert (ran.stdout, ran.stderr) == ('\x00in\nit\'s "me"\n', "cor_agent\n")
        with pytest.raises(ScriptFailed) as failed:
            await machine.run("echo out; echo the reason >&2; exit 7")
        assert failed.value.detail["exit_code"] == 7
        assert failed.value.detail["stderr"] == "the reason"
        with pytest.raises(ScriptTimedOut):
            await machine.run("sleep 4720", timeout=1)
        await machine.put(File("/srv/agent/file", b"\x00content", mode=0o600))
        assert await machine.get("/srv/agent/file") == b"\x00content"
        assert (await machine.unit("ssh.service")).active == "active"
        with pytest.raises(PermanentFailure, match="deliver an artifact"):
            await machine.put(File("/srv/agent/big", bytes(1_000_000)))


async def test_a_cancelled_task_is_ended_on_the_machine(enrolled: Ground) -> None:
    async with enrolled.operator() as client:
        machine = await Machines(client, AgentAccess()).open(enrolled.allocation("n1"))
        running = asyncio.create_task(machine.run("touch /run/begun; exec sleep 4721"))
        await enrolled.lab.machine("n1").run("until [ -e /run/begun ]; do sleep 0.05; done")
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    gone = "until ! pgrep -f 'sleep 472[1]'; do sleep 0.1; done"
    await enrolled.lab.machine("n1").run(gone)


async def test_a_task_nobody_takes_is_told_as_that(enrolled: Ground) -> None:
    async with enrolled.operator() as client:
        machine = await Machines(client, AgentAccess(begin_within=5)).open(
            enrolled.allocation("n1")
        )
        await enrolled.lab.machine("n1").cut()
        try:
            with pytest.raises(MachineUnreachable, match="did not take the task within 5 s"):
                await machine.run("true")
        finally:
            await enrolled.lab.machine("n1").heal()
        patient = await Machines(client, AgentAccess()).open(enrolled.allocation("n1"))
        assert (await patient.run("hostname")).stdout == "n1\n"
