"""Overlays only narrow, whatever they say and in whatever order they come."""

from hypothesis import given
from hypothesis import strategies as st

from gpuaas_contract.common import Scope, ScopeKind
from gpuaas_contract.patterns import pattern_covers, pattern_matches, pattern_meet
from gpuaas_contract.policy import Dimension, Rules
from gpuaas_platform.policy.rules import OverlayRules, decide, effective, rules_difference

SKUS = Dimension.SKUS
# Few letters and short texts: random patterns and values must often meet.
values = st.text("ab", max_size=4)
patterns = st.builds(lambda text, star: (text + star) or "*", values, st.sampled_from(["", "*"]))
lists = st.lists(patterns, max_size=4).map(tuple)
rules = st.builds(Rules, allow=st.none() | lists, deny=lists)
scopes = st.sampled_from(
    [
        Scope(kind=ScopeKind.PLATFORM),
        Scope(kind=ScopeKind.TENANT, org_id="org_1"),
        Scope(kind=ScopeKind.PROJECT, org_id="org_1", project_id="proj_1"),
    ]
)
overlays = st.lists(
    st.builds(
        OverlayRules,
        id=st.uuids().map(str),
        name=st.text("mn", min_size=1, max_size=2),
        scope=scopes,
        rules=st.dictionaries(st.sampled_from([SKUS, Dimension.REGIONS]), rules, max_size=2),
    ),
    max_size=6,
    unique_by=lambda one: one.id,
)
one_overlay = overlays.filter(bool).map(lambda found: found[0])


@given(overlays, one_overlay, values)
def test_another_overlay_never_allows_what_was_denied(
    existing: list[OverlayRules], added: OverlayRules, value: str
) -> None:
    before, after = decide(existing, SKUS, value), decide([*existing, added], SKUS, value)
    assert before.allowed or not after.allowed


@given(overlays, values)
def test_a_global_deny_always_wins_and_is_named(existing: list[OverlayRules], value: str) -> None:
    final = OverlayRules(
        "ovl_final", "a", Scope(kind=ScopeKind.PLATFORM), {SKUS: Rules(deny=(value or "*",))}
    )
    decision = decide([*existing, final], SKUS, value)
    assert not decision.allowed
    assert decision.decided_by is not None
    assert decision.decided_by.scope.kind is ScopeKind.PLATFORM
    assert decision.decided_by.rule == "deny"


@given(overlays.flatmap(lambda found: st.tuples(st.just(found), st.permutations(found))), values)
def test_order_changes_neither_the_decision_nor_its_explanation(
    pair: tuple[list[OverlayRules], list[OverlayRules]], value: str
) -> None:
    assert decide(pair[0], SKUS, value) == decide(pair[1], SKUS, value)
    assert effective(pair[0], SKUS) == effective(pair[1], SKUS)


@given(overlays, values)
def test_the_explanation_names_a_rule_that_really_decides(
    existing: list[OverlayRules], value: str
) -> None:
    decision = decide(existing, SKUS, value)
    speaking = [one for one in existing if _speaks(one, value)]
    if decision.decided_by is None:
        assert decision.allowed
        assert speaking == []
        return
    overlay = next(one for one in existing if one.id == decision.decided_by.overlay_id)
    found = overlay.rules[SKUS]
    if decision.allowed:
        assert decision.decided_by.rule == "allow"
        assert decision.decided_by.pattern in (found.allow or ())
        return
    # The one overlay that is named refuses by itself, and without every overlay that refuses
    # the value would be free.
    assert not decide([overlay], SKUS, value).allowed
    if decision.decided_by.rule == "deny":
        assert decision.decided_by.pattern in found.deny
        assert pattern_matches(str(decision.decided_by.pattern), value)
    else:
        assert decision.decided_by.pattern is None
        assert not any(pattern_matches(one, value) for one in found.allow or ())
    assert overlay.name in decision.message


@given(overlays, values)
def test_the_merged_view_says_what_the_decision_says(
    existing: list[OverlayRules], value: str
) -> None:
    merged = effective(existing, SKUS)
    listed = merged.allow is None or any(pattern_matches(one, value) for one in merged.allow)
    barred = any(pattern_matches(one, value) for one in merged.deny)
    assert decide(existing, SKUS, value).allowed == (listed and not barred)


@given(patterns, patterns, values)
def test_meet_and_cover_are_what_they_say(left: str, right: str, value: str) -> None:
    both = pattern_matches(left, value) and pattern_matches(right, value)
    meet = pattern_meet(left, right)
    assert both == (meet is not None and pattern_matches(meet, value))
    if pattern_covers(left, right) and pattern_matches(right, value):
        assert pattern_matches(left, value)


def test_an_empty_allow_list_allows_nothing_and_an_absent_one_narrows_nothing() -> None:
    tenant = Scope(kind=ScopeKind.TENANT, org_id="org_1")
    shut = OverlayRules("ovl_1", "shut", tenant, {SKUS: Rules(allow=())})
    silent = OverlayRules("ovl_2", "silent", tenant, {SKUS: Rules()})
    assert not decide([shut], SKUS, "a").allowed
    assert decide([silent], SKUS, "a").decided_by is None


def test_history_tells_additions_removals_and_a_list_that_began_or_ended() -> None:
    before = {SKUS: Rules(allow=("a",), deny=("x",))}
    after = {SKUS: Rules(deny=("x", "y")), Dimension.REGIONS: Rules(allow=())}
    assert rules_difference(before, after) == {
        "skus.allow": {"added": [], "removed": ["a"], "list": ["ended"]},
        "skus.deny": {"added": ["y"], "removed": []},
        "regions.allow": {"added": [], "removed": [], "list": ["began"]},
    }


def _speaks(overlay: OverlayRules, value: str) -> bool:
    found = overlay.rules.get(SKUS)
    if found is None:
        return False
    return found.allow is not None or any(pattern_matches(one, value) for one in found.deny)
