"""Wire types of the policy room: overlays, decisions, the effective policy."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from gpuaas_contract.common import Input, Model, Name, Revision, Scope, Text
from gpuaas_contract.patterns import Pattern


class Dimension(StrEnum):
    """What a policy can narrow.

    Values: `regions` and `skus` by name; `artifact_sources` by address; `app_versions` as
    `slug@version`, so that `web@1.*` means the versions 1 of one app.
    """

    REGIONS = "regions"
    SKUS = "skus"
    ARTIFACT_SOURCES = "artifact_sources"
    APP_VERSIONS = "app_versions"


class Rules(Input):
    """What one overlay says about one dimension."""

    allow: Annotated[
        tuple[Pattern, ...] | None,
        Field(max_length=200, description="Only these; left out: no narrowing. Empty: nothing"),
    ] = None
    deny: Annotated[tuple[Pattern, ...], Field(max_length=200, description="Never these")] = ()


RuleSet = dict[Dimension, Rules]


class OverlayCreate(Input):
    """A new overlay."""

    name: Name
    description: Annotated[Text, Field(description="Why it is there")] = ""
    rules: Annotated[
        RuleSet, Field(description="What may be used, by dimension; one left out is not narrowed")
    ]


class OverlayUpdate(Input):
    """The new content of an overlay, whole."""

    description: Annotated[Text, Field(description="Why it is there")] = ""
    rules: Annotated[
        RuleSet, Field(description="All of its rules, by dimension; one left out is not narrowed")
    ]


class OverlayWarning(Model):
    """A rule that does less than it says, told to whoever writes it."""

    code: Literal["ineffective", "narrowed", "redundant", "loose"]
    pointer: Annotated[str, Field(description="JSON pointer to the rule")]
    message: str
    overlay_id: Annotated[str | None, Field(description="The overlay in whose shadow it is")] = None


class Overlay(Model):
    """Rules at one place of the tenancy tree. An overlay can only narrow."""

    id: str
    name: str
    description: str
    scope: Scope
    rules: RuleSet
    warnings: list[OverlayWarning]
    revision: Revision
    created_at: datetime
    updated_at: datetime


class RuleRef(Model):
    """One rule of one overlay. No pattern: the allow list as a whole, which has no match."""

    overlay_id: str
    overlay_name: str
    scope: Scope
    rule: Literal["allow", "deny"]
    pattern: str | None


class Finding(RuleRef):
    """What one overlay says about one value."""

    allowed: bool
    message: str


class Decision(Model):
    """Whether a value may be used, and why: the chain from global down, and what decided."""

    dimension: Dimension
    value: str
    allowed: bool
    decided_by: Annotated[
        RuleRef | None, Field(description="Absent when allowed because no overlay speaks of it")
    ]
    chain: Annotated[
        list[Finding], Field(description="What each overlay says, from the platform down")
    ]
    message: str


class EffectiveRules(Model):
    """All overlays of one dimension as one list; `allow` null means everything."""

    allow: Annotated[list[str] | None, Field(description="Only these; null: everything")]
    deny: Annotated[list[str], Field(description="Never these")]
    sources: Annotated[list[RuleRef], Field(description="The rules it was made of")]


class EffectivePolicy(Model):
    """The merged policy of a place; with `dimension` and `value` asked for, their decision too."""

    scope: Scope
    rules: dict[Dimension, EffectiveRules]
    decision: Annotated[Decision | None, Field(description="Of the value that was asked for")] = (
        None
    )
