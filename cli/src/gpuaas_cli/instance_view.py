"""How an instance is drawn: with its members, what is wrong, and what can be done now.

Used by `gpuaas instance show` and `watch` on a terminal.
"""

import sys
from typing import Any, Self

from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from gpuaas_cli.progress import steps_view
from gpuaas_cli.screen import console, drawn, word
from gpuaas_cli.tables import facts_text, list_text

_MEMBER = ("id", "component_key", "status", "health", "allocation_id", "node", "runtime_version")
_FACTS = (
    *("id", "app_slug", "app_version", "runtime_version", "status", "health", "topology"),
    *("correlation_id", "last_operation_id"),
)


def instance_print(found: dict[str, Any], *, wide: bool) -> None:
    """An instance, once."""
    console().print(_drawn(found, wide=wide))


class InstanceView:
    """An instance as it changes: drawn anew on a terminal, a line for each change elsewhere."""

    def __init__(self, *, wide: bool) -> None:
        self._wide = wide
        self._console = console()
        self._live = Live(console=self._console, auto_refresh=False)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def show(self, found: dict[str, Any]) -> None:
        """What is now known."""
        if self._console.is_terminal:
            self._live.update(_drawn(found, wide=self._wide), refresh=True)
            return
        one = found["instance"]
        sys.stdout.write(f"{one['updated_at']} {one['status']} {one['health']}\n")
        sys.stdout.flush()


def _drawn(found: dict[str, Any], *, wide: bool) -> RenderableType:
    """An instance with its members, conditions, what the app says and the ways out."""
    instance, members = found["instance"], found["members"]
    parts: list[RenderableType] = [Text(instance["resource_name"], "bold")]
    parts.append(drawn(facts_text({name: instance[name] for name in _FACTS}, wide=wide)))
    detail = instance["adapter_detail"]
    if detail:
        parts.append(Text.assemble(("\nthe app says: ", "bold"), detail["summary"]))
    for one in instance["conditions"]:
        said = f"! {one['type']}: {one['message']} {one['next_action']}"
        parts.append(Text(said, "yellow"))
    parts += [Text("\nmembers", "bold"), drawn(list_text(members, _MEMBER, wide=wide))]
    if found["running"]:
        parts.append(Text("\noperations under way", "bold"))
        parts += [steps_view(one) for one in found["running"]]
    parts.append(_possible(instance))
    return Group(*parts)


def _possible(instance: dict[str, Any]) -> RenderableType:
    rows = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("OPERATION", "TITLE", "NOW", "WHY NOT"):
        rows.add_column(heading, overflow="fold")
    for one in instance["operations"]:
        rows.add_row(one["kind"], one["title"], word(one["available"]), Text(one["reason"], "dim"))
    ways = ", ".join(one["action"] for one in instance["next_actions"])
    return Group(Text(""), rows, Text(f"\nways out: {ways}" if ways else "", "yellow"))
