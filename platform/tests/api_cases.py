"""A valid request for every route, by operation id, and where the thing it concerns is at home.

`test_api_denied.py` asks each with every wrong identity, `test_api_fuzz.py` starts from them. A new
route needs a line here: whose it is (`At`), a body where it takes one. Path parameters are filled
in by name from `Scenario.params`; a new parameter needs an existing thing made in
`api_scenario.py`.
"""

from typing import Any, Final

from api_case import At, Body, Case, Params
from api_cases_artifacts import ARTIFACT_CASES
from api_cases_credentials import CREDENTIAL_CASES
from api_scenario import CLOSED_PORT
from apps_fixtures import echo_manifest
from custody_fixtures import USER_KEY, private_key_make
from identity_fixtures import ADMIN, PASSWORD


def _same(value: dict[str, Any]) -> Body:
    return lambda _: value


def _scope(params: Params) -> dict[str, Any]:
    return {"kind": "project", "org_id": params["org_id"], "project_id": params["project_id"]}


def _leased(**more: Any) -> Case:
    """By the service account that holds the operation's lease."""
    return Case(At.PROJECT, lambda p: {"lease_token": p["lease_token"], **more}, by="robot")


_OWN = Case(At.OWN)
_COMMON = Case(At.COMMON)
_PLATFORM = Case(At.PLATFORM, by="root")
_TENANT = Case(At.TENANT)
_PROJECT = Case(At.PROJECT)
_REACH = Case(At.REACH)
_RULES = {"regions": {"deny": ["mars"]}}
_CONTROLLER = {"replica": "echo-0", "version": "0.9.1"}
_LABEL = _same({"display_name": "Renamed"})
_OVERLAY = _same({"name": "more", "rules": _RULES})
_HOOK = _same({"url": CLOSED_PORT})
_VERSION = {"version": "3.0.0", "manifest": echo_manifest()}
_DRAFT = {"version": "draft"}
_SKU = {"name": "large", "display_name": "Large", "cpus": 64, "memory_mib": 65536}
_HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ"
_NEW_HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIK"
_NODE = {"name": "extra", "region": "north", "sku": "small", "address": "extra.lab"}


def _open(why: str, body: Body | None = None) -> Case:
    return Case(At.OPEN, body, why=why)


def _platform(body: dict[str, Any] | None = None) -> Case:
    return Case(At.PLATFORM, None if body is None else _same(body), by="root")


def _tenant(body: Body, by: str = "boss") -> Case:
    return Case(At.TENANT, body, by=by)


def _project(body: Body | None = None, *, reads: bool = False) -> Case:
    return Case(At.PROJECT, body, reads=reads)


