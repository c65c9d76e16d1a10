"""How an instance and an operation look to a person, as text made of tables.

Used by `gpuaas instance show` and `watch`, and wherever somebody waits for operations.
"""

from typing import Any

from gpuaas_cli.tables import (
    Cell,
    cell,
    clean,
    facts_text,
    list_text,
    rows_text,
    styled,
    table_text,
)

_MEMBER = ("id", "component_key", "status", "health", "allocation_id", "node", "runtime_version")
_FACTS = (
    *("id", "app_slug", "app_version", "runtime_version", "status", "health", "topology"),
    *("correlation_id", "last_operation_id"),
)
_MARKS = {"succeeded": "✓", "skipped": "·", "running": "▸", "failed": "✗", "undone": "↶"}


def instance_text(found: dict[str, Any], *, wide: bool) -> str:
    """An instance with its members, conditions, what the app says and the ways out."""
    instance, members = found["instance"], found["members"]
    parts = [styled(instance["resource_name"], "bold") + "\n"]
    parts.append(facts_text({name: instance[name] for name in _FACTS}, wide=wide))
    if instance["adapter_detail"]:
        summary = instance["adapter_detail"]["summary"]
        parts.append(f"\n{styled('the app says:', 'bold')} {clean(summary)}\n")
    for one in instance["conditions"]:
        said = f"! {one['type']}: {one['message']} {one['next_action']}"
        parts.append(styled(clean(said), "yellow") + "\n")
    parts += [f"\n{styled('members', 'bold')}\n", list_text(members, _MEMBER, wide=wide)]
    if found["running"]:
        parts.append(f"\n{styled('operations under way', 'bold')}\n")
        parts += [steps_text(one) for one in found["running"]]
    return "".join([*parts, "\n", _possible(instance)])


def steps_text(operation: dict[str, Any]) -> str:
    """An operation with its steps."""
    kind, status = styled(operation["kind"], "bold"), styled(*cell(operation["status"]))
    title = f"{kind} {operation['id']} {status}"
    if operation["attempt"] > 1:
        tried = f"attempt {operation['attempt']} of {operation['max_attempts']}"
        title += f" {styled(tried, 'yellow')}"
    rows = [
        [
            Cell(f"  {_MARKS.get(step['state'], ' ')}"),
            Cell(step["name"]),
            cell(step["state"]),
            Cell(step["message"]),
        ]
        for step in operation["progress"]
    ]
    for one in operation.get("conditions", []):
        said = Cell(one["message"], "yellow")
        rows.append([Cell("  !"), Cell(one["type"]), said, Cell(one["next_action"])])
    return f"{title}\n{rows_text(rows)}"


def _possible(instance: dict[str, Any]) -> str:
    rows = [
        [Cell(one["kind"]), Cell(one["title"]), cell(one["available"]), Cell(one["reason"], "dim")]
        for one in instance["operations"]
    ]
    drawn = table_text(("operation", "title", "now", "why not"), rows)
    ways = ", ".join(one["action"] for one in instance["next_actions"])
    return drawn + (f"\n{styled(f'ways out: {ways}', 'yellow')}\n" if ways else "")
