"""The smoke test of day-2 operation: everything a person does with an app, once, then gone.

Safe on production: it uses free machines of one project, names its own instance, and takes it away.
"""

import base64
import secrets

from gpuaas_cli.proof.evidence import Failed, Unverified
from gpuaas_cli.proof.runner import Statement
from gpuaas_cli.proof.stage import Stage, deploy_ask, deploy_input

_LIFE = ("requested", "running", "deleting", "deleted")


async def deploy(stage: Stage) -> str:
    """Deploy and see it running and healthy."""
    filled = await deploy_input(stage)
    answer = await deploy_ask(stage, filled, secrets.token_hex(16))
    stage.instance_id = stage.person.granted(answer, "deploy")["instance"]["id"]
    stage.deployed = await stage.succeeded(answer)
    found = await stage.instance()
    if (found["status"], found["health"]) != ("running", "healthy"):
        raise Failed(f"deployed, but {found['status']} / {found['health']}")
    return f"{found['id']}: running / healthy, {len(stage.deployed['progress'])} steps reported"


async def member_add(stage: Stage) -> str:
    """Add a member on a second machine and see it ready."""
    stage.added = await stage.succeeded(await stage.add_on(stage.spare()))
    member = await stage.member_on(stage.spare())
    if member["status"] != "ready":
        raise Failed(f"added, but {member['id']} is {member['status']}")
    return f"{member['component_key']} {member['id']} is ready on {stage.spare()}"


async def drain_and_resume(stage: Stage) -> str:
    """Drain the added member and resume it."""
    member = (await stage.member_on(stage.spare()))["id"]
    await stage.ask_purpose("member_drain", [member])
    drained = await stage.member_on(stage.spare())
    if drained["status"] != "drained":
        raise Failed(f"drained, but {member} is {drained['status']}")
    await stage.ask_purpose("member_resume", [member])
    back = await stage.member_on(stage.spare())
    if back["status"] != "ready":
        raise Failed(f"resumed, but {member} is {back['status']}")
    return f"{member}: drained, then ready again"


async def member_remove(stage: Stage) -> str:
    """Remove the added member; a tombstone says that nothing is left."""
    member = (await stage.member_on(stage.spare()))["id"]
    await stage.ask_purpose("member_remove", [member])
    grave = await stage.person.get(f"/app-members/{member}")
    absence = grave["absence"] or {}
    if grave["status"] != "removed" or not absence.get("runtime_verified_absent"):
        raise Failed(f"{member} is {grave['status']}, absence: {absence or 'not stated'}")
    return f"{member} is removed; the app looked at {', '.join(absence['evidence']) or 'nothing'}"


async def stop_and_start(stage: Stage) -> str:
    """Stop, start and, where the app has it, restart."""
    wanted = [("stop", "stopped"), ("start", "running"), ("restart", "running")]
    there = {one["purpose"] for one in stage.manifest["operations"]}
    done = [pair for pair in wanted if pair[0] in there]
    if not done:
        raise Unverified("the app has no operation for stop, start or restart")
    for purpose, status in done:
        await stage.ask_purpose(purpose)
        found = await stage.instance()
        if found["status"] != status:
            raise Failed(f"{purpose} succeeded, but the instance is {found['status']}")
    return ", ".join(f"{purpose}: {status}" for purpose, status in done)


async def access(stage: Stage) -> str:
    """The access bundle says how to use it, and its machine gives a certificate."""
    found = await stage.instance()
    if not found["access"]:
        raise Failed("the instance has no access bundle: nobody is told how to use it")
    member = (await stage.members())[0]
    path = f"/allocations/{member['allocation_id']}/access-grants"
    issued = await stage.person.change("POST", path, {"public_key": public_key(), "pty": True})
    grant = issued["grant"]
    if not issued["certificate"] or not issued["known_hosts"]:
        raise Failed("the certificate came without host keys to expect")
    revoke = f"/access-grants/{grant['id']}/revoke"
    await stage.person.change("POST", revoke, {"reason": "the proof has seen it"})
    keys = ", ".join(found["access"])
    return f"access bundle: {keys}; certificate for {grant['principal']} until revoked"