_IDENTITY: Final[dict[str, Case]] = {
    "session_create": _open(
        "signing in is how one becomes known", _same({"email": ADMIN, "password": PASSWORD})
    ),
    "token_create": _open(
        "a key is exchanged by whoever holds it", lambda p: {"key": p["key_secret"]}
    ),
    "auth_methods_read": _open("the sign-in page shows it"),
    "oidc_start": _open("the way to the identity provider"),
    "oidc_callback": _open("the way back; the provider's answer is checked"),
    "oidc_provider_callback": _open("the way back from a tenant's provider; it is checked"),
    "pending_sign_in_read": _open("the browser's cookie shows what waits for it"),
    "pending_sign_in_complete": _open(
        "the browser's cookie shows what waits for it", _same({"user_id": "user_x"})
    ),
    "identity_provider_create": _tenant(
        _same({"name": "More", "issuer": "https://localhost:9", "client_id": "gpuaas"})
    ),
    "identity_provider_list": _TENANT,
    "identity_provider_read": _TENANT,
    "identity_provider_update": _tenant(_same({"name": "Renamed"})),
    "identity_provider_check": _TENANT,
    "identity_provider_delete": _TENANT,
    "tenant_domain_create": _tenant(_same({"domain": "more.example"})),
    "tenant_domain_list": _TENANT,
    "tenant_domain_verify": _TENANT,
    "tenant_domain_approve": Case(
        At.PLATFORM, _same({"reason": "The contract names this domain."}), by="root"
    ),
    "tenant_domain_delete": _TENANT,
    "device_sign_in_create": _open("a terminal asks to be let in", _same({"name": "laptop"})),
    "device_sign_in_redeem": _open(
        "a terminal becomes known by it", lambda p: {"secret": p["device_secret"]}
    ),
    "device_sign_in_read": Case(At.OWN, why="only within a session"),
    "device_sign_in_decide": Case(At.OWN, _same({"approve": True}), why="only within a session"),
    "session_list": _OWN,
    "session_end": _OWN,
    "whoami_read": _OWN,
    "personal_token_create": Case(At.OWN, _same({"name": "x"}), why="only within a session"),
    "personal_token_list": _OWN,
    "personal_token_revoke": _OWN,
    "group_mapping_create": _project(
        lambda p: {"group": "g", "role": "project_viewer", "scope": _scope(p)}
    ),
    "group_mapping_list": _REACH,
    "group_mapping_delete": _project(),
    "tenant_create": _platform({"name": "newcomer"}),
    "tenant_list": _REACH,
    "tenant_read": _TENANT,
    "tenant_update": _tenant(_LABEL),
    "project_create": _tenant(_same({"name": "more"})),
    "tenant_project_list": _TENANT,
    "project_list": _REACH,
    "project_read": _PROJECT,
    "project_update": _project(_LABEL),
    "person_list": _PROJECT,
    "user_create": _platform({"email": "new@example.org"}),
    "user_list": _REACH,
    "tenant_user_create": _tenant(_same({"email": "newer@example.org"})),
    "user_read": _TENANT,
    "user_update": _tenant(_LABEL),
    "user_password_set": _tenant(_same({"password": "another horse battery"})),
    "service_account_create": _project(_same({"name": "helper"})),
    "service_account_list": _PROJECT,
    "service_account_read": _PROJECT,
    "service_account_update": _project(_LABEL),
    "service_account_public_key_set": _project(_same({"public_key": "r" * 42 + "A="})),
    "service_account_key_create": _project(_same({"name": "more"})),
    "service_account_key_list": _PROJECT,
    "service_account_key_revoke": _PROJECT,
    "permission_list": _COMMON,
    "role_list": _REACH,
    "role_create": _tenant(_same({"name": "readers", "permissions": ["operate.gap.read"]})),
    "role_read": _TENANT,
    "role_update": _tenant(_same({"description": "Takes notes"})),
    "role_delete": _TENANT,
    "role_binding_create": _project(
        lambda p: {
            "principal_id": p["user_id"],
            "role": "project_viewer",
            "scope": _scope(p),
        }
    ),
    "role_binding_list": _REACH,
    "role_binding_read": _PROJECT,
    "role_binding_delete": _PROJECT,
    "authorization_explain": _project(
        lambda p: {
            "principal_id": p["user_id"],
            "permission": "apps.instance.read",
            "scope": _scope(p),
        },
        reads=True,
    ),
    "break_glass_open": Case(
        At.PLATFORM,
        lambda p: {"org_id": p["org_id"], "reason": "A look at what is wrong there."},
        by="root",
        why="a person's session",
    ),
    "break_glass_list": _PLATFORM,
    "break_glass_close": Case(At.TENANT, by="root", params={"binding_id": "glass_id"}),
}

