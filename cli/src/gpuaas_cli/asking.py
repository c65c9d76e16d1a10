"""Asks a person for what a form still needs, on the terminal. Used by `gpuaas deploy`.

Only what is required and neither given nor has a default is asked for.
"""

import sys
from collections.abc import Mapping
from typing import Any

from gpuaas_cli.body import plain
from gpuaas_cli.manifests import field_at
from gpuaas_cli.prompts import line_read
from gpuaas_cli.session import Session, Stop

_FREE = "a machine of the project"


async def form_fill(
    session: Session, project: str, form: Mapping[str, Any], given: dict[str, Any], *, asks: bool
) -> dict[str, Any]:
    """The input with what was still needed; whoever cannot be asked is told what is missing."""
    schema = form["input_schema"]
    filled = {**form["initial"], **given}
    for name in schema.get("required", []):
        if name in filled:
            continue
        field = field_at(schema, f"/{name}")
        if not asks:
            title = field.get("title", name)
            raise Stop(f"{name} ({title}) is needed: give --set {name}=… or --file.")
        filled[name] = await _asked(session, project, name, field)
    return filled


async def _asked(session: Session, project: str, name: str, field: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON
    title = field.get("title", name)
    if field.get("x-widget") == "allocation_picker":
        found = await session.read("/allocations", project_id=project, status="active", limit=500)
        free = [one for one in found["items"] if one["bound_instance_id"] is None]
        if not free:
            raise Stop(f"{title}: the project holds no machine that is active and free.")
        choices = {one["name"]: one["id"] for one in free}
        return _chosen(title, choices, many=field.get("type") == "array")
    if "enum" in field:
        return _chosen(title, {str(one): one for one in field["enum"]}, many=False)
    default = field.get("default")
    said = line_read(f"{title}" + (f" [{default}]" if default is not None else "") + ": ").strip()
    return plain(said) if said else default


def _chosen(title: str, choices: Mapping[str, Any], *, many: bool) -> Any:  # noqa: ANN401 - JSON
    sys.stderr.write(f"{title}: {', '.join(choices)}\n")
    first = next(iter(choices))
    hint = "which ones, with spaces between" if many else "which one"
    words = line_read(f"{hint} [{first}]: ").split() or [first]
    unknown = [word for word in words if word not in choices]
    if unknown:
        raise Stop(f"{title}: {', '.join(unknown)} is not among them.")
    picked = [choices[word] for word in words]
    return picked if many else picked[0]
