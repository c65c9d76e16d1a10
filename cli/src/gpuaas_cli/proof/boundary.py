"""Negative tests of an app's operator: what it must not reach. Used by readiness and validation.

Asked in two ways: the platform's own explanation of every place outside the project, and, with the
operator's key, real calls that must be refused.
"""

from gpuaas_cli.proof.caller import Caller
from gpuaas_cli.proof.evidence import Failed, Unverified
from gpuaas_cli.proof.stage import Stage, Thing

_CONTROL = "apps.operation.control"
_NOBODYS = "proj_00000000000000000000000000"


async def operator_account(stage: Stage) -> Thing:
    """The service account whose controller is at work for the app."""
    found = await stage.person.get(f"/projects/{stage.project_id}/controllers")
    items = found["items"] if isinstance(found, dict) else found
    mine = [one for one in items if one["app_slug"] == stage.app]
    if not mine:
        raise Failed(f"no controller of {stage.app} has been seen in the project")
    present = [one for one in mine if one["present"]]
    if not present:
        raise Failed("every controller of the app is absent: start one")
    account: Thing = await stage.person.get(f"/service-accounts/{present[0]['service_account_id']}")
    if account["project_id"] != stage.project_id:
        raise Failed(f"the operator {account['id']} lives in another project")
    return account


async def explained(stage: Stage) -> str:
    """The platform explains: control in its own project, and nowhere else."""
    account = await operator_account(stage)
    places = [
        ({"kind": "project", "org_id": account["org_id"], "project_id": stage.project_id}, True),
        ({"kind": "tenant", "org_id": account["org_id"]}, False),
        ({"kind": "platform"}, False),
    ]
    for other in await _other_projects(stage):
        scope = {"kind": "project", "org_id": other["org_id"], "project_id": other["id"]}
        places.append((scope, False))
    for scope, expected in places:
        question = {"principal_id": account["id"], "permission": _CONTROL, "scope": scope}
        said = await stage.person.change("POST", "/authorization/explain", question)
        if said["allowed"] is not expected:
            word = "lacks" if expected else "holds"
            raise Failed(f"{account['name']} {word} {_CONTROL} at {scope}: {said['summary']}")
    return f"{account['name']} holds {_CONTROL} in its project; denied at {len(places) - 1} others"


async def refused(stage: Stage) -> str:
    """Real calls with the operator's key: its own project answers, others do not exist."""
    if stage.operator is None:
        raise Unverified("give --operator-key with the controller's key file to make real calls")
    operator = stage.operator
    me = await operator.get("/whoami")
    if me["kind"] != "service_account":
        raise Failed(f"--operator-key belongs to a {me['kind']}")
    await operator.get(f"/projects/{stage.project_id}/app-instances", limit=1)
    foreign = [one["id"] for one in await _other_projects(stage)] or [_NOBODYS]
    for project in foreign:
        await _none_of(operator, project)
    denied = await operator.ask("POST", "/regions", {"name": "proof", "display_name": "proof"})
    if denied.status != 403:
        raise Failed(f"the operator asked for a region and got {denied.status}")
    return f"own project answers; {len(foreign)} other projects answered 404, the platform 403"


async def _none_of(operator: Caller, project: str) -> None:
    """Another project's things are not there for the operator."""
    asked = (
        ("GET", f"/projects/{project}/app-instances", None),
        ("GET", f"/projects/{project}/service-accounts", None),
        ("POST", f"/projects/{project}/allocations", {"name": "x", "sku": "x", "region": "x"}),
    )
    for method, path, body in asked:
        answer = await operator.ask(method, path, body)
        if answer.status != 404:
            raise Failed(f"{method} {path} with the operator's key answered {answer.status}")


async def _other_projects(stage: Stage) -> list[Thing]:
    """Projects the person can see and the app's project is not."""
    found = (await stage.person.get("/projects", limit=100))["items"]
    return [one for one in found if one["id"] != stage.project_id][:5]