_POLICY_AUDIT_EVENTS: Final[dict[str, Case]] = {
    "platform_overlay_create": _platform({"name": "more", "rules": _RULES}),
    "platform_overlay_list": _PLATFORM,
    "tenant_overlay_create": _tenant(_OVERLAY),
    "tenant_overlay_list": _TENANT,
    "tenant_effective_policy_read": _TENANT,
    "project_overlay_create": _project(_OVERLAY),
    "project_overlay_list": _PROJECT,
    "project_effective_policy_read": _PROJECT,
    "overlay_read": _PROJECT,
    "overlay_update": _project(_same({"rules": _RULES})),
    "overlay_delete": _PROJECT,
    "audit_list": _REACH,
    "audit_export": _REACH,
    "audit_head_read": _REACH,
    "audit_verification_read": _PLATFORM,
    "event_list": _REACH,
    "event_stream": Case(At.REACH, query={"after": "0"}),
    "project_webhook_create": _project(_HOOK),
    "project_webhook_list": _PROJECT,
    "tenant_webhook_create": _tenant(_HOOK),
    "tenant_webhook_list": _TENANT,
    "webhook_read": _PROJECT,
    "webhook_update": _project(_same({"description": "quagga again"})),
    "webhook_delete": _PROJECT,
    "webhook_rotate": _PROJECT,
    "webhook_delivery_list": _PROJECT,
    "webhook_redeliver": _PROJECT,
    "webhook_delivery_redeliver": _PROJECT,
}

_CAPACITY_CATALOG: Final[dict[str, Case]] = {
    "region_create": _platform({"name": "south", "display_name": "South"}),
    "region_list": _COMMON,
    "region_cleaning_read": Case(At.PLATFORM, by="root", params={"name": "region_name"}),
    "region_cleaning_set": Case(
        At.PLATFORM, _same({"method": "attested"}), by="root", params={"name": "region_name"}
    ),
    "sku_create": _platform({**_SKU, "price_per_hour": "4.5"}),
    "sku_list": _COMMON,
    "sku_update": _platform({"price_per_hour": "0.75"}),
    "node_create": _platform({**_NODE, "host_keys": [_HOST_KEY]}),
    "node_list": _PLATFORM,
    "node_read": _PLATFORM,
    "node_update": _platform({"status": "cordoned"}),
    "node_clean": _platform({"reason": "Sold."}),
    "allocation_create": _project(_same({"name": "more", "sku": "small", "region": "north"})),
    "allocation_list": _REACH,
    "allocation_read": _PROJECT,
    "allocation_release": _PROJECT,
    "tenant_quota_set": _tenant(_same({"limit": 90}), by="root"),
    "tenant_quota_list": _TENANT,
    "project_quota_set": _project(_same({"limit": 40})),
    "project_quota_list": _PROJECT,
    "app_create": _platform({"slug": "other", "display_name": "Other", "publisher": "Tests"}),
    "app_list": _REACH,
    "app_read": Case(At.TENANT, why="an app is seen by the tenants that are entitled to it"),
    "app_update": _platform({"description": "Repeats."}),
    "manifest_validate": Case(At.COMMON, _same({"manifest": echo_manifest()}), reads=True),
    "app_version_create": _platform(_VERSION),
    "app_version_list": _TENANT,
    "app_version_read": _TENANT,
    "app_version_publish": Case(At.PLATFORM, by="root", params=_DRAFT),
    "app_version_deprecate": Case(
        At.PLATFORM, _same({"message": "Take a newer one."}), by="root", params=_DRAFT
    ),
    "app_version_withdraw": Case(
        At.PLATFORM, _same({"reason": "It is broken."}), by="root", params=_DRAFT
    ),
    "tenant_entitlement_create": _tenant(_same({"app_slug": "echo"}), by="root"),
    "tenant_entitlement_list": _TENANT,
    "project_entitlement_create": _project(_same({"app_slug": "echo"})),
    "project_entitlement_list": _PROJECT,
    "entitlement_read": _PROJECT,
    "entitlement_update": _project(_same({"versions": ["1.*"]})),
    "entitlement_delete": _PROJECT,
    "project_app_list": _PROJECT,
    "project_app_read": _PROJECT,
    "project_app_form_read": _PROJECT,
    "project_app_input_validate": _project(
        lambda p: {"input": {"hub": p["allocation_4"]}}, reads=True
    ),
}

