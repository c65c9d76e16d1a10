"""What the catalog hands to other rooms: a version with its parsed manifest and its bounds.

Made by `service.py`; read by the apps, sharing and queue rooms. Pure data.
"""

from dataclasses import dataclass

from gpuaas_contract.catalog import SettingsOverlay
from gpuaas_contract.manifest import Manifest
from gpuaas_contract.states import VersionStatus


@dataclass(frozen=True)
class VersionRecord:
    """A version of an app as one place may use it.

    `settings` are the bounds for deploy inputs, tenant first, project second; empty for a version
    that was read without a place.
    """

    id: str
    app_id: str
    slug: str
    version: str
    status: VersionStatus
    digest: str
    manifest: Manifest
    settings: tuple[SettingsOverlay, ...] = ()
