"""A manifest that does not hold together is refused, each fault at its place."""

import json
from typing import Any

import pytest
from manifest_samples import manifest_sample

from gpuaas_contract.manifest import MANIFEST_MAX_BYTES, Purpose
from gpuaas_contract.manifest_check import manifest_check
from gpuaas_contract.manifest_read import (
    Seat,
    invalid_for_member,
    invalid_in,
    seats_of,
    sharing_refused,
    topology_of,
)
from gpuaas_contract.pointers import pointer_parts
from gpuaas_contract.states import InstanceStatus, MemberStatus

GONE = object()


def _broken(pointer: str, value: Any) -> dict[str, Any]:
    """The sample with one value replaced, added or (`GONE`) taken out."""
    document: dict[str, Any] = manifest_sample()
    *parents, last = pointer_parts(pointer)
    node: Any = document
    for part in parents:
        node = node[int(part)] if isinstance(node, list) else node.setdefault(part, {})
    key: Any = int(last) if isinstance(node, list) else last
    if value is GONE:
        del node[key]
    elif isinstance(node, list) and key == len(node):
        node.append(value)
    else:
        node[key] = value
    return document


def test_the_sample_holds_together() -> None:
    manifest, problems = manifest_check(manifest_sample())
    assert problems == []
    assert manifest is not None
    assert manifest.deploy.kind == "deploy"
    assert manifest.purpose(Purpose.STOP) is None


DEPLOY, ADD, DRAIN, DELETE = (f"/operations/{index}" for index in range(4))
OTHER = {"key": "three", "title": "Three", "min_allocations": 2}
SECRET = {"type": "string", "format": "password"}
LOOP = {"a": {"properties": {"a": {"$ref": "#/$defs/a"}}}}
BOMB = {
    **{f"b{n}": {"allOf": [{"$ref": f"#/$defs/b{n + 1}"}] * 4} for n in range(8)},
    "b8": {"type": "object"},
}
REFUSED: list[tuple[str, Any, str, str]] = [
    ("/runbook_url", GONE, "/runbook_url", "required"),
    ("/colour", "red", "/colour", "Extra"),
    ("/operations/1/max_attempts", "3", "/operations/1/max_attempts", "integer"),
    ("/operations/0/permissions", ["no.such.key"], f"{DEPLOY}/permissions/0", "no.such.key"),
    ("/panels/0/items/0/pointer", "x", "/panels/0/items/0/pointer", "JSON pointer"),
    ("/panels/0/kind", "hologram", "/panels/0", "hologram"),
    ("/components/1/key", "front", "/components/1/key", "twice"),
    ("/components/1/may_share_with", ["ghost"], "/components/1/may_share_with/0", "ghost"),
    ("/components/0/min_members", 2, "/components/0/max_members", "less"),
    ("/topologies/2", OTHER, "/topologies/2/min_allocations", "overlaps"),
    ("/topologies/1/min_allocations", 3, "/topologies/1/min_allocations", "2 allocations"),
    (f"{DELETE}/purpose", "custom", "/operations", "purpose delete"),
    (f"{DRAIN}/purpose", "delete", f"{DELETE}/purpose", "only one"),
    (f"{DRAIN}/target", "instance", f"{DRAIN}/target", "member"),
    (f"{DEPLOY}/target", "member", f"{DEPLOY}/target", "instance"),
    (f"{ADD}/placement", [], f"{ADD}/placement", "needs a field"),
    (f"{DRAIN}/placement", [{"pointer": "/x", "component": "worker"}], f"{DRAIN}/placement", "no"),
    (f"{ADD}/group", GONE, f"{ADD}/group", "exactly"),
    (f"{ADD}/group/max_parallel", 11, f"{ADD}/group/max_parallel", "max_members"),
    (f"{DELETE}/destructive", False, f"{DELETE}/destructive", "destructive"),
    (f"{DELETE}/confirmation", GONE, f"{DELETE}/confirmation", "confirmed"),
    (f"{ADD}/deadline_seconds", 30, f"{ADD}/steps/0/deadline_seconds", "longer"),
    (f"{DELETE}/valid_in", {"member_states": ["ready"]}, f"{DELETE}/valid_in/member_states", "no"),
    (f"{DRAIN}/valid_in/topologies", ["star"], f"{DRAIN}/valid_in/topologies/0", "star"),
    (f"{DRAIN}/valid_in/components", ["ghost"], f"{DRAIN}/valid_in/components/0", "ghost"),
    ("/actions/0/operation", "fly", "/actions/0/operation", "fly"),
    ("/actions/0/operation", "drain_worker", "/actions/0/place", "cannot stand here"),
    ("/actions/0/operation", "deploy", "/actions/0/place", "cannot stand here"),
    ("/lifecycle/rollback", {"loses": "x"}, "/lifecycle/rollback", "exactly"),
    ("/control_plane_scopes", ["tenant"], "/shared_runtime", "exactly"),
    ("/health/0/health", "failed", "/health", "healthy"),
    ("/panels/0/source", "jobs", "/panels/0", "queue"),
    (f"{DEPLOY}/input/type", "array", f"{DEPLOY}/input/type", "object"),
    (f"{DEPLOY}/input/additionalProperties", GONE, f"{DEPLOY}/input/additionalProperties", "false"),
    (f"{DEPLOY}/input/$id", "https://x", f"{DEPLOY}/input/$id", "address"),
    (f"{DEPLOY}/input/properties/key", SECRET, f"{DEPLOY}/input/properties/key/format", "secret"),
    (
        f"{DEPLOY}/input/properties/front/x-widget",
        "wand",
        f"{DEPLOY}/input/properties/front/x-widget",
        "wand",
    ),
    (
        f"{DEPLOY}/input/properties/other",
        {"$ref": "https://elsewhere.example/schema"},
        f"{DEPLOY}/input/properties/other/$ref",
        "same schema",
    ),
    (
        f"{DEPLOY}/input/properties/other",
        {"$ref": "#/$defs/none"},
        f"{DEPLOY}/input/properties/other/$ref",
        "nothing",
    ),
    (f"{DEPLOY}/placement/0/pointer", "/nowhere", f"{DEPLOY}/placement/0/pointer", "no field"),
    (f"{DEPLOY}/placement/0/component", "ghost", f"{DEPLOY}/placement/0/component", "ghost"),
    (
        f"{DEPLOY}/placement/1/when/0/pointer",
        "/nowhere",
        f"{DEPLOY}/placement/1/when/0/pointer",
        "no field",
    ),
    ("/components/1/may_share_with", [], f"{DEPLOY}/placement/1", "share"),
    (f"{DEPLOY}/placement/2", GONE, f"{DEPLOY}/placement", "/workers picks allocations"),
]


