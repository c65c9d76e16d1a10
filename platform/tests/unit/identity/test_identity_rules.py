"""From bindings to grants: what reaches where, what narrows, and who may hand out what."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuaas_contract.permission_texts import PERMISSION_TEXTS, ROLE_TEXTS
from gpuaas_contract.permissions import ROLES, TENANT_ONLY, Permission, RoleName
from gpuaas_platform.identity.rules import (
    Escalation,
    grant_require,
    grants_narrowed,
    hold_require,
    missing_to_grant,
    role_grants,
    role_permissions,
    stand_in_require,
)
from gpuaas_platform.kernel.caller import PLATFORM, Caller, CallerKind, Grant, Place

TENANT = Place("org_a")
PROJECT = Place("org_a", "proj_a")
PLACES = [PLATFORM, TENANT, PROJECT, Place("org_b"), Place("org_b", "proj_b")]

permissions = st.frozensets(st.sampled_from(list(Permission)), max_size=12)
places = st.sampled_from(PLACES)
bindings = st.lists(st.tuples(permissions, places), max_size=4)


def caller_of(*held: tuple[frozenset[Permission], Place]) -> Caller:
    grants = [grant for keys, place in held for grant in role_grants(keys, place)]
    return Caller(CallerKind.USER, "user_x", PLATFORM, tuple(grants))


def role(name: RoleName, place: Place) -> Caller:
    return caller_of((ROLES[name], place))


def test_every_key_and_role_says_what_it_is_for() -> None:
    assert set(PERMISSION_TEXTS) == set(Permission)
    assert set(ROLE_TEXTS) == set(RoleName)


def test_a_platform_administrator_does_not_reach_into_tenants_workloads() -> None:
    admin = role(RoleName.PLATFORM_ADMIN, PLATFORM)
    for key in Permission:
        assert admin.allows(key, PLATFORM)
        assert admin.allows(key, PROJECT) == (key not in TENANT_ONLY)
        assert admin.reach(key).everywhere == (key not in TENANT_ONLY)


def test_a_tenant_administrator_may_appoint_every_role_of_a_tenant() -> None:
    admin = role(RoleName.TENANT_ADMIN, TENANT)
    for name in set(RoleName) - {RoleName.PLATFORM_ADMIN}:
        grant_require(admin, ROLES[name], TENANT)
        grant_require(admin, ROLES[name], PROJECT)
    with pytest.raises(Escalation):
        grant_require(admin, ROLES[RoleName.PLATFORM_ADMIN], TENANT)


def test_a_project_administrator_may_appoint_an_operator_but_no_tenant_administrator() -> None:
    admin = role(RoleName.PROJECT_ADMIN, PROJECT)
    grant_require(admin, ROLES[RoleName.APP_OPERATOR], PROJECT)
    with pytest.raises(Escalation):
        grant_require(admin, ROLES[RoleName.TENANT_ADMIN], PROJECT)
    with pytest.raises(Escalation):
        grant_require(admin, ROLES[RoleName.PROJECT_VIEWER], TENANT)


def test_who_may_break_glass_may_appoint_others_but_not_stand_in_for_them() -> None:
    admin = role(RoleName.PLATFORM_ADMIN, PLATFORM)
    grant_require(admin, ROLES[RoleName.TENANT_ADMIN], TENANT)
    with pytest.raises(Escalation):
        stand_in_require(admin, role_grants(ROLES[RoleName.TENANT_ADMIN], TENANT))
    with pytest.raises(Escalation):
        hold_require(admin, ROLES[RoleName.TENANT_ADMIN], TENANT)


@given(bindings, permissions, places)
def test_nobody_hands_out_what_they_do_not_hold(
    held: list[tuple[frozenset[Permission], Place]], keys: frozenset[Permission], place: Place
) -> None:
    caller = caller_of(*held)
    missing = set(missing_to_grant(caller, keys, place))
    glass = caller.allows(Permission.BREAK_GLASS, PLATFORM)
    for key in keys - missing:
        lent = glass and key in TENANT_ONLY and place != PLATFORM
        assert caller.allows(key, place) or lent
    if not glass:
        gained = caller_of((keys - missing, place))
        for key in Permission:
            for where in PLACES:
                assert not gained.allows(key, where) or caller.allows(key, where)


@given(bindings, st.none() | permissions, st.none() | places)
def test_narrowing_never_adds(
    held: list[tuple[frozenset[Permission], Place]],
    keys: frozenset[Permission] | None,
    place: Place | None,
) -> None:
    caller = caller_of(*held)
    wanted = None if keys is None else sorted(keys)
    narrowed = Caller(
        caller.kind, caller.id, caller.home, grants_narrowed(caller.grants, wanted, place)
    )
    for key in Permission:
        for where in PLACES:
            inside = place is None or Grant(frozenset(), place).covers(where)
            expected = caller.allows(key, where) and inside and (keys is None or key in keys)
            assert narrowed.allows(key, where) == expected


def test_keys_of_another_release_are_not_ours() -> None:
    assert role_permissions(None, ["apps.instance.read", "from.the.future"]) == {
        Permission.INSTANCE_READ
    }
