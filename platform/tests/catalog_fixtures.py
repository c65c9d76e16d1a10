"""The real manifest of the template app, and the calls that put it into a catalog."""

import json
from pathlib import Path
from typing import Any

import httpx2

MANIFEST = (
    Path(__file__).parents[2] / "apps" / "template" / "src" / "gpuaas_template" / "manifest.json"
)


def template_manifest() -> dict[str, Any]:
    """A copy of the template's manifest, to be changed at will."""
    document: dict[str, Any] = json.loads(MANIFEST.read_text())
    return document


async def app_publish(
    client: httpx2.AsyncClient, headers: dict[str, str], slug: str, *versions: str
) -> None:
    """An app in the catalog with these versions published."""
    app = {"slug": slug, "display_name": slug.title(), "publisher": "House"}
    answer = await client.post("/apps", json=app, headers=headers)
    assert answer.status_code in {201, 409}, answer.text
    for version in versions:
        body = {"version": version, "manifest": template_manifest(), "publish": True}
        answer = await client.post(f"/apps/{slug}/versions", json=body, headers=headers)
        assert answer.status_code == 201, answer.text


async def entitle(
    client: httpx2.AsyncClient, headers: dict[str, str], where: str, slug: str, **more: Any
) -> dict[str, Any]:
    """An entitlement at `/tenants/…` or `/projects/…`."""
    body = {"app_slug": slug, **more}
    answer = await client.post(f"{where}/entitlements", json=body, headers=headers)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made
