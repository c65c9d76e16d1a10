"""The criteria of the founding documents, each judged by its own evidence.

`M…`: minimal success criteria of the validation; `B…`: boundary questions; `A…`: acceptance
criteria. They come last: some rest on what the phases saw.
"""

import copy
import json
import re
import secrets

from gpuaas_cli.book import operations, schemas
from gpuaas_cli.proof import boundary
from gpuaas_cli.proof.evidence import Failed
from gpuaas_cli.proof.runner import Statement
from gpuaas_cli.proof.stage import Stage, Thing

_MINIMAL = "minimal success criteria"
_BOUNDARY = "boundary questions"
_ACCEPTANCE = "acceptance criteria"
_ANY_ID = re.compile(r"\{[^}]+\}")
_DIMENSIONS = ("regions", "skus", "artifact_sources")


async def no_app_in_contract(stage: Stage) -> str:
    """The machine was used without an API of the app's own in the platform."""
    _contract_is_free_of(stage)
    known = [re.compile(f"{one.method} {_ANY_ID.sub('[^/]+', one.path)}$") for one in operations()]
    odd = {call for call in stage.person.paths if not any(one.match(call) for one in known)}
    if odd:
        raise Failed(f"calls outside the public contract: {', '.join(sorted(odd))}")
    return f"{len(stage.person.paths)} calls, all of the public contract, none names the app"


async def operations_suffice(stage: Stage) -> str:
    """A member operation was all the adapter needed to act."""
    found = await stage.person.get(f"/operations/{stage.added['id']}")
    if found["status"] != "succeeded":
        raise Failed(f"the member operation {found['status']}")
    return f"{found['kind']} ({found['id']}) succeeded at attempt {found['attempt']}"


async def acted_and_reported(stage: Stage) -> str:
    """The adapter acted on the machine and reported through public reads."""
    found = await stage.person.get(f"/operations/{stage.deployed['id']}")
    steps = [one for one in found["progress"] if one["started_at"] and one["ended_at"]]
    instance = await stage.instance()
    if not steps or not instance["runtime_version"]:
        raise Failed("no step with a beginning and an end, or no version read from the machine")
    return f"{len(steps)} timed steps; runs {instance['runtime_version']}"


async def no_hidden_coupling(stage: Stage) -> str:
    """The gaps that are known are the platform's to close for everybody, none is a coupling."""
    asked = {"project_id": stage.project_id, "category": "leaky_coupling", "status": "open"}
    found = (await stage.person.get("/gaps", **asked))["items"]
    mine = [one for one in found if one["app_slug"] == stage.app]
    if mine:
        raise Failed(f"{len(mine)} open gaps say that the app leaked into the platform")
    return "no open gap of the app is a leaky coupling"


async def developed_apart(stage: Stage) -> str:
    """The app has versions of its own; the platform needs none of its code to know them."""
    version = await stage.person.get(f"/apps/{stage.app}/versions/{stage.version}")
    platform = (await stage.person.get("/version"))["version"]
    account = await boundary.operator_account(stage)
    _contract_is_free_of(stage)
    return (
        f"app {version['version']} ({version['digest'][:15]}…) beside platform {platform},"
        f" operated by {account['name']} from outside"
    )


async def logic_changes_alone(stage: Stage) -> str:
    """A changed app, with an operation nobody has heard of, is taken as it is."""
    changed = copy.deepcopy(stage.manifest)
    changed["operations"].append(
        {"kind": "proof_only", "title": "Proof", "purpose": "custom", "target": "instance"}
    )
    said = await _validated(stage, changed)
    return f"a manifest with a new operation kind: valid, {len(said['errors'])} errors"


async def others_reuse(stage: Stage) -> str:
    """Another app, with other words, fits the same contract."""
    other: Thing = {
        "manifest_version": 1,
        "summary": "An app that shares no word with the one at hand.",
        "runtime_backend": "proof",
        "operating_modes": ["tenant_dedicated"],
        "control_plane_scopes": ["project"],
        "machine_access": ["certificate"],
        "components": [{"key": "alpha", "title": "Alpha", "min_members": 1}],
        "topologies": [{"key": "any", "title": "Any", "min_allocations": 1}],
        "operations": [
            {
                "kind": "raise",
                "title": "Raise",
                "purpose": "deploy",
                "target": "instance",
                "input": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["place"],
                    "properties": {"place": {"type": "string", "x-widget": "allocation_picker"}},
                },
                "placement": [{"pointer": "/place", "component": "alpha"}],
            },
            {
                "kind": "raze",
                "title": "Raze",
                "purpose": "delete",
                "target": "instance",
                "destructive": True,
                "confirmation": {"title": "Raze it?", "text": "All is lost."},
            },
        ],
        "health": [{"word": "well", "health": "healthy"}],
        "lifecycle": {"delete": {"destroys": "All.", "verifies_absence": True}},
        "runbook_url": "https://runbook.example/alpha",
    }
    await _validated(stage, other)
    return "a manifest that shares no word with this app is valid"


async def capacity_is_agnostic(stage: Stage) -> str:
    """Allocations know nothing of the app: its words are metadata nobody reads."""
    held = await stage.person.get(f"/allocations/{stage.machines[0]}")
    schema = schemas()["Allocation"]["properties"]["scheduler_type"]
    if schema.get("type") != "string" or "enum" in schema:
        raise Failed("the contract gives scheduler_type a list of known words")
    _contract_is_free_of(stage)
    return f"scheduler_type is free text ({held['scheduler_type'] or 'empty'} here)"


