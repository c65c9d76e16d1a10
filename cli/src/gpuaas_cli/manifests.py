"""What an app can do, read from its manifest: which operation a generic word stands for.

Used by `deploy`, `member`, `instance` and the proofs. The command line knows no app.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from gpuaas_cli.session import Session, Stop

Spec = Mapping[str, Any]


async def manifest_of(session: Session, instance: Mapping[str, Any]) -> Mapping[str, Any]:
    """The manifest of the version an instance runs."""
    path = f"/apps/{instance['app_slug']}/versions/{instance['app_version']}"
    found: Mapping[str, Any] = (await session.read(path))["manifest"]
    return found


def operations_for(manifest: Mapping[str, Any], purpose: str) -> list[Spec]:
    """The operations with a purpose."""
    return [one for one in manifest["operations"] if one["purpose"] == purpose]


def operation_for(manifest: Mapping[str, Any], purpose: str, component: str | None = None) -> Spec:
    """The one operation with a purpose, for a component where there are several."""
    found = operations_for(manifest, purpose)
    if component is not None:
        found = [one for one in found if component in components_of(one)]
    if len(found) == 1:
        return found[0]
    word = purpose.replace("_", " ")
    if not found:
        there = {one["purpose"].replace("_", " ") for one in manifest["operations"]}
        raise Stop(f"this app has no operation to {word}; it has: {', '.join(sorted(there))}.")
    choices = sorted({key for one in found for key in components_of(one)})
    raise Stop(f"which component? Give --component: {', '.join(choices)}.")


def components_of(spec: Spec) -> list[str]:
    """The components whose members an operation acts on or makes."""
    named = list(spec["valid_in"]["components"])
    return named or list(dict.fromkeys(rule["component"] for rule in spec["placement"]))


def placed(spec: Spec, allocations: Iterable[str], component: str | None = None) -> dict[str, Any]:
    """The input that names allocations, as the operation's placement rules want it."""
    wanted = list(allocations)
    rules = [r for r in spec["placement"] if component in {None, r["component"]} and not r["when"]]
    if not rules:
        raise Stop(f"{spec['kind']} does not say which input names allocations; use --set.")
    made: dict[str, Any] = {}
    pointer = rules[0]["pointer"]
    many = field_at(spec["input"], pointer).get("type") == "array"
    if not many and len(wanted) > 1:
        raise Stop(f"{spec['kind']} takes one allocation at a time.")
    pointer_set(made, pointer, wanted if many else wanted[0])
    return made


def field_at(schema: Mapping[str, Any], pointer: str) -> Mapping[str, Any]:
    """The schema of the field a pointer names; empty when it cannot be told."""
    node: Mapping[str, Any] = schema
    for name in pointer.split("/")[1:]:
        node = _inlined(schema, node.get("properties", {}).get(name, {}))
    return node


def pointer_set(body: dict[str, Any], pointer: str, value: Any) -> None:  # noqa: ANN401 - JSON
    """Put a value where a pointer leads."""
    *parents, last = pointer.split("/")[1:]
    for name in parents:
        body = body.setdefault(name, {})
    body[last] = value


def pointer_get(body: Any, pointer: str) -> Any:  # noqa: ANN401 - JSON
    """What stands where a pointer leads; None when nothing does."""
    for name in pointer.split("/")[1:]:
        body = body.get(name) if isinstance(body, dict) else None
    return body


def _inlined(schema: Mapping[str, Any], node: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = node.get("$ref", "")
    if not reference.startswith("#/"):
        return node
    found: Mapping[str, Any] = schema
    for name in reference.split("/")[1:]:
        found = found.get(name, {})
    return found