@pytest.mark.parametrize(("pointer", "value", "where", "why"), REFUSED)
def test_one_fault_is_told_at_its_place(pointer: str, value: Any, where: str, why: str) -> None:
    manifest, problems = manifest_check(_broken(pointer, value))
    assert manifest is None
    assert any(one.pointer == where and why in one.message for one in problems), problems


@pytest.mark.parametrize("definitions", [LOOP, BOMB])
def test_a_form_without_end_or_measure_is_refused(definitions: dict[str, Any]) -> None:
    document = manifest_sample()
    schema = document["operations"][0]["input"]
    schema["$defs"] = definitions
    schema["properties"]["x"] = {"$ref": f"#/$defs/{next(iter(definitions))}"}
    assert [one.pointer for one in manifest_check(document)[1]] == [f"{DEPLOY}/input/$defs"]


def test_a_manifest_too_large_is_refused_before_it_is_read() -> None:
    document = {"summary": "x" * MANIFEST_MAX_BYTES}
    assert manifest_check(document)[1][0].pointer == "/"
    assert len(json.dumps(manifest_sample())) < MANIFEST_MAX_BYTES


def test_every_fault_is_told_at_once() -> None:
    document = _broken("/health/0/health", "failed")
    document["components"][1]["may_share_with"] = ["ghost"]
    assert {one.pointer for one in manifest_check(document)[1]} >= {
        "/health",
        "/components/1/may_share_with/0",
    }


@pytest.mark.parametrize("document", [None, 3, "x", [], {}, {"operations": 4}, {"panels": [[]]}])
def test_nonsense_is_refused_not_crashed_on(document: Any) -> None:
    manifest, problems = manifest_check(document)
    assert manifest is None
    assert problems


def test_seats_follow_the_input() -> None:
    manifest, _ = manifest_check(manifest_sample())
    assert manifest is not None
    rules = manifest.deploy.placement
    assert seats_of(rules, {"front": "alloc_1", "place": "same"}) == [
        Seat("front", "alloc_1", "/front"),
        Seat("worker", "alloc_1", "/front"),
    ]
    separate = {"front": "alloc_1", "place": "separate", "workers": ["alloc_2", "alloc_3"]}
    assert seats_of(rules, separate) == [
        Seat("front", "alloc_1", "/front"),
        Seat("worker", "alloc_2", "/workers/0"),
        Seat("worker", "alloc_3", "/workers/1"),
    ]
    assert sharing_refused(manifest, ["front", "worker"]) is None
    assert sharing_refused(manifest, ["front", "worker", "worker"]) == ("worker", "worker")


def test_the_topology_is_the_number_of_allocations() -> None:
    manifest, _ = manifest_check(manifest_sample())
    assert manifest is not None
    found = [topology_of(manifest, count) for count in (0, 1, 2, 99)]
    assert [one.key if one else None for one in found] == [None, "one", "many", "many"]


def test_validity_says_what_is_in_the_way() -> None:
    manifest, _ = manifest_check(manifest_sample())
    assert manifest is not None
    add, drain = manifest.operations[1], manifest.operations[2]
    assert invalid_in(add, InstanceStatus.RUNNING, "one") is None
    assert (invalid_in(add, InstanceStatus.STOPPED, "one") or ("",))[0] == "status"
    assert (invalid_in(drain, InstanceStatus.RUNNING, "one") or ("",))[0] == "topology"
    assert invalid_for_member(drain, "worker", MemberStatus.READY) is None
    assert (invalid_for_member(drain, "front", MemberStatus.READY) or ("",))[0] == "component"
    assert (invalid_for_member(drain, "worker", MemberStatus.FAILED) or ("",))[0] == (
        "member_status"
    )
