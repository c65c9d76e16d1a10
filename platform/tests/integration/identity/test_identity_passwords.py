"""New passwords: what is refused, with the sentence the person sees; how they are compared."""

import pytest
from identity_fixtures import PASSWORD, Browser, World, tenant_made, tenant_scope

from gpuaas_platform.identity.bootstrap import AdminWish, admin_create
from gpuaas_platform.kernel.problems import PlatformError

OF_NAMES = "/password: is little more than your name, your tenant's or the product's"
COMMON = (
    "/password: is easy to guess. This is similar to a commonly used password."
    " Take several unrelated words."
)


@pytest.mark.parametrize(
    ("password", "said"),
    [
        ("Password1234", COMMON),
        ("umbrella-umbrella", OF_NAMES),
        ("eve.adams.2026", OF_NAMES),
        ("GPUaaS-gpuaas", OF_NAMES),
    ],
)
async def test_a_new_person_gets_no_easy_password(
    world: World, admin: Browser, password: str, said: str
) -> None:
    org_id, _ = await tenant_made(admin, "umbrella")
    boss = await world.person(admin, "tenant_admin", tenant_scope(org_id))
    body = {"email": "eve.adams@example.org", "password": password}
    refused = await boss.post(f"/tenants/{org_id}/users", body)
    assert (refused.status_code, refused.json()["detail"]) == (422, said)
    assert refused.json()["errors"][0]["pointer"] == "/password"


async def test_ones_own_new_password_is_checked(world: World, admin: Browser) -> None:
    org_id, _ = await tenant_made(admin, "umbrella")
    boss = await world.person(admin, "tenant_admin", tenant_scope(org_id))
    body = {"password": "aaaaaaaaaaaaaaa", "current_password": PASSWORD}
    refused = await boss.put(f"/users/{boss.user_id}/password", body)
    assert refused.status_code == 422
    assert refused.json()["detail"].startswith('/password: is easy to guess. Repeats like "aaa"')
    assert (await boss.get("/whoami")).status_code == 200


async def test_the_first_administrators_password_is_checked(world: World) -> None:
    wish = AdminWish("root@example.org", password="Password1234")
    with pytest.raises(PlatformError, match="The password is easy to guess"):
        await admin_create(world.platform, wish, "test")


async def test_one_password_however_it_is_composed(world: World, admin: Browser) -> None:
    composed, decomposed = "\u00dcberraschung am Donnerstag", "U\u0308berraschung am Donnerstag"
    await admin.made("/users", {"email": "eve@example.org", "password": composed})
    body = {"email": "eve@example.org", "password": decomposed}
    assert (await world.browser().post("/sessions", body)).status_code == 201
