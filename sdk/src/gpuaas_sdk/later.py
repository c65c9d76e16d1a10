"""Modules that take longer to load than a whole command does: each is loaded when first used.

    later.answers.answer_read(...)

Used by the client. A module belongs here only when a measurement says so (`python -m bench start`).
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpuaas_sdk import answers

__all__ = ["answers"]


def __getattr__(name: str) -> ModuleType:
    """Load a module of this package."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"gpuaas_sdk.{name}")
