"""Requests that refer to things by id in their body or query, of which some are not to be seen.

`test_api_denied.py` sends each with the id of a hidden thing and with one that nothing has; the
answers must read the same. A new field that names another thing needs a line here.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from api_routes import Route
from custody_fixtures import USER_KEY

_OWN_SCOPE = "own_scope"


@dataclass(frozen=True)
class Reference:
    """A field of a body that names something: who sends it, in what, and what is hidden."""

    by: str
    hidden: str
    body: Callable[[str, Mapping[str, Any]], dict[str, Any]]


_CONTROLLER = {"replica": "echo-0", "version": "0.9.1"}

BODIES: Final[dict[tuple[str, str], Reference]] = {
    ("service_account_key_create", "predecessor_id"): Reference(
        "stranger", "key_id", lambda ref, _: {"predecessor_id": ref}
    ),
    ("role_binding_create", "principal_id"): Reference(
        "stranger",
        "user_id",
        lambda ref, own: {
            "principal_id": ref, "role": "project_viewer", "scope": own[_OWN_SCOPE],
        },
    ),
    ("authorization_explain", "principal_id"): Reference(
        "stranger",
        "account_id",
        lambda ref, own: {
            "principal_id": ref, "permission": "apps.instance.read", "scope": own[_OWN_SCOPE],
        },
    ),
    ("group_mapping_create", "provider_id"): Reference(
        "stranger",
        "provider_id",
        lambda ref, own: {
            "group": "g", "role": "project_viewer", "scope": own[_OWN_SCOPE], "provider_id": ref,
        },
    ),
    ("session_create", "user_id"): Reference(
        "stranger",
        "user_id",
        lambda ref, _: {"email": "who@example.org", "password": "a guess at it", "user_id": ref},
    ),
    ("passkey_challenge_create", "user_id"): Reference(
        "stranger",
        "user_id",
        lambda ref, _: {"email": "who@example.org", "password": "a guess at it", "user_id": ref},
    ),
    ("personal_token_create", "scope"): Reference(
        "stranger in a session",
        "project_id",
        lambda ref, _: {"name": "x", "scope": {"kind": "project", "project_id": ref}},
    ),
    ("operation_claim", "instance_id"): Reference(
        "stranger",
        "instance_id",
        lambda ref, _: {"app_slug": "echo", "controller": _CONTROLLER, "instance_id": ref},
    ),
    ("operation_create", "member_ids"): Reference(
        "lead", "next_door_member_id", lambda ref, _: {"kind": "hush", "member_ids": [ref]}
    ),
    ("operation_preview", "member_ids"): Reference(
        "lead", "next_door_member_id", lambda ref, _: {"kind": "hush", "member_ids": [ref]}
    ),
    ("app_instance_create", "settings"): Reference(
        "lead",
        "next_door_allocation_id",
        lambda ref, _: {"app_slug": "echo", "name": "third", "settings": {"hub": ref}},
    ),
    ("allocation_create", "node_id"): Reference(
        "stranger",
        "node_id",
        lambda ref, _: {"name": "mine", "sku": "small", "region": "north", "node_id": ref},
    ),
    ("access_grants_create", "allocation_ids"): Reference(
        "stranger",
        "allocation_id",
        lambda ref, _: {"public_key": USER_KEY, "allocation_ids": [ref]},
    ),
    ("agent_token_create", "node_id"): Reference(
        "stranger",
        "agent_node_id",
        lambda ref, _: {"node_id": ref, "challenge": "A" * 80, "signature": "none"},
    ),
    ("artifact_delivery_create", "artifact_id"): Reference(
        "lead", "yak_artifact_id", lambda ref, _: {"artifact_id": ref}
    ),
    ("gap_create", "org_id"): Reference(
        "stranger",
        "org_id",
        lambda ref, _: {"category": "app_problem", "title": "Odd", "org_id": ref},
    ),
}  # fmt: skip

# Named by the case of the route itself, which is sent with hidden and unknown ids as well.
IN_CASES: Final = {
    ("group_mapping_create", "scope"),
    ("role_binding_create", "scope"),
    ("authorization_explain", "scope"),
    ("operation_claim", "project_id"),
    ("gap_create", "project_id"),
}
NO_REFERENCE: Final = {
    ("tenant_create", "admin_user_id"): "for the platform's administrators, who see everybody",
    ("break_glass_open", "org_id"): "for the platform's administrators, who see every tenant",
    ("app_instance_create", "control_plane_scope"): "a word, not a thing",
    ("agent_poll", "boot_id"): "the kernel's name for a boot, known to its machine alone",
    ("identity_provider_create", "client_id"): "the provider's name for the platform",
    ("identity_provider_update", "client_id"): "the provider's name for the platform",
    ("pending_sign_in_complete", "user_id"): "one of those just offered to this browser",
    ("enrolment_create", "node_id"): "for the platform's operators, who see every node",
}

# What a query parameter of this name refers to, by its key in the scenario.
FILTERS: Final = {
    "org_id": "org_id",
    "project_id": "project_id",
    "allocation_id": "allocation_id",
    "principal_id": "user_id",
    "actor_id": "user_id",
    "target_id": "gap_id",
    "app_instance_id": "instance_id",
    "correlation_id": "correlation_id",
    "member_id": "member_id",
    "group_id": "group_id",
    "source_id": "source_id",
    "artifact_id": "artifact_id",
    "node_id": "node_id",
}


def body_fields(routes: list[Route], schemas: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every field of a body that by its name refers to something."""
    for route in routes:
        content = route.spec.get("requestBody", {}).get("content", {})
        name = content.get("application/json", {}).get("schema", {}).get("$ref", "/")
        for field in schemas.get(name.rsplit("/", 1)[1], {}).get("properties", {}):
            if field.endswith(("_id", "_ids", "scope")):
                yield route.operation_id, field


def query_fields(routes: list[Route]) -> Iterator[tuple[Route, str]]:
    """Every query parameter that by its name refers to something."""
    for route in routes:
        for parameter in route.spec["parameters"]:
            if parameter.get("in") == "query" and parameter["name"].endswith("_id"):
                yield route, parameter["name"]
