"""The seven points an app must meet before it is onboarded, seen on a running instance of it."""

import asyncio
import urllib.error
import urllib.request

from gpuaas_cli.proof import boundary
from gpuaas_cli.proof.evidence import Failed, Unverified
from gpuaas_cli.proof.runner import Statement
from gpuaas_cli.proof.smoke import context_require
from gpuaas_cli.proof.stage import Stage

_AREA = "readiness"
_FIRST_HALF = ("requested", "running")
_SECOND_HALF = ("deleting", "deleted")
_LONGEST_PAGE = 1_000_000


async def contracts(stage: Stage) -> str:
    """Catalog, entitlement and instance: the app came the way every app comes."""
    version = await stage.person.get(f"/apps/{stage.app}/versions/{stage.version}")
    if version["status"] not in {"published", "deprecated"}:
        raise Failed(f"version {stage.version} is {version['status']}")
    entitled = (await stage.person.get(f"/projects/{stage.project_id}/entitlements"))["items"]
    if stage.app not in {one["app_slug"] for one in entitled}:
        raise Failed("the project has no entitlement for the app")
    found = await stage.instance()
    if found["status"] not in {"running", "degraded"}:
        raise Failed(f"the instance is {found['status']}: a running one is needed")
    if not found["last_operation_id"]:
        raise Failed("no operation ever acted on the instance")
    return f"manifest {version['digest'][:19]}…, entitled, {found['id']} is {found['status']}"


async def service_account(stage: Stage) -> str:
    """A service account of the project does the app's work."""
    account = await boundary.operator_account(stage)
    if not account["active"]:
        raise Failed(f"the operator {account['id']} is not active")
    asked = {"actor_id": account["id"], "project_id": stage.project_id, "limit": 20}
    entries = (await stage.person.get("/audit", **asked))["items"]
    if not entries:
        raise Failed(f"the audit knows nothing done by {account['name']}")
    return f"{account['name']} ({', '.join(account['roles'])}): {len(entries)} audited acts seen"


async def lifecycle_events(stage: Stage) -> str:
    """The events of a life, with their context: this instance's, and of one that has ended."""
    await _told(stage, stage.instance_id, _FIRST_HALF)
    path = f"/projects/{stage.project_id}/app-instances"
    asked = {"app_slug": stage.app, "status": "deleted", "limit": 1}
    ended = (await stage.person.get(path, **asked))["items"]
    if not ended:
        raise Unverified(
            "no instance of the app has been decommissioned here: `gpuaas smoke` shows the rest"
        )
    await _told(stage, ended[0]["id"], _SECOND_HALF)
    return f"{', '.join(_FIRST_HALF)} of this one, {', '.join(_SECOND_HALF)} of {ended[0]['id']}"


async def _told(stage: Stage, instance_id: str, words: tuple[str, ...]) -> None:
    asked = {"app_instance_id": instance_id, "type": ["apps.instance"], "limit": 500}
    found = (await stage.person.get("/events", **asked))["items"]
    types = {one["type"] for one in found}
    missing = [word for word in words if f"apps.instance.{word}" not in types]
    if missing:
        raise Failed(f"no event tells that {instance_id} was {', '.join(missing)}")
    if instance_id == stage.instance_id:
        context_require(found, stage)


async def artifact_policy(stage: Stage) -> str:
    """Every source the app installs from is judged by policy."""
    wanted = stage.manifest["artifacts"]
    path = f"/projects/{stage.project_id}/effective-policy"
    for one in wanted:
        value = one["source"] or one["name"]
        said = (await stage.person.get(path, dimension="artifact_sources", value=value))["decision"]
        if not said["allowed"]:
            raise Failed(f"{one['name']}: {said['message']}")
        if not one["version"] and not one["digest"]:
            raise Failed(f"{one['name']} is pinned neither by version nor by digest")
    app_version = f"{stage.app}@{stage.version}"
    said = (await stage.person.get(path, dimension="app_versions", value=app_version))["decision"]
    if not said["allowed"]:
        raise Failed(said["message"])
    return f"{len(wanted)} artifacts and the version itself are allowed by the project's policy"


async def lifecycle(stage: Stage) -> str:
    """Upgrade, rollback and delete are declared, and delete can be asked for now."""
    declared = stage.manifest["lifecycle"]
    purposes = {one["purpose"] for one in stage.manifest["operations"]}
    missing = [
        name for name in ("upgrade", "rollback") if not declared.get(name) or name not in purposes
    ]
    if missing:
        raise Failed(f"the manifest does not define {', '.join(missing)}")
    if not declared["delete"]["verifies_absence"]:
        raise Failed("delete does not promise to verify that nothing is left")
    kind = stage.operation("delete")["kind"]
    path = f"/app-instances/{stage.instance_id}/operations/preview"
    preview = await stage.person.change("POST", path, {"kind": kind})
    return (
        f"upgrade: {declared['upgrade']['strategy']}; rollback loses:"
        f" {declared['rollback']['loses']}; delete asks: {preview['confirmation']}"
    )


async def runbook(stage: Stage) -> str:
    """There is a runbook, and it begins where an incident does: at the correlation id."""
    url = stage.manifest["runbook_url"]
    text = await asyncio.to_thread(_page, url)
    if "correlation" not in text.lower():
        raise Failed(f"{url} does not say how to start from a correlation id")
    return f"{url}: {len(text)} characters, triage by correlation id"


def _page(url: str) -> str:
    """The runbook's text. It is the app team's page, not a part of the platform."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - the manifest admits http and https alone
            return str(answer.read(_LONGEST_PAGE).decode(errors="replace"))
    except (urllib.error.URLError, TimeoutError, ValueError) as error:
        raise Failed(f"the runbook {url} cannot be read: {error}") from error


STATEMENTS: tuple[Statement[Stage], ...] = (
    Statement("1", _AREA, "Uses catalog, entitlement and instance contracts", contracts),
    Statement("2", _AREA, "A service account operates it", service_account),
    Statement("3a", _AREA, "The platform denies it other places", boundary.explained, ("2",)),
    Statement("3b", _AREA, "Real calls across the boundary are refused", boundary.refused),
    Statement("4", _AREA, "Lifecycle events carry their context", lifecycle_events),
    Statement("5", _AREA, "Artifact sources are governed by policy", artifact_policy),
    Statement("6", _AREA, "Upgrade, rollback and delete are defined", lifecycle),
    Statement("7", _AREA, "A runbook starts from the correlation id", runbook),
)
