"""A boundary import-linter has no ready contract for: a room's store belongs to that room.

Loaded by `lint-imports` through pyproject.toml. It must not know which rooms exist: a room that
appears later is under the rule from its first import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from importlinter import Contract, ContractCheck, fields, output

if TYPE_CHECKING:
    from grimp import ImportGraph


class RoomPrivate(Contract):
    """Modules of one name inside each room may be imported by that room alone."""

    type_name = "room_private"

    container = fields.StringField()
    private = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002 - import-linter's signature
        """Collect every import of a room's private module from outside that room."""
        container = cast("str", self.container)
        private = cast("list[str]", self.private)
        broken: list[tuple[str, str]] = []
        for module in sorted(graph.modules):
            owner = _owner(module, container, private)
            if owner is None:
                continue
            importers = sorted(graph.find_modules_that_directly_import(module))
            broken += [(one, module) for one in importers if not _inside(one, owner)]
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Name each trespass and the way out."""
        for importer, imported in check.metadata["broken"]:
            output.print_error(
                f"{importer} imports {imported}: call that room's service", bold=False
            )


def _owner(module: str, container: str, private: list[str]) -> str | None:
    """The room a private module belongs to: `a.room` of `a.room.store` and all below it."""
    if not module.startswith(f"{container}."):
        return None
    parts = module[len(container) + 1 :].split(".")
    if len(parts) < 2 or parts[1] not in private:
        return None
    return f"{container}.{parts[0]}"


def _inside(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")