async def health(stage: Stage) -> str:
    """Health is said in the generic words the app declared, with its own words beside it."""
    declared = {one["health"] for one in stage.manifest["health"]}
    found = await stage.instance()
    odd = {one["health"] for one in [found, *await stage.members()]} - declared
    if odd:
        raise Failed(f"health {', '.join(odd)} is not in the manifest's vocabulary")
    detail = found["adapter_detail"]
    if not detail or not detail["summary"]:
        raise Failed("the app says nothing about itself (adapter_detail)")
    if not found["runtime_version"]:
        raise Failed("no version was read from the machine (runtime_version)")
    return f"{found['health']}: {detail['summary']}; runs {found['runtime_version']}"


async def decommission(stage: Stage) -> str:
    """Decommission; every member's absence is proven and the machines are free again."""
    answer = await stage.person.ask("DELETE", f"/app-instances/{stage.instance_id}")
    await stage.succeeded(answer)
    found = await stage.instance()
    if found["status"] != "deleted":
        raise Failed(f"decommissioned, but the instance is {found['status']}")
    graves = await stage.members(removed=True)
    unproven = [
        one["id"] for one in graves if not (one["absence"] or {}).get("runtime_verified_absent")
    ]
    if unproven:
        raise Failed(f"nobody verified that nothing is left of {', '.join(unproven)}")
    for allocation in {one["allocation_id"] for one in graves}:
        held = await stage.person.get(f"/allocations/{allocation}")
        if held["bound_instance_id"] is not None:
            raise Failed(f"{allocation} is still bound to {held['bound_instance_id']}")
    return f"{len(graves)} members verified absent, their machines are free"


async def events(stage: Stage) -> str:
    """Its life was told in events, each with its context."""
    path = "/events"
    asked = {"app_instance_id": stage.instance_id, "type": ["apps.instance"], "limit": 500}
    found = (await stage.person.get(path, **asked))["items"]
    types = {one["type"] for one in found}
    missing = [word for word in _LIFE if f"apps.instance.{word}" not in types]
    if missing:
        raise Failed(f"no event tells that it was {', '.join(missing)}")
    context_require(found, stage)
    return f"{len(found)} events: {', '.join(sorted(types))}"


def context_require(events_found: list[dict[str, object]], stage: Stage) -> None:
    """Every event names its correlation, tenant, project, app and instance."""
    for event in events_found:
        data = event["data"]
        if not isinstance(data, dict):
            raise Failed(f"{event['id']} has no data")
        right = {
            "project_id": stage.project_id,
            "app_slug": stage.app,
            "app_instance_id": stage.instance_id,
        }
        wrong = [name for name, value in right.items() if data.get(name) != value]
        wrong += [name for name in ("correlation_id", "org_id") if not data.get(name)]
        if wrong:
            raise Failed(f"the event {event['id']} lacks {', '.join(wrong)}")


def public_key() -> str:
    """A key nobody holds the other half of: a certificate for it opens nothing."""
    kind, bits = b"ssh-ed25519", secrets.token_bytes(32)
    blob = b"".join(len(part).to_bytes(4, "big") + part for part in (kind, bits))
    return f"ssh-ed25519 {base64.b64encode(blob).decode()} proof"


STATEMENTS: tuple[Statement[Stage], ...] = (
    Statement("deploy", "smoke", "Deploy reaches running / healthy", deploy),
    Statement("health", "smoke", "Health is classified and explained", health, ("deploy",)),
    Statement("access", "smoke", "Access is given and explained", access, ("deploy",)),
    Statement("add", "smoke", "A member is added", member_add, ("deploy",)),
    Statement("drain", "smoke", "It is drained and resumed", drain_and_resume, ("add",)),
    Statement("remove", "smoke", "It is removed without residue", member_remove, ("add",)),
    Statement("stop", "smoke", "Stop, start and restart", stop_and_start, ("deploy",)),
    Statement("decommission", "smoke", "Decommission leaves nothing", decommission, ("deploy",)),
    Statement("events", "smoke", "Events tell its whole life", events, ("decommission",)),
)


def statements_for(stage: Stage) -> list[Statement[Stage]]:
    """The statements that make sense for the app: draining is not for everybody."""
    there = {one["purpose"] for one in stage.manifest["operations"]}
    drains = {"member_drain", "member_resume"} <= there
    return [one for one in STATEMENTS if one.id != "drain" or drains]
