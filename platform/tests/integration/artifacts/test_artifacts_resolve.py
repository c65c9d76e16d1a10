"""Resolving by name through policy, trust by signatures, and an artifact's later life."""

from typing import Any

import httpx2
import pytest
from artifacts_fixtures import ArtifactSite, SigningKey, artifact_site_make, intent

from gpuaas_platform.kernel.call import Platform

ONE, TWO = b"the first content", b"the second content"


@pytest.fixture
async def site(client: httpx2.AsyncClient, platform: Platform, callers: Any) -> ArtifactSite:
    return await artifact_site_make(client, platform, callers)


async def _resolved(site: ArtifactSite, **params: str) -> httpx2.Response:
    asked = {"name": "runtime", "version": "1.0.0", "platform": "debian-12/amd64"} | params
    path = f"/projects/{site.place.project_id}/artifact-resolution"
    chosen = {name: value for name, value in asked.items() if value}
    return await site.client.get(path, params=chosen, headers=site.robot)


async def test_a_name_means_one_artifact(site: ArtifactSite) -> None:
    source = await site.shared()
    any_one = await site.published(source, ONE, site.root, platform="any")
    exact = await site.published(source, TWO, site.root)
    answer = await _resolved(site)
    assert answer.json()["artifact"]["id"] == exact["id"]
    assert "No overlay speaks of blob://platform/base" in answer.json()["decision"]["message"]
    reasons = {one["artifact_id"]: one["reason"] for one in answer.json()["considered"]}
    assert reasons[any_one["id"]] == "The source has one for this very platform."
    elsewhere = await _resolved(site, platform="ubuntu-24.04/arm64")
    assert elsewhere.json()["artifact"]["id"] == any_one["id"]
    missing = await _resolved(site, version="9.9")
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
    assert "runtime 9.9 for debian-12/amd64" in missing.json()["detail"]
    assert "runtime 1.0.0" in missing.json()["errors"][0]["message"]
    both = await _resolved(site, channel="stable")
    assert both.json()["errors"][0]["pointer"] == "/query/version"


async def test_a_tenants_own_source_needs_to_be_listed(site: ArtifactSite) -> None:
    source = await site.own()
    path = f"/artifact-sources/{source}/artifacts"
    refused = await site.ask("POST", path, site.boss, intent(ONE))
    assert (refused.status_code, refused.json()["code"]) == (403, "policy_denied")
    assert "blob://tenant/acme/tools is a tenant's own source" in refused.json()["detail"]
    rules = {"artifact_sources": {"allow": ["blob://tenant/acme/*"]}}
    project = f"/projects/{site.place.project_id}/policy-overlays"
    await site.made(project, site.lead, {"name": "mine", "rules": rules})
    still = await site.ask("POST", path, site.boss, intent(ONE))
    assert still.status_code == 403  # a project's own list adds nothing
    await site.allow("blob://tenant/acme/*")
    artifact = await site.published(source, ONE, site.boss)
    answer = await _resolved(site)
    assert answer.json()["artifact"]["id"] == artifact["id"]
    assert answer.json()["decision"]["decided_by"]["rule"] == "allow"
    issued = await site.delivery(artifact["id"])
    assert (await site.fetched(issued)).content == ONE


async def test_policy_refuses_and_says_which_rule(site: ArtifactSite) -> None:
    source = await site.shared()
    artifact = await site.published(source, ONE, site.root)
    rules = {"artifact_sources": {"deny": ["blob://platform/*"]}}
    path = f"/tenants/{site.place.org_id}/policy-overlays"
    await site.made(path, site.boss, {"name": "no-shared", "rules": rules})
    refused = await _resolved(site)
    assert (refused.status_code, refused.json()["code"]) == (403, "policy_denied")
    assert refused.json()["context"]["overlay"] == "no-shared"
    assert refused.json()["context"]["rule"] == "deny blob://platform/*"
    assert "blob://platform/base: " in refused.json()["errors"][0]["message"]
    delivery = f"/allocations/{site.allocations[0]}/artifact-deliveries"
    refused = await site.ask("POST", delivery, site.robot, {"artifact_id": artifact["id"]})
    assert (refused.status_code, refused.json()["code"]) == (403, "policy_denied")