async def all_audited(stage: Stage) -> str:
    """Every change this run asked for is in the audit, by its correlation id."""
    missing = []
    for wanted in stage.correlations:
        found = (await stage.person.get("/audit", correlation_id=wanted, limit=5))["items"]
        if not found:
            missing.append(wanted)
    if missing:
        raise Failed(f"the audit has no entry for {', '.join(missing)}")
    return f"{len(stage.correlations)} changes, each with its entries"


async def policy_restricts(stage: Stage) -> str:
    """An overlay takes away a region, a SKU and an artifact source, and gives them back."""
    probe = f"proof-{secrets.token_hex(4)}"
    deny = {name: {"deny": [probe]} for name in _DIMENSIONS}
    path = f"/projects/{stage.project_id}/policy-overlays"
    overlay = await stage.person.change("POST", path, {"name": probe, "rules": deny})
    try:
        for name in _DIMENSIONS:
            said = await _decision(stage, name, probe)
            decided = (said["decided_by"] or {}).get("overlay_id")
            if said["allowed"] or decided != overlay["id"]:
                raise Failed(f"{name}: the overlay does not decide: {said['message']}")
    finally:
        await stage.person.change("DELETE", f"/policy-overlays/{overlay['id']}")
    return f"{', '.join(_DIMENSIONS)}: denied by the overlay, which was taken away again"


async def incident_traceable(stage: Stage) -> str:
    """One correlation id leads through requests, audit, work, events and traces."""
    wanted = stage.correlations[0]
    timeline = await stage.person.get(f"/correlations/{wanted}", limit=500)
    kinds = {one["kind"] for one in timeline["entries"]}
    lacking = {"request", "audit", "instance", "member", "operation", "step", "event"} - kinds
    if lacking:
        raise Failed(f"{wanted} does not lead to: {', '.join(sorted(lacking))}")
    if not timeline["trace_ids"]:
        raise Failed(f"{wanted} has no trace to look up")
    return f"{wanted}: {', '.join(sorted(kinds))}; {len(timeline['trace_ids'])} traces"


async def phases_answered(stage: Stage) -> str:
    """Every question of an incident was answered by reading (its needs say so)."""
    found = await stage.person.get(f"/operations/{stage.failed['id']}")
    return f"{found['id']} was told without a database, a log file or a login"


def _contract_is_free_of(stage: Stage) -> None:
    """No path, operation or type of the contract is named after the app."""
    words = {stage.app.lower(), *(one["kind"] for one in stage.manifest["operations"])}
    generic = {one["purpose"] for one in stage.manifest["operations"]}
    named = {word for word in words - generic if len(word) > 3}
    names = [one.path.lower() for one in operations()] + [one.id for one in operations()]
    names += [name.lower() for name in schemas()]
    found = {word for word in named for name in names if word in name.replace("-", "_")}
    if found - _SHARED_WORDS:
        raise Failed(f"the platform's contract names {', '.join(sorted(found - _SHARED_WORDS))}")


# Words of an app's operations that are the contract's own, too.
_SHARED_WORDS = {"deploy", "cancel", "retry", "reconcile", "upgrade", "rollback", "release"}


async def _validated(stage: Stage, manifest: Thing) -> Thing:
    path = "/manifest-validations"
    said: Thing = await stage.person.change("POST", path, {"manifest": manifest})
    if not said["valid"]:
        raise Failed(f"the platform refuses it: {json.dumps(said['errors'][:3])}")
    return said


async def _decision(stage: Stage, dimension: str, value: str) -> Thing:
    path = f"/projects/{stage.project_id}/effective-policy"
    said: Thing = (await stage.person.get(path, dimension=dimension, value=value))["decision"]
    return said


_LEAK = "leaky_coupling"
_IDENTITY = "missing_identity_capability"
_QUESTIONS = ("3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8")
_S = Statement[Stage]
STATEMENTS: tuple[Statement[Stage], ...] = (
    _S("M1", _MINIMAL, "No app-specific platform API", no_app_in_contract, ("1.1",), _LEAK),
    _S("M2", _MINIMAL, "Member operations suffice", operations_suffice, ("2.4",)),
    _S("M3", _MINIMAL, "A real action, reported back", acted_and_reported, ("2.3",)),
    _S("M4", _MINIMAL, "Failures are diagnosable", phases_answered, _QUESTIONS),
    _S("M5", _MINIMAL, "No hidden coupling", no_hidden_coupling, (), _LEAK),
    _S("B1", _BOUNDARY, "The app is developed apart", developed_apart, ("1.1",), _LEAK),
    _S("B2", _BOUNDARY, "A project's account suffices", boundary.refused, ("1.1",), _IDENTITY),
    _S("B3", _BOUNDARY, "Operators debug by reading", phases_answered, _QUESTIONS),
    _S("B4", _BOUNDARY, "Its logic changes alone", logic_changes_alone, (), _LEAK),
    _S("B5", _BOUNDARY, "Others reuse the same", others_reuse, (), "missing_primitive"),
    _S("A1", _ACCEPTANCE, "Allocations are agnostic", capacity_is_agnostic, (), _LEAK),
    _S("A2", _ACCEPTANCE, "Every change is audited", all_audited, ("1.1",), "missing_read_model"),
    _S("A3", _ACCEPTANCE, "Own project only", boundary.explained, ("1.1",), _IDENTITY),
    _S("A4", _ACCEPTANCE, "Policy restricts", policy_restricts, (), "missing_permission"),
    _S("A5", _ACCEPTANCE, "Incidents are traceable", incident_traceable, ("2.3",), "missing_event"),
)
