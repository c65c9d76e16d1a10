"""Whoever writes a rule that can do nothing is told so, with the overlay that stands above it."""

from hypothesis import given
from hypothesis import strategies as st

from gpuaas_contract.common import Scope, ScopeKind
from gpuaas_contract.patterns import pattern_matches
from gpuaas_contract.policy import Dimension, Rules
from gpuaas_platform.policy.rules import OverlayRules, decide
from gpuaas_platform.policy.warnings import warnings_of

SKUS = Dimension.SKUS
GLOBAL = Scope(kind=ScopeKind.PLATFORM)
TENANT = Scope(kind=ScopeKind.TENANT, org_id="org_1")


def _above(rules: Rules) -> list[OverlayRules]:
    return [OverlayRules("ovl_g", "house", GLOBAL, {SKUS: rules})]


def _codes(own: Rules, above: Rules) -> list[tuple[str, str]]:
    found = warnings_of({SKUS: own}, _above(above))
    return [(warning.code, warning.pointer) for warning in found]


def test_allowing_what_is_denied_above_is_ineffective() -> None:
    own = Rules(allow=("h100", "a100"))
    assert _codes(own, Rules(deny=("h*",))) == [("ineffective", "/rules/skus/allow/0")]


def test_allowing_what_is_not_allowed_above_is_ineffective() -> None:
    assert _codes(Rules(allow=("h100",)), Rules(allow=("a*",))) == [
        ("ineffective", "/rules/skus/allow/0")
    ]


def test_allowing_more_than_above_says_what_is_left() -> None:
    found = warnings_of({SKUS: Rules(allow=("*",))}, _above(Rules(allow=("a100", "h*"))))
    assert [warning.code for warning in found] == ["narrowed"]
    assert "a100, h*" in found[0].message
    assert found[0].overlay_id == "ovl_g"


def test_denying_twice_is_redundant_and_denying_what_one_allows_is_said() -> None:
    assert _codes(Rules(deny=("h100",)), Rules(deny=("h*",))) == [
        ("redundant", "/rules/skus/deny/0")
    ]
    assert _codes(Rules(allow=("h100",), deny=("*",)), Rules()) == [
        ("ineffective", "/rules/skus/allow/0")
    ]


def test_an_address_cut_off_in_its_host_is_loose() -> None:
    rules = Rules(allow=("oci://registry.example*", "oci://registry.example/*", "src_1*"))
    found = warnings_of({Dimension.ARTIFACT_SOURCES: rules}, [])
    assert [(one.code, one.pointer) for one in found] == [
        ("loose", "/rules/artifact_sources/allow/0")
    ]


def test_a_rule_that_only_narrows_is_silent() -> None:
    assert _codes(Rules(allow=("h100",), deny=("h100-x",)), Rules(allow=("h*",))) == []


_values = st.text("ab", max_size=3)
_patterns = st.builds(lambda text, star: (text + star) or "*", _values, st.sampled_from(["", "*"]))
_rules = st.builds(
    Rules,
    allow=st.none() | st.lists(_patterns, max_size=3).map(tuple),
    deny=st.lists(_patterns, max_size=3).map(tuple),
)


@given(_rules, _rules, _values)
def test_an_ineffective_pattern_allows_no_value(own: Rules, above: Rules, value: str) -> None:
    overlays = [*_above(above), OverlayRules("ovl_t", "own", TENANT, {SKUS: own})]
    for warning in warnings_of({SKUS: own}, _above(above)):
        if warning.code != "ineffective":
            continue
        pattern = (own.allow or ())[int(warning.pointer.rpartition("/")[2])]
        if pattern_matches(pattern, value):
            assert not decide(overlays, SKUS, value).allowed
