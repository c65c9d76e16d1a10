"""What the OpenAPI document says of every route at once, beside what each route says of itself.

Called by `app.py`. Ways to be known, the headers that every request may carry and every answer
has, the rooms. Changes the document only, never what is served.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from gpuaas_contract.common import (
    CORRELATION_HEADER,
    CORRELATION_PATTERN,
    CSRF_HEADER,
    IDEMPOTENCY_HEADER,
)
from gpuaas_contract.errors import MEDIA_TYPE
from gpuaas_contract.identity import LOOPBACK_SESSION_COOKIE, SESSION_COOKIE
from gpuaas_platform.kernel.call import TOKEN_SCHEME

SUMMARY: Final = "Run schedulers and other apps on machines you hold."
ROOMS: Final = [
    {"name": "identity", "description": "Tenants, projects, people, machines' accounts, roles."},
    {"name": "policy", "description": "What may be used where; overlays can only narrow."},
    {"name": "audit", "description": "Who did what to what, in a chain that shows tampering."},
    {"name": "events", "description": "What happened: lists, streams and webhooks."},
    {"name": "capacity", "description": "Regions, kinds of machines, nodes, allocations, quotas."},
    {"name": "custody", "description": "Certificates for machines, and secrets for readers."},
    {"name": "artifacts", "description": "What apps install: sources, trust, delivery."},
    {"name": "fleet", "description": "Enrolment of hosts, their agents, and tasks for machines."},
    {"name": "catalog", "description": "Apps, their versions, and who may use them."},
    {"name": "controllers", "description": "What an app's controller works through."},
    {"name": "apps", "description": "App instances, their members and operations."},
    {"name": "billing", "description": "What was used, and what it cost."},
    {"name": "operate", "description": "Timelines, health, metrics and the gap log."},
]
_SESSION_SCHEME: Final = "session"
_SCHEMES: Final = {
    _SESSION_SCHEME: {
        "type": "apiKey",
        "in": "cookie",
        "name": SESSION_COOKIE,
        "description": f"A browser's session (`{LOOPBACK_SESSION_COOKIE}` without TLS on loopback)."
        f" Changes also need the session's token in `{CSRF_HEADER}`.",
    },
}
_PARAMETERS: Final = {
    "CorrelationId": {
        "name": CORRELATION_HEADER,
        "in": "header",
        "required": False,
        "description": "Joins this request to a story; one that is missing or malformed is minted",
        "schema": {"type": "string", "pattern": CORRELATION_PATTERN},
    },
    "IdempotencyKey": {
        "name": IDEMPOTENCY_HEADER,
        "in": "header",
        "required": False,
        "description": "The same key with the same request gets the first answer again; where the"
        " answer holds a secret, a key has 16 characters or more",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"},
    },
    "IfMatch": {
        "name": "If-Match",
        "in": "header",
        "required": False,
        "description": "The `ETag` that was read: refused with 412 when it is no longer the latest",
        "schema": {"type": "string"},
        "example": '"3"',
    },
}
# What these set has no revision: it is not read back, or is set as a whole.
_UNVERSIONED: Final = frozenset(
    {"user_password_set", "tenant_quota_set", "project_quota_set", "artifact_part_put"}
)
_SCHEMAS: Final = "#/components/schemas/"
_PROBLEM: Final = {"$ref": f"{_SCHEMAS}Problem"}
_HEADERS: Final = {
    "CorrelationId": {
        "description": "The correlation id of this request, given or minted",
        "required": True,
        "schema": {"type": "string", "pattern": CORRELATION_PATTERN},
    },
}


def document_describe(document: dict[str, Any]) -> None:
    """Add what holds for all routes to a generated document, in place."""
    parts = document["components"]
    _schemas_rename(document)
    parts["securitySchemes"] = dict(parts.get("securitySchemes", {})) | _SCHEMES
    parts["parameters"], parts["headers"] = dict(_PARAMETERS), dict(_HEADERS)
    for method, operation in _operations(document):
        if operation.get("security") == [{TOKEN_SCHEME: []}]:
            operation["security"] = [{TOKEN_SCHEME: []}, {_SESSION_SCHEME: []}]
        names = ["CorrelationId"] if method == "get" else ["CorrelationId", "IdempotencyKey"]
        if method in {"patch", "put"} and operation["operationId"] not in _UNVERSIONED:
            names.append("IfMatch")
        shared = [{"$ref": f"#/components/parameters/{name}"} for name in names]
        operation["parameters"] = [*operation.get("parameters", []), *shared]
        operation["responses"]["default"]["content"] = {MEDIA_TYPE: {"schema": _PROBLEM}}
        for response in operation["responses"].values():
            header = {"$ref": "#/components/headers/CorrelationId"}
            response["headers"] = {**response.get("headers", {}), CORRELATION_HEADER: header}


def _schemas_rename(document: dict[str, Any]) -> None:
    """Give a generic model the name of its class (`NodePage`), not a mangled one."""
    schemas = document["components"]["schemas"]
    names = {key: said["title"] for key, said in schemas.items() if key.endswith("_")}
    renamed = {names.get(key, key): said for key, said in schemas.items()}
    document["components"]["schemas"] = dict(sorted(renamed.items()))
    _references_follow(
        document, {f"{_SCHEMAS}{key}": f"{_SCHEMAS}{to}" for key, to in names.items()}
    )


def _references_follow(node: Any, moved: Mapping[str, str]) -> None:  # noqa: ANN401 - any JSON
    if isinstance(node, list):
        for item in node:
            _references_follow(item, moved)
    elif isinstance(node, dict):
        if node.get("$ref") in moved:
            node["$ref"] = moved[node["$ref"]]
        for item in node.values():
            _references_follow(item, moved)


def _operations(document: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for item in document["paths"].values():
        yield from item.items()
