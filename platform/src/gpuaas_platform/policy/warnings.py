"""What a person who writes an overlay should be told: rules that do less than they say.

An overlay that tries to broaden is not refused, for it cannot; but whoever wrote it expects an
effect. Asked by the policy service with the overlays of the levels above. Pure.
"""

from collections.abc import Iterable, Sequence

from gpuaas_contract.patterns import pattern_covers, pattern_meet, patterns_reduced
from gpuaas_contract.policy import Dimension, OverlayWarning, Rules, RuleSet
from gpuaas_platform.policy.rules import OverlayRules, overlays_ordered


def warnings_of(rules: RuleSet, above: Iterable[OverlayRules]) -> list[OverlayWarning]:
    """Every rule that can have no effect, or less than it reads like."""
    higher = overlays_ordered(above)
    found: list[OverlayWarning] = []
    for dimension, own in rules.items():
        for index, pattern in enumerate(own.allow or ()):
            pointer = f"/rules/{dimension}/allow/{index}"
            found += _allow(dimension, own, pattern, pointer, higher)
            found += _loose(dimension, pattern, pointer)
        for index, pattern in enumerate(own.deny):
            found += _deny(dimension, pattern, f"/rules/{dimension}/deny/{index}", higher)
    return found


def _allow(
    dimension: Dimension,
    own: Rules,
    pattern: str,
    pointer: str,
    above: Sequence[OverlayRules],
) -> list[OverlayWarning]:
    shadow = next((deny for deny in own.deny if pattern_covers(deny, pattern)), None)
    if shadow is not None:
        message = f"{pattern!r} is also denied here by {shadow!r}: the deny wins."
        return [OverlayWarning(code="ineffective", pointer=pointer, message=message)]
    narrowed = []
    for overlay in above:
        rules = overlay.rules.get(dimension)
        if rules is None:
            continue
        warning = _under(pattern, pointer, overlay, rules)
        if warning is not None and warning.code == "ineffective":
            return [warning]
        if warning is not None:
            narrowed.append(warning)
    return narrowed


def _under(
    pattern: str, pointer: str, overlay: OverlayRules, rules: Rules
) -> OverlayWarning | None:
    """What one overlay above leaves of an allow pattern."""
    shadow = next((deny for deny in rules.deny if pattern_covers(deny, pattern)), None)
    if shadow is not None:
        message = f"{pattern!r} stays denied by {shadow!r} of {overlay.words}."
        return _warning("ineffective", pointer, message, overlay)
    if rules.allow is None:
        return None
    left = patterns_reduced(meet for one in rules.allow if (meet := pattern_meet(one, pattern)))
    if left == (pattern,):
        return None
    if not left:
        message = f"{pattern!r} allows nothing: {overlay.words} does not allow it."
        return _warning("ineffective", pointer, message, overlay)
    message = f"{pattern!r} allows only {', '.join(left)}: {overlay.words} allows no more."
    return _warning("narrowed", pointer, message, overlay)


def _deny(
    dimension: Dimension, pattern: str, pointer: str, above: Sequence[OverlayRules]
) -> list[OverlayWarning]:
    for overlay in above:
        rules = overlay.rules.get(dimension, Rules())
        shadow = next((deny for deny in rules.deny if pattern_covers(deny, pattern)), None)
        if shadow is not None:
            message = f"{pattern!r} is already denied by {shadow!r} of {overlay.words}."
            return [_warning("redundant", pointer, message, overlay)]
    return []


def _loose(dimension: Dimension, pattern: str, pointer: str) -> list[OverlayWarning]:
    """An allowed address cut off inside its host takes in hosts of other owners."""
    if dimension is not Dimension.ARTIFACT_SOURCES or not pattern.endswith("*"):
        return []
    _, scheme, rest = pattern[:-1].partition("://")
    if not scheme or "/" in rest:
        return []
    message = f"{pattern!r} also allows other hosts that begin like it; end the host with '/'."
    return [OverlayWarning(code="loose", pointer=pointer, message=message)]


def _warning(code: str, pointer: str, message: str, overlay: OverlayRules) -> OverlayWarning:
    return OverlayWarning.model_validate(
        {"code": code, "pointer": pointer, "message": message, "overlay_id": overlay.id}
    )