_CUSTODY: Final[dict[str, Case]] = {
    "ssh_ca_read": _open("hosts fetch the public keys they trust"),
    "ssh_krl_read": _open("hosts fetch what is revoked: numbers, nothing else"),
    "ssh_ca_rotate": _platform({"reason": "A year has passed."}),
    "access_grant_create": _project(_same({"public_key": USER_KEY})),
    "access_grants_create": _project(
        lambda p: {"public_key": USER_KEY, "allocation_ids": [p["allocation_id"]]}
    ),
    "access_grant_list": _REACH,
    "access_grant_read": _PROJECT,
    "access_grant_revoke": _project(_same({"reason": "Lost."})),
    "access_credential_create": _project(
        _same({"name": "more", "username": "root", "private_key": private_key_make()})
    ),
    "access_credential_list": _REACH,
    "access_credential_read": _PROJECT,
    "access_credential_rotate": _project(_same({"private_key": private_key_make()})),
    "access_credential_revoke": _project(_same({"reason": "Lost."})),
    "access_credential_deliver": Case(At.PROJECT, by="robot"),
    "runtime_secret_create": _project(_same({"name": "more", "random": {}})),
    "runtime_secret_list": _REACH,
    "runtime_secret_read": _PROJECT,
    "runtime_secret_rotate": _project(_same({"random": {}})),
    "runtime_secret_revoke": _project(_same({"reason": "Lost."})),
    "runtime_secret_deliver": Case(At.PROJECT, _same({"task": "more"}), by="robot"),
}

_AGENT_NODE = {"node_id": "agent_node_id"}
_AGENT_KEYS = {
    "identity_key": USER_KEY.removesuffix(" me@laptop"),
    "sealing_key": "q" * 42 + "A=",
}
_AGENT_POLL = {"agent_version": "0.1.0"}


def _agent(body: dict[str, Any] | None = None) -> Case:
    """By the agent of a node; nobody else is heard."""
    return Case(At.PLATFORM, None if body is None else _same(body), by="node")


_FLEET: Final[dict[str, Case]] = {
    "enrolment_create": _platform(
        {"node": {"name": "more", "region": "north", "sku": "small", "address": "more.lab"}}
    ),
    "enrolment_list": _PLATFORM,
    "enrolment_read": _PLATFORM,
    "enrolment_revoke": _platform({"reason": "Not needed."}),
    "node_agent_read": Case(At.PLATFORM, by="root", params=_AGENT_NODE),
    "node_access_read": Case(At.PLATFORM, by="root", params=_AGENT_NODE),
    "node_facts_read": Case(At.PLATFORM, by="root", params=_AGENT_NODE),
    "node_unenrol": Case(
        At.PLATFORM, _same({"reason": "It moves."}), by="root", params=_AGENT_NODE
    ),
    "cleaning_list": _PLATFORM,
    "cleaning_read": _PLATFORM,
    "cleaning_confirm": _platform({"reason": "Installed anew.", "host_keys": [_NEW_HOST_KEY]}),
    "cleaning_retry": _platform({"reason": "Once more."}),
    "cleaning_retire": _platform({"reason": "It is broken."}),
    "node_task_create": Case(
        At.PROJECT,
        _same({"spec": {"kind": "run_script", "script": "true"}}),
        params={"allocation_id": "allocation_0"},
    ),
    "node_task_list": _REACH,
    "node_task_read": _PROJECT,
    "node_task_output_read": _PROJECT,
    "node_task_cancel": _project(_same({"reason": "Not needed."})),
    "agent_file_read": _open("a host without anything fetches its agent"),
    "agent_ca_read": _open("a host fetches whom to trust; the digest is in its command"),
    "agent_enrol": _open(
        "a host becomes known by its token",
        _same(
            {"token": "gpe_" + "x" * 43, "agent_version": "0.1.0", "host_keys": [_HOST_KEY]}
            | {"facts": {}}
            | _AGENT_KEYS
        ),
    ),
    "agent_challenge_create": _open("an agent becomes known by signing one"),
    "agent_token_create": _open(
        "an agent becomes known by signing a challenge",
        lambda p: {
            "node_id": p["agent_node_id"], "challenge": "A" * 80, "signature": "none",
        },
    ),
    "agent_identity_rotate": _agent(_AGENT_KEYS),
    "agent_poll": _agent(_AGENT_POLL),
    "agent_facts_report": _agent({"facts": {"format": 1}}),
    "agent_task_start": _agent(),
    "agent_task_output": _agent({"offset": 0, "data": "aGVsbG8="}),
    "agent_task_secret": _agent(),
    "agent_task_artifact": _agent(),
    "agent_task_end": _agent({"status": "succeeded", "code": "ok"}),
    "agent_leaving": _agent({"reason": "It moves."}),
    "agent_left": _agent({}),
}  # fmt: skip

