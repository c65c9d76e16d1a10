"""A lab machine as an enrolled host, and what an operator and an app do with it over the API."""

import base64
import contextlib
from dataclasses import dataclass
from typing import Any

import asyncssh
from eventually import eventually

from gpuaas_contract.capacity import Allocation, AllocationCreate, Node
from gpuaas_contract.custody import (
    AccessGrant,
    AccessGrantCreate,
    AccessGrantIssued,
    AccessGrantRevoke,
)
from gpuaas_contract.fleet import (
    EnrolmentCreate,
    EnrolmentCreated,
    NodeAgent,
    NodeTask,
    NodeTaskCancel,
    NodeTaskCreate,
    NodeUnenrol,
    TaskOutput,
)
from gpuaas_contract.states import NODE_TASK
from gpuaas_lab import Machine
from gpuaas_sdk import Client, ProblemError
from tools.ground import REGION, SKU, Ground

PATIENCE = 60.0


@dataclass
class Host:
    """A machine with an agent, and the operator of the project that holds it."""

    ground: Ground
    machine: Machine
    node_id: str
    operator: Client
    allocation_id: str = ""

    async def task(self, spec: dict[str, Any], **more: Any) -> NodeTask:
        """Ask for a task on the allocation."""
        body = NodeTaskCreate.model_validate({"spec": spec, **more})
        return await self.operator.post(f"/allocations/{self.allocation_id}/tasks", body, NodeTask)

    async def ended(self, task: NodeTask, patience: float = PATIENCE) -> NodeTask:
        """The task when it has ended."""
        path, seen = f"/node-tasks/{task.id}", task.revision

        async def at_its_end() -> NodeTask | None:
            nonlocal seen
            now = await self.operator.get(path, NodeTask, wait="5s", after=seen)
            seen = now.revision
            return now if now.status in NODE_TASK.terminal else None

        return await eventually(at_its_end, within=patience, what=f"{task.id} has ended")

    async def done(self, spec: dict[str, Any], **more: Any) -> NodeTask:
        """A task, from its wish to its end."""
        return await self.ended(await self.task(spec, **more))

    async def script(self, script: str, **more: Any) -> NodeTask:
        """A script, from its wish to its end."""
        return await self.done({"kind": "run_script", "script": script, **more})

    async def started(self, script: str, *, first: str = "", **more: Any) -> NodeTask:
        """A script that does `first`, then writes `/root/here`, and has done so."""
        text = f"{first}touch /root/here\n{script}"
        task = await self.task({"kind": "run_script", "script": text, **more})
        await self.until("test -e /root/here")
        return task

    async def output(self, task: NodeTask) -> bytes:
        """All its output."""
        path = f"/node-tasks/{task.id}/output"
        return base64.b64decode((await self.operator.get(path, TaskOutput)).data)

    async def cancel(self, task: NodeTask) -> None:
        """Have it stopped."""
        await self.operator.post(f"/node-tasks/{task.id}/cancel", NodeTaskCancel(), NodeTask)

    async def until(self, command: str, patience: float = PATIENCE) -> None:
        """Until a command on the machine succeeds."""

        async def succeeds() -> bool:
            return (await self.machine.run(command, check=False)).status == 0

        await eventually(succeeds, within=patience, what=command)

    async def agent(self) -> NodeAgent:
        """The agent as the platform sees it."""
        return await self.ground.admin.get(f"/nodes/{self.node_id}/agent", NodeAgent)

    async def node(self) -> Node:
        """The node as the platform sees it."""
        return await self.ground.admin.get(f"/nodes/{self.node_id}", Node)

    async def access_applied(self, patience: float = PATIENCE) -> None:
        """Until sshd is set up as it should be."""
        error = ""

        async def applied() -> bool:
            nonlocal error
            agent = await self.agent()
            error = agent.access_error
            return agent.access_applied

        await eventually(applied, within=patience, what=lambda: f"access is applied: {error}")

    async def unenrol(self, *, force: bool = False) -> NodeAgent:
        """Let the node go."""
        wish = NodeUnenrol(reason="the test is over", force=force)
        return await self.ground.admin.post(f"/nodes/{self.node_id}/unenrol", wish, NodeAgent)

    async def grant(self, key: asyncssh.SSHKey, **more: Any) -> AccessGrantIssued:
        """A certificate for the allocation."""
        line = key.export_public_key().decode().strip()
        body = AccessGrantCreate(public_key=line, **more)
        path = f"/allocations/{self.allocation_id}/access-grants"
        return await self.operator.post(path, body, AccessGrantIssued)

    async def revoke(self, issued: AccessGrantIssued) -> None:
        """End a certificate."""
        path = f"/access-grants/{issued.grant.id}/revoke"
        await self.operator.post(path, AccessGrantRevoke(), AccessGrant)

    async def login(
        self, key: asyncssh.SSHKey, issued: AccessGrantIssued, user: str = "root"
    ) -> str:
        """Log in with a certificate and nothing else, and say who one is there."""
        certificate = asyncssh.import_certificate(issued.certificate)
        known = asyncssh.import_known_hosts("\n".join(issued.known_hosts) + "\n")
        async with asyncssh.connect(
            str(self.machine.address),
            username=user,
            client_keys=[(key, certificate)],
            known_hosts=known,
            agent_path=None,
            config=None,
        ) as connection:
            return str((await connection.run("id -un", check=True)).stdout).strip()


async def enrolment_make(ground: Ground, machine: Machine, **more: Any) -> EnrolmentCreated:
    """An enrolment for a machine the ground knows as a node."""
    body = {"node_id": ground.nodes[machine.name], "platform_url": ground.bridge_url, **more}
    wish = EnrolmentCreate.model_validate(body)
    return await ground.admin.post("/enrolments", wish, EnrolmentCreated)


async def held(ground: Ground, name: str) -> str:
    """An allocation of exactly this machine; its agent lets the holder in."""
    body = AllocationCreate(name=name, sku=SKU, region=REGION, node_id=ground.nodes[name])
    path = f"/projects/{ground.project_id}/allocations"
    return (await ground.admin.post(path, body, Allocation)).id


async def cleared(host: Host) -> None:
    """Nobody holds the machine, and nothing of an agent is on it."""
    if host.allocation_id:
        path = f"/allocations/{host.allocation_id}/release"
        with contextlib.suppress(ProblemError):
            await host.ground.admin.post(path, None, Allocation)
    left = await host.machine.run("gpuaas-agent unenroll", check=False)
    if left.status != 0:
        await host.machine.run("gpuaas-agent unenroll --offline", check=False)
        with contextlib.suppress(ProblemError):
            await host.unenrol(force=True)
    await host.machine.run("rm -f /root/here")
