"""A small manifest that holds together, for tests that break one thing at a time."""

from typing import Any


def manifest_sample() -> dict[str, Any]:
    """A web service with a front and workers; every call gives a copy of its own."""
    return {
        "manifest_version": 1,
        "runtime_backend": "systemd",
        "operating_modes": ["tenant_dedicated"],
        "control_plane_scopes": ["project"],
        "machine_access": ["certificate"],
        "components": [
            {"key": "front", "title": "Front", "min_members": 1, "max_members": 1},
            {"key": "worker", "title": "Worker", "may_share_with": ["front"]},
        ],
        "topologies": [
            {"key": "one", "title": "One", "min_allocations": 1, "max_allocations": 1},
            {"key": "many", "title": "Many", "min_allocations": 2},
        ],
        "operations": [_deploy(), _add(), _drain(), _delete()],
        "health": [{"word": "fine", "health": "healthy"}],
        "lifecycle": {"delete": {"destroys": "All of it.", "verifies_absence": True}},
        "actions": [{"operation": "add_worker", "place": "members", "label": "Add"}],
        "panels": [
            {
                "kind": "facts",
                "key": "facts",
                "title": "Facts",
                "items": [{"label": "Version", "pointer": "/runtime_version"}],
            }
        ],
        "runbook_url": "https://docs.example.com/runbook",
    }


def _deploy() -> dict[str, Any]:
    return {
        "kind": "deploy",
        "title": "Deploy",
        "purpose": "deploy",
        "target": "instance",
        "input": {
            "type": "object",
            "additionalProperties": False,
            "required": ["front"],
            "properties": {
                "front": {"type": "string", "x-widget": "allocation_picker"},
                "place": {"enum": ["same", "separate"], "default": "same"},
                "workers": {
                    "type": "array",
                    "items": {"type": "string"},
                    "x-widget": "allocation_picker",
                },
                "settings": {
                    "type": "object",
                    "additionalProperties": False,
                    "default": {},
                    "properties": {"port": {"type": "integer", "maximum": 65535, "default": 80}},
                },
            },
        },
        "placement": [
            {"pointer": "/front", "component": "front"},
            {
                "pointer": "/front",
                "component": "worker",
                "when": [{"pointer": "/place", "equals": "same"}],
            },
            {
                "pointer": "/workers",
                "component": "worker",
                "when": [{"pointer": "/place", "equals": "separate"}],
            },
        ],
    }


def _add() -> dict[str, Any]:
    return {
        "kind": "add_worker",
        "title": "Add workers",
        "purpose": "member_add",
        "target": "group",
        "group": {"max_members": 10, "max_parallel": 2},
        "valid_in": {"instance_states": ["running"], "components": ["worker"]},
        "input": {
            "type": "object",
            "additionalProperties": False,
            "required": ["allocations"],
            "properties": {
                "allocations": {
                    "type": "array",
                    "items": {"type": "string"},
                    "x-widget": "allocation_picker",
                }
            },
        },
        "placement": [{"pointer": "/allocations", "component": "worker"}],
        "steps": [{"name": "join", "title": "Join", "deadline_seconds": 60}],
    }


def _drain() -> dict[str, Any]:
    return {
        "kind": "drain_worker",
        "title": "Drain",
        "purpose": "member_drain",
        "target": "member",
        "valid_in": {"member_states": ["ready"], "topologies": ["many"], "components": ["worker"]},
    }


def _delete() -> dict[str, Any]:
    return {
        "kind": "decommission",
        "title": "Decommission",
        "purpose": "delete",
        "target": "instance",
        "destructive": True,
        "confirmation": {"title": "Sure?", "text": "All of it goes."},
    }
