"""What the operate room answers with: health, version."""

from typing import Literal

from gpuaas_contract.common import Model


class Live(Model):
    """The process runs."""

    status: Literal["live"] = "live"


class Check(Model):
    """One thing the platform needs, and whether it is there."""

    name: str
    ok: bool
    detail: str = ""


class Readiness(Model):
    """Whether the platform can do its work, and what is missing if not."""

    status: Literal["ready", "not_ready"]
    checks: list[Check]


class Version(Model):
    """Which platform this is."""

    version: str
    schema_revision: int
