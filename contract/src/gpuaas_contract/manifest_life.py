"""What a manifest says of an app's life: words for its health, what it installs, how it changes.

An app team promises here what an upgrade, a rollback and a delete do, before anybody asks for one.
Part of `manifest.py`. Pure.
"""

from typing import Annotated, Literal

from pydantic import Field

from gpuaas_contract.common import Input
from gpuaas_contract.manifest_ui import Key, Sentence
from gpuaas_contract.semver import VersionPattern
from gpuaas_contract.states import Health


class HealthWord(Input):
    """A word of the app's own health vocabulary and what it means in the generic one."""

    word: Annotated[str, Field(min_length=1, max_length=80, description="As the app says it")]
    health: Annotated[Health, Field(description="The generic word it stands for")]
    meaning: Annotated[Sentence, Field(description="What it means, for people")] = ""
    next_action: Annotated[Sentence, Field(description="What to do about it, for people")] = ""


class ArtifactRequirement(Input):
    """Something the app installs, resolved through policy from an artifact source."""

    name: Annotated[
        str, Field(min_length=1, max_length=200, description="As it is published in its source")
    ]
    type: Annotated[Literal["oci", "blob"], Field(description="An image of a registry, or a file")]
    version: Annotated[str, Field(max_length=100, description="Which version")] = ""
    digest: Annotated[
        str | None, Field(pattern=r"^sha256:[0-9a-f]{64}$", description="Exactly this content")
    ] = None
    source: Annotated[str, Field(max_length=500, description="Where it is taken from")] = ""
    components: Annotated[
        tuple[Key, ...], Field(description="Whose machines need it; all when empty")
    ] = ()
    optional: Annotated[bool, Field(description="The app runs without it")] = False


class UpgradeRule(Input):
    """What an upgrade to this version does. Supported when an operation has the purpose."""

    from_versions: Annotated[
        tuple[VersionPattern, ...], Field(description="Versions it can start from")
    ] = ()
    strategy: Annotated[
        Literal["rolling", "restart", "recreate"],
        Field(description="Machine by machine, all at once, or made anew"),
    ] = "restart"
    snapshot: Annotated[bool, Field(description="State is saved before anything changes")] = True
    description: Annotated[Sentence, Field(description="What an upgrade does, for people")] = ""


class RollbackRule(Input):
    """What going back to the version before does."""

    loses: Annotated[Sentence, Field(description="Said before a rollback is requested")]
    refused_when: Annotated[
        Sentence, Field(description="When there is no way back, for people")
    ] = ""


class DeleteRule(Input):
    """What decommissioning does to data and machines."""

    destroys: Annotated[Sentence, Field(description="Said before a delete is requested")]
    verifies_absence: Annotated[
        bool, Field(description="The app proves that nothing of it is left on the machines")
    ]


class Lifecycle(Input):
    """Declared behaviour of the changes a person fears most."""

    upgrade: Annotated[UpgradeRule | None, Field(description="Left out: no upgrade leads here")] = (
        None
    )
    rollback: Annotated[
        RollbackRule | None, Field(description="Left out: there is no way back")
    ] = None
    delete: Annotated[DeleteRule, Field(description="Every app can be taken down")]
