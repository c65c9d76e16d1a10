"""Certificates for people: as themselves, on machines where an app made them an account."""

from typing import Any

import httpx2
import pytest
from custody_fixtures import USER_KEY, Site, reader_make, site_make
from platform_calls import bearer

from gpuaas_contract.permissions import RoleName
from gpuaas_platform.identity.store.people import NewUser, user_insert
from gpuaas_platform.kernel.call import Platform

pytestmark = pytest.mark.integration
PERSON = {"public_key": USER_KEY, "login": "person", "pty": True}


@pytest.fixture
async def site(client: httpx2.AsyncClient, platform: Platform, callers: Any) -> Site:
    return await site_make(client, platform, callers)


@pytest.fixture
async def member(site: Site) -> str:
    """A member of the project whom identity knows, too."""
    token: str = site.callers.add(RoleName.PROJECT_MEMBER, site.place)
    now = site.platform.clock.now()
    new = NewUser(token, None, "Ada.L@example.org", "Ada", None, now)
    async with site.platform.db.transaction() as conn:
        assert await user_insert(conn, new) is not None
    return token


async def test_a_member_gets_a_certificate_for_themselves_alone(site: Site, member: str) -> None:
    allocation = site.allocations[0]
    answer = await site.post(f"/allocations/{allocation}/access-grants", PERSON, bearer(member))
    assert answer.status_code == 201, answer.text
    grant = answer.json()["grant"]
    assert grant["principal"] == f"{allocation}:{member}"
    assert (grant["login"], grant["username"], grant["pty"]) == ("person", "ada-l", True)
    many = {**PERSON, "allocation_ids": list(site.allocations)}
    issued = (await site.post("/access-grants", many, bearer(member))).json()["issued"]
    assert [one["grant"]["principal"] for one in issued] == [
        f"{one}:{member}" for one in site.allocations
    ]


async def test_a_member_is_nobodys_operator(site: Site, member: str) -> None:
    path = f"/allocations/{site.allocations[0]}/access-grants"
    answer = await site.post(path, {"public_key": USER_KEY}, bearer(member))
    assert (answer.status_code, answer.json()["code"]) == (403, "permission_denied")
    assert (await site.post(path, PERSON, site.viewer)).status_code == 403


async def test_a_service_account_is_no_person(site: Site) -> None:
    reader = await reader_make(site)
    path = f"/allocations/{site.allocations[0]}/access-grants"
    answer = await site.post(path, PERSON, reader.headers)
    assert answer.status_code == 403
    robot = bearer(site.callers.add(RoleName.PROJECT_ADMIN, site.place))
    answer = await site.post(path, PERSON, robot)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/login"


async def test_one_ends_ones_own_certificate_and_no_other(site: Site, member: str) -> None:
    path = f"/allocations/{site.allocations[0]}/access-grants"
    mine: Any = (await site.post(path, PERSON, bearer(member))).json()["grant"]
    others = (await site.grant())["grant"]
    refused = await site.post(f"/access-grants/{others['id']}/revoke", {}, bearer(member))
    assert refused.status_code == 403
    ended = await site.post(f"/access-grants/{mine['id']}/revoke", {}, bearer(member))
    assert ended.status_code == 200, ended.text
