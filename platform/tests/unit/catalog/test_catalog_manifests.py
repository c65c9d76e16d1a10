"""Whatever stands in a manifest is told or taken, never crashed on; also a scheduler fits in."""

import copy
from collections.abc import Iterator
from typing import Any

from catalog_fixtures import template_manifest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuaas_contract.manifest import Manifest, Purpose
from gpuaas_contract.manifest_read import seats_of
from gpuaas_contract.permissions import Permission
from gpuaas_platform.catalog.manifests import manifest_problems

WHOLE = template_manifest()
Path = tuple[str | int, ...]


def _paths(node: Any, path: Path = ()) -> Iterator[Path]:
    if path:
        yield path
    if isinstance(node, dict):
        for name, child in node.items():
            yield from _paths(child, (*path, name))
    elif isinstance(node, list):
        for index, child in enumerate(node):
            yield from _paths(child, (*path, index))


def _with(path: Path, value: Any) -> dict[str, Any]:
    document = copy.deepcopy(WHOLE)
    node: Any = document
    for part in path[:-1]:
        node = node[part]
    node[path[-1]] = value
    return document


nonsense = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=8) | st.just("$ref"), inner)
    ),
    max_leaves=4,
)


@settings(max_examples=300)
@given(st.sampled_from(list(_paths(WHOLE))), nonsense)
def test_nonsense_anywhere_is_told_or_taken(path: Path, value: Any) -> None:
    manifest, problems = manifest_problems(_with(path, value))
    assert (manifest is None) == bool(problems)
    assert all(one.pointer == "/" or one.pointer.startswith("/") for one in problems)


SCHEDULER: dict[str, Any] = {
    "control_plane_scopes": ["project", "tenant"],
    "machine_access": ["certificate", "credential", "agent"],
    "permissions": {
        "read": ["scheduler.instance.read"],
        "operator": ["scheduler.instance.update", "scheduler.node.operate"],
    },
    "queue": {
        "resources": ["nodes", "cpus", "gpus", "memory", "time"],
        "submit": ["scheduler.queue.submit"],
        "read": ["scheduler.queue.read"],
        "cancel": ["scheduler.queue.cancel"],
    },
    "shared_runtime": {
        "deploy": {
            "title": "Deploy a shared control plane",
            "input": {
                "type": "object",
                "additionalProperties": False,
                "required": ["control"],
                "properties": {
                    "control": {"type": "string", "x-widget": "allocation_picker"},
                    "projects": {
                        "type": "array",
                        "items": {"type": "string"},
                        "x-widget": "project_picker",
                    },
                },
            },
            "placement": [{"pointer": "/control", "component": "gateway"}],
        },
        "attach": {"title": "Join"},
        "contribute": {
            "title": "Lend workers",
            "input": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "workers": {
                        "type": "array",
                        "items": {"type": "string"},
                        "x-widget": "allocation_picker",
                    }
                },
            },
            "placement": [{"pointer": "/workers", "component": "server"}],
        },
        "submission_policy": {"title": "Who may submit where"},
        "billing": "The tenant pays the control plane, a project the workers it lends.",
    },
    "billing_units": [{"source": "job", "unit": "job_hour"}],
}


def test_an_app_that_runs_jobs_for_many_projects_can_be_described() -> None:
    document = template_manifest() | SCHEDULER
    document["operations"][0]["permissions"] = ["scheduler.instance.create"]
    document["operations"].append(
        {
            "kind": "replace_server",
            "title": "Replace",
            "purpose": "member_replace",
            "target": "member",
            "valid_in": {"components": ["server"]},
            "input": {
                "type": "object",
                "additionalProperties": False,
                "required": ["allocation_id"],
                "properties": {
                    "allocation_id": {"type": "string", "x-widget": "allocation_picker"},
                    "jobs": {"enum": ["wait", "requeue", "cancel"], "default": "wait"},
                },
            },
            "placement": [{"pointer": "/allocation_id", "component": "server"}],
            "permissions": ["scheduler.node.operate"],
        }
    )
    document["panels"].append({"kind": "queue", "key": "jobs", "title": "Jobs"})
    manifest, problems = manifest_problems(document)
    assert problems == []
    assert isinstance(manifest, Manifest)
    assert manifest.deploy.permissions == (Permission.SCHEDULER_INSTANCE_CREATE,)
    replace = manifest.purpose(Purpose.MEMBER_REPLACE)
    assert replace is not None
    assert [seat.component for seat in seats_of(replace.placement, {"allocation_id": "a"})] == [
        "server"
    ]
    shared = manifest.shared_runtime
    assert shared is not None
    assert shared.contribute is not None
