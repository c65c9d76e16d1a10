"""A valid request for every route of the artifacts room; part of `api_cases.py`."""

from typing import Any, Final

from api_case import At, Body, Case
from api_scenario import ARTIFACT
from artifacts_fixtures import SigningKey, content_digest, intent


def _tenant(value: dict[str, Any]) -> Case:
    return Case(At.TENANT, _same(value))


def _same(value: dict[str, Any]) -> Body:
    return lambda _: value


_TENANT = Case(At.TENANT)
_PROJECT = Case(At.PROJECT)
_REACH = Case(At.REACH)
_REASON = {"reason": "It is over."}
_SIGNED = SigningKey()

ARTIFACT_CASES: Final[dict[str, Case]] = {
    "artifact_source_create": Case(At.PLATFORM, _same({"name": "more"}), by="root"),
    "tenant_artifact_source_create": _tenant({"name": "more"}),
    "artifact_source_list": _REACH,
    "artifact_source_read": _TENANT,
    "artifact_source_update": _tenant({"description": "Ours."}),
    "artifact_key_create": _tenant({"name": "more", "public_key": _SIGNED.pem}),
    "artifact_key_list": _TENANT,
    "artifact_key_revoke": _tenant(_REASON),
    "artifact_create": _tenant(intent(ARTIFACT) | {"version": "2.0.0"}),
    "artifact_list": _REACH,
    "artifact_read": _TENANT,
    "artifact_upload_read": _TENANT,
    "artifact_part_put": Case(
        At.TENANT,
        content=ARTIFACT,
        headers={"Content-Digest": content_digest(ARTIFACT)},
        params={"artifact_id": "intended_id"},
    ),
    "artifact_complete": _TENANT,
    "artifact_cancel": _tenant(_REASON),
    "artifact_sign": _tenant({"signature": _SIGNED.sign(ARTIFACT)}),
    "artifact_promote": _tenant({"channel": "stable"}),
    "artifact_deprecate": _tenant({"message": "Take a newer one."}),
    "artifact_restore": _TENANT,
    "artifact_retire": _tenant(_REASON),
    "artifact_revoke": _tenant(_REASON),
    "artifact_resolve": Case(
        At.PROJECT,
        query={"name": "runtime", "version": "1.0.0", "platform": "debian-12/amd64"},
    ),
    "artifact_delivery_create": Case(At.PROJECT, lambda p: {"artifact_id": p["artifact_id"]}),
    "artifact_delivery_list": _REACH,
    "artifact_delivery_read": _PROJECT,
    "artifact_delivery_revoke": _PROJECT,
    "artifact_content_read": Case(
        At.OPEN, why="machines fetch with a token of their own, for one artifact"
    ),
}
