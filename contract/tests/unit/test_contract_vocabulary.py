"""Permission keys, roles and error codes: complete, well formed, least privilege by default."""

import re

from gpuaas_contract.errors import KINDS, ErrorCode
from gpuaas_contract.permissions import ROLES, Permission, RoleName

FOUNDING_KEYS = {
    "scheduler.catalog.read",
    "scheduler.instance.read",
    "scheduler.instance.create",
    "scheduler.instance.update",
    "scheduler.instance.delete",
    "scheduler.queue.submit",
    "scheduler.queue.read",
    "scheduler.queue.cancel",
    "scheduler.node.read",
    "scheduler.node.operate",
}


def test_founding_keys_exist() -> None:
    assert set(Permission) >= FOUNDING_KEYS


def test_keys_are_room_noun_verb() -> None:
    assert all(re.fullmatch(r"[a-z]+\.[a-z_]+\.[a-z]+", key) for key in Permission)


def test_every_role_has_its_bundle() -> None:
    assert set(ROLES) == set(RoleName)


def test_roles_grow_along_responsibility() -> None:
    assert ROLES[RoleName.PROJECT_VIEWER] < ROLES[RoleName.PROJECT_MEMBER]
    assert ROLES[RoleName.PROJECT_MEMBER] < ROLES[RoleName.PROJECT_ADMIN]
    assert ROLES[RoleName.PROJECT_ADMIN] < ROLES[RoleName.TENANT_ADMIN]


def test_viewer_and_auditor_change_nothing() -> None:
    reading = {"read", "export", "verify", "explain"}
    for role in (RoleName.PROJECT_VIEWER, RoleName.AUDITOR):
        assert {key.rsplit(".", 1)[1] for key in ROLES[role]} <= reading


def test_operator_of_an_app_manages_no_people_and_no_policy() -> None:
    keys = ROLES[RoleName.APP_OPERATOR]
    assert not {k for k in keys if k.startswith("identity.") and not k.endswith(".read")}
    assert Permission.POLICY_WRITE not in keys
    assert Permission.INSTANCE_DELETE not in keys


def test_every_error_code_has_its_kind() -> None:
    assert set(KINDS) == set(ErrorCode)
    assert all(400 <= kind.status <= 599 for kind in KINDS.values())


def test_only_what_can_heal_is_retryable() -> None:
    for code, kind in KINDS.items():
        if kind.status in {400, 401, 403, 404, 405, 412, 413, 415, 422}:
            assert not kind.retryable, code
        if kind.status >= 500:
            assert kind.retryable, code