async def test_two_contents_of_one_name_are_not_chosen_between(site: ArtifactSite) -> None:
    shared, own = await site.shared(), await site.own()
    await site.allow("blob://*")
    first = await site.published(shared, ONE, site.root)
    await site.published(own, TWO, site.boss)
    refused = await _resolved(site)
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert len(refused.json()["errors"]) == 2
    named = await _resolved(site, source="blob://platform/base")
    assert named.json()["artifact"]["id"] == first["id"]
    third = await site.own("mirror")
    await site.published(third, ONE, site.boss)
    same = await _resolved(site, source="mirror")
    assert same.status_code == 200


async def test_channels_point_and_move(site: ArtifactSite) -> None:
    source = await site.shared()
    one = await site.published(source, ONE, site.root)
    two = await site.published(source, TWO, site.root, version="2.0.0")
    await site.made(f"/artifacts/{one['id']}/promote", site.root, {"channel": "stable"})
    answer = await _resolved(site, version="", channel="stable")
    assert answer.json()["artifact"]["id"] == one["id"]
    moved = await site.made(f"/artifacts/{two['id']}/promote", site.root, {"channel": "stable"})
    assert (moved["status"], moved["channels"]) == ("promoted", ["stable"])
    left = await site.seen(f"/artifacts/{one['id']}", site.viewer)
    assert (left["status"], left["channels"]) == ("published", [])
    answer = await _resolved(site, version="", channel="stable")
    assert answer.json()["artifact"]["id"] == two["id"]
    await site.made(f"/artifacts/{two['id']}/deprecate", site.root, {"message": "Take 3."})
    assert (await _resolved(site, version="", channel="stable")).status_code == 404
    answer = await _resolved(site, version="2.0.0")
    assert answer.json()["warnings"] == ["runtime 2.0.0 is deprecated: Take 3."]
    refused = await site.ask("POST", f"/artifacts/{two['id']}/promote", site.root, {})
    assert refused.json()["code"] == "state_conflict"
    restored = await site.made(f"/artifacts/{two['id']}/restore", site.root, None)
    assert restored["status"] == "published"
    await site.made(f"/artifacts/{two['id']}/retire", site.root, {"reason": "Over."})
    assert (await _resolved(site, version="2.0.0")).status_code == 404


async def test_signatures_make_trust(site: ArtifactSite) -> None:
    source = await site.shared(signature_required=True)
    key, other = SigningKey(), SigningKey()
    keys = f"/artifact-sources/{source}/keys"
    made = await site.made(keys, site.root, {"name": "release", "public_key": key.pem})
    taken = await site.ask("POST", keys, site.root, {"name": "release", "public_key": other.pem})
    assert taken.json()["code"] == "name_taken"
    unsigned = await site.published(source, ONE, site.root)
    refused = await _resolved(site)
    assert (refused.status_code, refused.json()["code"]) == (409, "artifact_untrusted")
    sign = f"/artifacts/{unsigned['id']}/sign"
    wrong = await site.made(sign, site.root, {"signature": other.sign(ONE)})
    assert wrong["trust"] == "failed_verification"
    assert "None of the 1 keys" in wrong["trust_reason"]
    assert (await _resolved(site)).json()["code"] == "artifact_untrusted"
    right = await site.made(sign, site.root, {"signature": key.sign(ONE)})
    assert (right["trust"], right["key_id"]) == ("verified", made["id"])
    assert (await _resolved(site)).status_code == 200
    worse = await site.ask("POST", sign, site.root, {"signature": other.sign(ONE)})
    assert worse.json()["code"] == "artifact_untrusted"
    signed = await site.published(source, TWO, site.root, version="2.0.0", signature=key.sign(TWO))
    assert signed["trust"] == "verified"


async def test_a_revoked_key_takes_its_trust_along(site: ArtifactSite) -> None:
    source, key = await site.shared(), SigningKey()
    keys = f"/artifact-sources/{source}/keys"
    body = {"public_key": key.pem}
    first = await site.made(keys, site.root, body | {"name": "old"})
    one = await site.published(source, ONE, site.root, signature=key.sign(ONE))
    issued = await site.delivery(one["id"])
    soft = {"reason": "Rotated.", "distrust": False}
    await site.made(f"/artifact-keys/{first['id']}/revoke", site.root, soft)
    assert (await site.seen(f"/artifacts/{one['id']}", site.root))["trust"] == "unverified"
    assert (await site.fetched(issued)).status_code == 200
    second = await site.made(keys, site.root, body | {"name": "new"})
    await site.made(f"/artifacts/{one['id']}/sign", site.root, {"signature": key.sign(ONE)})
    await site.made(f"/artifact-keys/{second['id']}/revoke", site.root, {"reason": "Stolen."})
    told = await site.seen(f"/artifacts/{one['id']}", site.root)
    assert (told["trust"], "Stolen." in told["trust_reason"]) == ("revoked", True)
    assert (await site.fetched(issued)).json()["code"] == "state_conflict"
    assert (await _resolved(site)).json()["code"] == "artifact_untrusted"
    final = await site.ask(
        "POST", f"/artifacts/{one['id']}/sign", site.root, {"signature": key.sign(ONE)}
    )
    assert final.json()["code"] == "state_conflict"
    twice = await site.ask(
        "POST", f"/artifact-keys/{second['id']}/revoke", site.root, {"reason": "Again."}
    )
    assert twice.json()["code"] == "state_conflict"


