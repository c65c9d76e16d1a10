"""Inputs are checked against the schema an entitlement narrowed, each fault at its field."""

from functools import partial
from typing import Any

import pytest
from catalog_fixtures import template_manifest
from hypothesis import given
from hypothesis import strategies as st

from gpuaas_contract.catalog import InputLimit, SettingsOverlay
from gpuaas_contract.manifest import Manifest
from gpuaas_contract.states import VersionStatus
from gpuaas_platform.catalog.cache import Cache
from gpuaas_platform.catalog.inputs import (
    defaults_apply,
    input_schema,
    input_validate,
    operation_form,
)
from gpuaas_platform.catalog.manifests import manifest_digest, manifest_problems
from gpuaas_platform.catalog.records import VersionRecord
from gpuaas_platform.catalog.schemas import input_errors, schema_invalid, validator_make
from gpuaas_platform.kernel.problems import PlatformError

DOCUMENT = template_manifest()
MANIFEST = Manifest.model_validate(DOCUMENT)
GIVEN = {"gateway_allocation_id": "alloc_1"}


def _version(*settings: SettingsOverlay) -> VersionRecord:
    return VersionRecord(
        id="appv_1",
        app_id="app_1",
        slug="web",
        version="1.0.0",
        status=VersionStatus.PUBLISHED,
        digest=manifest_digest(DOCUMENT),
        manifest=MANIFEST,
        settings=settings,
    )


def _errors(version: VersionRecord, given: dict[str, Any]) -> list[tuple[str, str]]:
    filled = defaults_apply(version, "deploy", given)
    return [(one.pointer, one.message) for one in input_validate(version, "deploy", filled)]


def test_the_least_input_is_enough_and_gets_its_defaults() -> None:
    assert defaults_apply(_version(), "deploy", GIVEN) == {
        "gateway_allocation_id": "alloc_1",
        "server_placement": "same_node",
        "settings": {"port": 8080, "greeting": "Hello", "request_log": True},
    }
    assert _errors(_version(), GIVEN) == []


def test_each_fault_is_at_its_field() -> None:
    given = {"server_placement": "separate", "settings": {"port": 80, "colour": "red"}, "x": 1}
    found = dict(_errors(_version(), given))
    assert found == {
        "/gateway_allocation_id": "is required",
        "/server_allocation_ids": "is required",
        "/settings/port": "80 is less than the minimum of 1024",
        "/settings/colour": "there is no such field",
        "/x": "there is no such field",
    }


def test_a_field_of_the_other_choice_is_refused() -> None:
    given = GIVEN | {"server_placement": "same_node", "server_allocation_ids": ["alloc_2"]}
    assert [pointer for pointer, _ in _errors(_version(), given)] == ["/server_allocation_ids"]


def test_a_fixed_value_is_set_and_cannot_be_chosen_otherwise() -> None:
    version = _version(SettingsOverlay(fixed={"/settings/port": 9000}))
    assert defaults_apply(version, "deploy", GIVEN)["settings"]["port"] == 9000
    assert _errors(version, GIVEN) == []
    (where, why), *more = _errors(version, GIVEN | {"settings": {"port": 9001}})
    assert (where, more) == ("/settings/port", [])
    assert why == "is fixed by the entitlement to this app: 9000 was expected"


def test_the_tenants_fixed_value_wins_and_the_projects_default_comes_first() -> None:
    tenant = SettingsOverlay(
        fixed={"/settings/port": 9000}, defaults={"/settings/greeting": "Tenant"}
    )
    project = SettingsOverlay(
        fixed={"/settings/port": 9999}, defaults={"/settings/greeting": "Project"}
    )
    settings = defaults_apply(_version(tenant, project), "deploy", GIVEN)["settings"]
    assert settings == {"port": 9000, "greeting": "Project", "request_log": True}


def test_limits_only_move_inwards() -> None:
    wide = SettingsOverlay(limits={"/settings/port": InputLimit(minimum=1, maximum=70_000)})
    narrow = SettingsOverlay(
        limits={
            "/settings/port": InputLimit(maximum=9000),
            "/server_allocation_ids": InputLimit(max_items=2),
            "/server_placement": InputLimit(allowed=("separate", "elsewhere")),
        }
    )
    fields = input_schema(_version(wide, narrow), "deploy")["properties"]
    port = fields["settings"]["properties"]["port"]
    assert (port["minimum"], port["maximum"]) == (1024, 9000)
    assert fields["server_allocation_ids"]["maxItems"] == 2
    assert fields["server_placement"]["enum"] == ["separate"]


