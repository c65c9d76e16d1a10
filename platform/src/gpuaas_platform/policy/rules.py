"""How overlays decide: a pure function from rules to a decision and its reasons.

A value may be used when no overlay denies it and every overlay that has an allow list lists it.
Each overlay is one more condition, so another one can only narrow, at any level and in any order;
the global deny is final because nothing can answer it. Called by the policy service. Pure.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpuaas_contract.common import Scope, ScopeKind
from gpuaas_contract.patterns import first_match, patterns_meet, patterns_reduced
from gpuaas_contract.policy import (
    Decision,
    Dimension,
    EffectiveRules,
    Finding,
    RuleRef,
    Rules,
    RuleSet,
)

_LEVELS = {ScopeKind.PLATFORM: 0, ScopeKind.TENANT: 1, ScopeKind.PROJECT: 2}
_WORDS = {ScopeKind.PLATFORM: "global", ScopeKind.TENANT: "tenant", ScopeKind.PROJECT: "project"}


@dataclass(frozen=True)
class OverlayRules:
    """An overlay as far as decisions need it."""

    id: str
    name: str
    scope: Scope
    rules: RuleSet

    @property
    def level(self) -> int:
        """0 for global, 1 for a tenant's, 2 for a project's."""
        return _LEVELS[self.scope.kind]

    @property
    def words(self) -> str:
        """How people call it."""
        return f"the {_WORDS[self.scope.kind]} overlay {self.name}"


def decide(overlays: Iterable[OverlayRules], dimension: Dimension, value: str) -> Decision:
    """Whether a value may be used, with the chain of findings from global down.

    Of several refusals the highest level decides, there a deny before a missing allow, then the
    overlay's name: so the same overlays give the same explanation in whatever order they come.
    """
    ordered = overlays_ordered(overlays)
    chain = [
        found
        for overlay in ordered
        if (rules := overlay.rules.get(dimension)) is not None
        and (found := _finding(overlay, rules, value)) is not None
    ]
    refusals = [found for found in chain if not found.allowed]
    decisive = min(refusals, key=_weight) if refusals else (chain[0] if chain else None)
    message = decisive.message if decisive else f"No overlay speaks of {value} in {dimension}."
    return Decision(
        dimension=dimension,
        value=value,
        allowed=not refusals,
        decided_by=None if decisive is None else _reference(decisive),
        chain=chain,
        message=message,
    )


def overlays_ordered(overlays: Iterable[OverlayRules]) -> list[OverlayRules]:
    """From global down, then by name."""
    return sorted(overlays, key=lambda one: (one.level, one.name, one.id))


def effective(overlays: Iterable[OverlayRules], dimension: Dimension) -> EffectiveRules:
    """All overlays as one allow list (None: everything) and one deny list.

    A value may be used exactly when the one has no list or lists it and the other does not.
    """
    allow: tuple[str, ...] | None = None
    deny: set[str] = set()
    sources: list[RuleRef] = []
    for overlay in overlays_ordered(overlays):
        rules = overlay.rules.get(dimension)
        if rules is None:
            continue
        deny.update(rules.deny)
        sources += [rule_reference(overlay, "deny", pattern) for pattern in rules.deny]
        if rules.allow is None:
            continue
        reduced = patterns_reduced(rules.allow)
        allow = reduced if allow is None else patterns_meet(allow, reduced)
        sources += [rule_reference(overlay, "allow", pattern) for pattern in rules.allow]
        if not rules.allow:
            sources.append(rule_reference(overlay, "allow", None))
    return EffectiveRules(
        allow=None if allow is None else list(allow),
        deny=list(patterns_reduced(deny)),
        sources=sources,
    )


def rule_reference(overlay: OverlayRules, rule: str, pattern: str | None) -> RuleRef:
    """Name one rule of an overlay."""
    return RuleRef.model_validate(
        {
            "overlay_id": overlay.id,
            "overlay_name": overlay.name,
            "scope": overlay.scope,
            "rule": rule,
            "pattern": pattern,
        }
    )


def rules_difference(before: RuleSet, after: RuleSet) -> dict[str, dict[str, list[str]]]:
    """What was added and removed, per list: the readable history in the audit."""
    changes: dict[str, dict[str, list[str]]] = {}
    for dimension in Dimension:
        old, new = before.get(dimension, Rules()), after.get(dimension, Rules())
        lists = {
            "allow": (old.allow, new.allow),
            "deny": (old.deny or None, new.deny or None),
        }
        for name, (was, now) in lists.items():
            if was == now:
                continue
            changes[f"{dimension}.{name}"] = _change(was, now)
    return changes


def _finding(overlay: OverlayRules, rules: Rules, value: str) -> Finding | None:
    denied = first_match(rules.deny, value)
    if denied is not None:
        return _found(overlay, "deny", denied, f"{value} is denied by {denied!r}")
    if rules.allow is None:
        return None
    allowed = first_match(rules.allow, value)
    if allowed is None:
        return _found(overlay, "allow", None, f"{value} is not on the allow list")
    return _found(overlay, "allow", allowed, f"{value} is allowed by {allowed!r}")


def _found(overlay: OverlayRules, rule: str, pattern: str | None, sentence: str) -> Finding:
    reference = rule_reference(overlay, rule, pattern)
    return Finding(
        **reference.model_dump(exclude={"scope"}),
        scope=overlay.scope,
        allowed=rule == "allow" and pattern is not None,
        message=f"{sentence} of {overlay.words}.",
    )


def _weight(found: Finding) -> tuple[int, bool, str, str]:
    return _LEVELS[found.scope.kind], found.rule != "deny", found.overlay_name, found.overlay_id


def _reference(found: Finding) -> RuleRef:
    return RuleRef(**{name: getattr(found, name) for name in RuleRef.model_fields})


def _change(was: Sequence[str] | None, now: Sequence[str] | None) -> dict[str, list[str]]:
    """An absent allow list and an empty one differ, so both are said in words of their own."""
    change = {
        "added": sorted(set(now or ()) - set(was or ())),
        "removed": sorted(set(was or ()) - set(now or ())),
    }
    if was is None:
        change["list"] = ["began"]
    elif now is None:
        change["list"] = ["ended"]
    return change