async def test_a_disabled_source_gives_nothing(site: ArtifactSite) -> None:
    source = await site.shared()
    artifact = await site.published(source, ONE, site.root)
    path = f"/artifact-sources/{source}"
    answer = await site.ask("PATCH", path, site.root, {"enabled": False})
    assert (answer.status_code, answer.json()["enabled"]) == (200, False)
    assert (await _resolved(site)).status_code == 404
    delivery = f"/allocations/{site.allocations[0]}/artifact-deliveries"
    refused = await site.ask("POST", delivery, site.robot, {"artifact_id": artifact["id"]})
    assert refused.json()["code"] == "state_conflict"
    more = intent(TWO) | {"version": "2"}
    refused = await site.ask("POST", f"{path}/artifacts", site.root, more)
    assert refused.json()["code"] == "state_conflict"


async def test_who_sees_and_changes_which_source(site: ArtifactSite) -> None:
    shared, own = await site.shared(), await site.own()
    seen = [one["id"] for one in (await site.seen("/artifact-sources", site.viewer))["items"]]
    assert seen == [own, shared]
    await site.allow("blob://*")
    path = f"/artifact-sources/{own}/artifacts"
    lead = await site.ask("POST", path, site.lead, intent(ONE))
    assert lead.json()["code"] == "permission_denied"
    update = f"/artifact-sources/{own}"
    opened = await site.ask("PATCH", update, site.boss, {"project_publish": True})
    assert opened.json()["project_publish"] is True
    assert (await site.published(own, ONE, site.lead))["status"] == "published"
    viewer = await site.ask("POST", path, site.viewer, intent(TWO))
    assert viewer.json()["code"] == "permission_denied"
    shared_path = f"/artifact-sources/{shared}/artifacts"
    boss = await site.ask("POST", shared_path, site.boss, intent(ONE))
    assert boss.json()["code"] == "permission_denied"
    stale = await site.client.patch(
        update, json={"description": "x"}, headers=site.boss | {"If-Match": '"1"'}
    )
    assert stale.status_code == 412


async def test_sources_that_cannot_be_are_refused(site: ArtifactSite) -> None:
    own = f"/tenants/{site.place.org_id}/artifact-sources"
    oci = {"name": "reg", "kind": "oci"}
    cases: list[tuple[dict[str, Any], str]] = [
        (oci, "/address"),
        (oci | {"address": "oci://127.0.0.1:5000/x"}, "/address"),
        (oci | {"address": "oci://169.254.169.254/x"}, "/address"),
        (oci | {"address": "oci://10.0.0.1/x", "plain_http": True}, "/plain_http"),
        (oci | {"address": "oci://r.example.com:0/x"}, "/address"),
        (oci | {"address": "oci://r.example.com/x", "username": "u"}, "/username"),
        ({"name": "b", "address": "oci://r.example.com/x"}, "/address"),
        ({"name": "b", "password": "x"}, "/password"),
    ]
    for body, pointer in cases:
        answer = await site.ask("POST", own, site.boss, body)
        assert answer.status_code == 422, body
        assert answer.json()["errors"][0]["pointer"] == pointer, body
    await site.own()
    taken = await site.ask("POST", own, site.boss, {"name": "tools"})
    assert taken.json()["code"] == "name_taken"
    secret = await site.made(
        "/artifact-sources",
        site.root,
        oci | {"address": "oci://r.example.com/x", "username": "u", "password": "canary-9f2"},
    )
    assert "canary" not in str(secret)
    rows = await site.platform.db.fetch("SELECT s::text AS line FROM artifact_sources s")
    assert all("canary" not in row["line"] for row in rows)