_APPS_OPERATE: Final[dict[str, Case]] = {
    "operation_claim": _project(
        lambda p: {
            "app_slug": "echo",
            "controller": _CONTROLLER,
            "project_id": p["project_id"],
        }
    ),
    "operation_heartbeat": _leased(),
    "operation_report": _leased(),
    "operation_complete": _leased(),
    "operation_fail": _leased(code="hoarse", message="No voice.", family="temporary"),
    "operation_stopped": _leased(),
    "operation_release": _leased(),
    "app_instance_observe": _project(_same({"controller": _CONTROLLER})),
    "app_instance_report": Case(
        At.PROJECT, lambda p: {"lease_token": p["observer_token"]}, by="robot"
    ),
    "telemetry_send": Case(
        At.PROJECT,
        lambda p: {
            "batch": "0123456789abcdef",
            "replica": "echo-0",
            "sent_at": "2026-01-01T00:00:00Z",
            "lines": [
                {
                    "app_instance_id": p["instance_id"],
                    "correlation_id": "anything",
                    "at": "2026-01-01T00:00:00Z",
                    "level": "info",
                    "message": "It was so already.",
                }
            ],
        },
        by="robot",
    ),
    "app_instance_create": _project(
        lambda p: {
            "app_slug": "echo",
            "name": "second",
            "settings": {"hub": p["allocation_4"]},
        }
    ),
    "app_instance_list": _PROJECT,
    "app_instance_list_all": _REACH,
    "app_instance_read": _PROJECT,
    "app_instance_update": _project(_LABEL),
    "app_instance_delete": _PROJECT,
    "app_instance_reconcile": _PROJECT,
    "app_member_list": _PROJECT,
    "app_member_read": _PROJECT,
    "operation_create": _project(_same({"kind": "say"})),
    "operation_list": _PROJECT,
    "operation_preview": _project(_same({"kind": "say"}), reads=True),
    "project_operation_list": _PROJECT,
    "operation_list_all": _REACH,
    "operation_read": _PROJECT,
    "operation_group_read": _PROJECT,
    "operation_cancel": _PROJECT,
    "operation_retry": _PROJECT,
    "operation_abandon": _project(_same({"reason": "It will never come back."})),
    "controller_list": _PROJECT,
    "usage_instance": _PROJECT,
    "usage_project": _PROJECT,
    "usage_project_summary": _PROJECT,
    "usage_tenant": _TENANT,
    "usage_tenant_summary": _TENANT,
    "health_live": _open("an orchestrator asks whether the process runs"),
    "health_ready": _open("a load balancer asks whether to send requests"),
    "version_read": _open("clients choose how to speak by it"),
    "platform_health_read": _PLATFORM,
    "metrics_read": _PLATFORM,
    "correlation_read": _PROJECT,
    "names_read": Case(At.REACH, query={"id": "user_of_nobody"}),
    "gap_create": _project(
        lambda p: {"category": "app_problem", "title": "Odd", "project_id": p["project_id"]}
    ),
    "gap_list": _REACH,
    "gap_read": _PROJECT,
    "gap_update": _project(_same({"status": "closed"})),
}

CASES: Final = (
    _IDENTITY
    | _POLICY_AUDIT_EVENTS
    | _CAPACITY_CATALOG
    | _CUSTODY
    | ARTIFACT_CASES
    | CREDENTIAL_CASES
    | _FLEET
    | _APPS_OPERATE
)
