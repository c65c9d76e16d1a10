"""Phase 1 of the founding validation: the contract by itself, whatever the app does with it."""

import secrets

from gpuaas_cli.proof.evidence import Failed, Unverified
from gpuaas_cli.proof.runner import Statement
from gpuaas_cli.proof.stage import Stage, deploy_ask, deploy_input

_AREA = "phase 1: contract"


async def create(stage: Stage) -> str:
    """An instance is asked for through the public API, once however often it is asked."""
    key = secrets.token_hex(16)
    filled = await deploy_input(stage)
    first = await deploy_ask(stage, filled, key)
    made = stage.person.granted(first, "deploy")
    stage.instance_id = made["instance"]["id"]
    stage.deployed = made["operation"]
    stage.correlations.append(first.correlation_id)
    again = await deploy_ask(stage, filled, key)
    if stage.person.granted(again, "the repeat")["instance"]["id"] != stage.instance_id:
        raise Failed("the same request with the same key made a second instance")
    return f"{stage.instance_id} from {first.correlation_id}; the repeat gave the same"


async def other_body(stage: Stage) -> str:
    """The same key with another body is a conflict."""
    key = secrets.token_hex(16)
    # A change without an effect carries the key first; then the same key says something else.
    update = f"/app-instances/{stage.instance_id}"
    stage.person.granted(
        await stage.person.ask("PATCH", update, {"display_name": stage.name}, key=key), "PATCH"
    )
    other = await stage.person.ask("PATCH", update, {"display_name": "other"}, key=key)
    if other.status != 409 or other.code != "idempotency_conflict":
        raise Failed(f"the same key with another body answered {other.status} {other.code}")
    return "409 idempotency_conflict, nothing changed"


async def visible(stage: Stage) -> str:
    """The instance's state can be read and listed."""
    found = await stage.instance()
    path = f"/projects/{stage.project_id}/app-instances"
    listed = (await stage.person.get(path, app_slug=stage.app, limit=500))["items"]
    if stage.instance_id not in {one["id"] for one in listed}:
        raise Failed("the instance is not in its project's list")
    lacking = [
        name
        for name in ("operating_mode", "control_plane_scope", "runtime_backend", "topology")
        if not found.get(name)
    ]
    if lacking:
        raise Failed(f"the instance does not say its {', '.join(lacking)}")
    return f"{found['status']} / {found['health']}, {found['topology']}, listed"


async def members(stage: Stage) -> str:
    """Member records can be listed and inspected."""
    found = await stage.members()
    if not found:
        raise Failed("the instance has no member records")
    one = await stage.person.get(f"/app-members/{found[0]['id']}")
    bound = {member["allocation_id"] for member in found}
    if not bound <= set(stage.machines):
        raise Failed(f"members sit on allocations nobody named: {bound - set(stage.machines)}")
    return f"{len(found)} members; {one['id']} is {one['component_key']} on {one['allocation_id']}"


async def member_operation(stage: Stage) -> str:
    """A member operation is asked for through the public API."""
    ended = await stage.ended(stage.deployed)  # an exclusive deploy comes first
    if ended["status"] != "succeeded":
        raise Unverified(f"deploy {ended['status']}, so no member operation can be asked for")
    answer = await stage.add_on(stage.spare())
    stage.added = stage.person.granted(answer, "the member operation")["operation"]
    stage.correlations.append(answer.correlation_id)
    return f"{stage.added['id']} ({stage.added['kind']}) under {answer.correlation_id}"


async def operation_visible(stage: Stage) -> str:
    """The operation's status can be read, and the audit knows who asked."""
    found = await stage.person.get(f"/operations/{stage.added['id']}")
    if not found["target"]["id"] or found["correlation_id"] != stage.added["correlation_id"]:
        raise Failed("the operation does not say its target or its correlation")
    entries = (await stage.person.get("/audit", correlation_id=found["correlation_id"]))["items"]
    asked = [one for one in entries if one["actor_id"] == found["requested_by"]]
    if not asked:
        raise Failed(f"the audit does not say who asked for {found['correlation_id']}")
    return f"{found['status']}; audited as {asked[-1]['action']} by {asked[-1]['actor_id']}"


async def errors(stage: Stage) -> str:
    """A refused request is answered with code, correlation id and the field that is wrong."""
    path = f"/app-instances/{stage.instance_id}/operations"
    answer = await stage.person.ask("POST", path, {"kind": "No Such Kind"})
    body = answer.body
    if answer.status != 422 or not body.get("code") or not body.get("correlation_id"):
        raise Failed(f"a wrong request answered {answer.status} without code or correlation id")
    if not body.get("errors"):
        raise Failed("the problem does not say which field is wrong")
    return f"422 {body['code']} at {body['errors'][0]['pointer']}, {answer.correlation_id}"


async def service_account(stage: Stage) -> str:
    """The operator's own identity reads the same through the same API."""
    if stage.operator is None:
        raise Unverified("give --operator-key with the controller's key file")
    me = await stage.operator.get("/whoami")
    found = await stage.operator.get(f"/app-instances/{stage.instance_id}")
    if me["kind"] != "service_account" or found["id"] != stage.instance_id:
        raise Failed(f"the key is a {me['kind']}'s and reads {found['id']}")
    return f"{me['display_name'] or me['id']} reads {found['id']}"


STATEMENTS: tuple[Statement[Stage], ...] = (
    Statement("1.1", _AREA, "An instance is created, once", create, (), "missing_primitive"),
    Statement(
        "1.2", _AREA, "Its state is visible", visible, ("1.1",), "missing_read_model"
    ),
    Statement("1.3", _AREA, "Members are listed", members, ("1.1",), "missing_read_model"),
    Statement("1.4", _AREA, "A key is used once", other_body, ("1.1",), "missing_primitive"),
    Statement("1.5", _AREA, "Errors say what to do", errors, ("1.1",), "missing_read_model"),
    Statement(
        "1.6", _AREA, "A service account drives it", service_account, ("1.1",),
        "missing_identity_capability",
    ),
    Statement(
        "1.7", _AREA, "A member operation is asked for", member_operation, ("1.1",),
        "missing_primitive",
    ),
    Statement(
        "1.8", _AREA, "It is visible and audited", operation_visible, ("1.7",),
        "missing_read_model",
    ),
)  # fmt: skip
