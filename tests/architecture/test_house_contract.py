"""What callers may send explains itself: `gpuaas explain`, the OpenAPI document, forms and help."""

from __future__ import annotations

import importlib
import pkgutil

import gpuaas_contract
from gpuaas_contract.common import Input


def test_every_field_callers_may_send_is_described() -> None:
    for module in pkgutil.iter_modules(gpuaas_contract.__path__, "gpuaas_contract."):
        importlib.import_module(module.name)

    silent = [
        f"{shape.__name__}.{name}"
        for shape in _shapes(Input)
        for name, field in shape.model_fields.items()
        if not field.description
    ]

    assert silent == [], "say in `Field(description=…)` what they mean"


def _shapes(base: type[Input]) -> list[type[Input]]:
    """Every request of the contract and every part of one."""
    below = [one for child in base.__subclasses__() for one in (child, *_shapes(child))]
    return [one for one in below if one.__module__.startswith("gpuaas_contract.")]