def test_an_overlay_for_a_field_this_version_lacks_changes_nothing() -> None:
    overlay = SettingsOverlay(
        fixed={"/gone": 1}, defaults={"/also/gone": 2}, limits={"/x": InputLimit(maximum=1)}
    )
    assert input_schema(_version(overlay), "deploy") == input_schema(_version(), "deploy")
    assert defaults_apply(_version(overlay), "deploy", GIVEN) == defaults_apply(
        _version(), "deploy", GIVEN
    )


def test_settings_speak_of_the_deploy_alone() -> None:
    version = _version(SettingsOverlay(fixed={"/wait_seconds": 5}))
    assert defaults_apply(version, "drain_server", {}) == {"wait_seconds": 30}
    with pytest.raises(PlatformError, match="fly"):
        input_validate(version, "fly", {})


def test_the_form_holds_all_that_is_needed_to_draw_it() -> None:
    form = operation_form(_version(SettingsOverlay(fixed={"/settings/port": 9000})), "deploy")
    assert form.fixed == ["/settings/port"]
    assert form.initial["settings"]["port"] == 9000
    assert "$defs" not in form.input_schema
    port = form.input_schema["properties"]["settings"]["properties"]["port"]
    assert (port["const"], port["readOnly"]) == (9000, True)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
plausible = st.fixed_dictionaries(
    {"gateway_allocation_id": st.just("alloc_1"), "server_placement": st.just("same_node")},
    optional={
        "settings": st.fixed_dictionaries({}, optional={"port": st.integers(0, 70_000)}),
    },
)
inputs = plausible | st.fixed_dictionaries(
    {}, optional=dict.fromkeys(MANIFEST.deploy.input["properties"], values)
)
limits = st.builds(
    InputLimit,
    maximum=st.none() | st.integers(1000, 70_000),
    minimum=st.none() | st.integers(0, 70_000),
)
overlays = st.builds(
    SettingsOverlay,
    limits=st.fixed_dictionaries({}, optional={"/settings/port": limits}),
    fixed=st.fixed_dictionaries({}, optional={"/settings/port": st.integers(0, 70_000)}),
)


@given(inputs, st.lists(overlays, max_size=2))
def test_an_entitlement_never_makes_a_wrong_input_right(
    given_input: dict[str, Any], settings: list[SettingsOverlay]
) -> None:
    narrowed = _version(*settings)
    if not input_validate(narrowed, "deploy", given_input):
        assert not input_validate(_version(), "deploy", given_input)


@given(inputs, st.lists(overlays, max_size=2))
def test_filling_in_keeps_what_was_given_and_is_done_once(
    given_input: dict[str, Any], settings: list[SettingsOverlay]
) -> None:
    version = _version(*settings)
    once = defaults_apply(version, "deploy", given_input)
    assert defaults_apply(version, "deploy", once) == once
    for name, value in given_input.items():
        assert name in once
        if not isinstance(value, dict):
            assert once[name] == value


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        ({"type": "objekt"}, "/type"),
        ({"properties": {"a": {"minimum": "x"}}}, "/properties/a/minimum"),
        ({"properties": {"a": {"pattern": "("}}}, "/properties/a/pattern"),
        ({"properties": {"a": {"pattern": "(?=a)b"}}}, "/properties/a/pattern"),
        ({"required": "a"}, "/required"),
    ],
)
def test_what_is_no_json_schema_is_told_where(schema: dict[str, Any], pointer: str) -> None:
    wrong = schema_invalid(schema)
    assert wrong is not None
    assert wrong.pointer == pointer


def test_an_unknown_format_and_a_default_against_its_own_rule_are_refused() -> None:
    document = template_manifest()
    fields = document["operations"][0]["input"]["$defs"]["settings"]["properties"]
    fields["port"]["default"] = 80
    fields["greeting"]["format"] = "no-such-format"
    _, problems = manifest_problems(document)
    at = "/operations/0/input"
    assert [one.pointer.startswith(at) for one in problems] == [True]
    del fields["greeting"]["format"]
    _, problems = manifest_problems(document)
    assert [one.pointer for one in problems] == [
        f"{at}/$defs/settings/properties/port/default",
    ]


def test_errors_are_bounded() -> None:
    validator = validator_make({"items": {"type": "string"}})
    assert len(input_errors(validator, list(range(1000)))) == 50  # type: ignore[arg-type] # a list


def test_the_digest_ignores_order_and_spacing() -> None:
    backwards = dict(reversed(DOCUMENT.items()))
    assert manifest_digest(backwards) == manifest_digest(DOCUMENT)
    assert manifest_digest(DOCUMENT | {"summary": "x"}) != manifest_digest(DOCUMENT)


def test_the_cache_keeps_what_was_used_last() -> None:
    cache = Cache[str, str](2)
    made: list[str] = []

    def make(key: str) -> str:
        made.append(key)
        return key

    for key in ("a", "b", "a", "c", "a", "b"):
        assert cache.get(key, partial(make, key)) == key
    assert made == ["a", "b", "c", "b"]
