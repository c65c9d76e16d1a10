"""Modules that take longer to load than a whole command does: each is loaded when first used.

    later.tables.answer_print(...)

Used by what every command runs through, which must load neither what draws nor what waits. A module
belongs here only when a measurement says so (`python -m bench start`).
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuaas_cli import progress, screen, streaming, tables, views, watching, yaml_text

__all__ = ["progress", "screen", "streaming", "tables", "views", "watching", "yaml_text"]


def __getattr__(name: str) -> ModuleType:
    """Load a module of this package."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"gpuaas_cli.{name}")
