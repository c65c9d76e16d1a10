"""`gpuaas mcp serve` with the real client: tools, read-only mode, permissions, confirmation."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from cli_site import BIN, Site
from mcp import Client, StdioServerParameters, types
from mcp.client.context import ClientRequestContext

pytestmark = pytest.mark.integration
MODES = ("legacy", "auto")


@asynccontextmanager
async def agent(site: Site, *words: str, mode: str = "auto", **more: Any) -> AsyncIterator[Client]:
    """An agent connected to the command line as a server."""
    environment = site.environment(**more.pop("environment", {}))
    server = StdioServerParameters(
        command=str(BIN / "gpuaas"), args=["mcp", "serve", *words], env=environment
    )
    async with Client(server, mode=mode, **more) as client:
        yield client


def told(result: Any) -> Any:
    """What a tool answered."""
    return json.loads(result.content[0].text)


async def names(client: Client) -> set[str]:
    """The tools there are."""
    return {one.name for one in (await client.list_tools()).tools}


@pytest.mark.parametrize("mode", MODES)
async def test_the_verbs_are_tools(site: Site, mode: str) -> None:
    async with agent(site, mode=mode) as client:
        known = await names(client)
        assert {"app_instance_create", "allocation_list", "correlation_read"} <= known
        assert not known & {"operation_claim", "token_create", "session_create"}
        found = await client.call_tool("allocation_list", {"project_id": "research"})
        assert not found.is_error
        held = {one["name"] for one in told(found)["items"]}
        assert {"n1", "n6"} <= held
        made = await client.call_tool(
            "region_create", {"name": f"mcp-{mode}", "display_name": "By an agent"}
        )
        assert told(made)["name"] == f"mcp-{mode}"


async def test_a_problem_is_told_with_its_way_out(site: Site) -> None:
    async with agent(site) as client:
        refused = await client.call_tool("tenant_create", {"name": "acme"})
        assert refused.is_error
        assert told(refused)["code"] == "name_taken"
        assert told(refused)["correlation_id"]
        lacking = await client.call_tool("allocation_create", {"name": "x"})
        assert lacking.is_error


async def test_read_only_offers_nothing_that_changes(site: Site) -> None:
    async with agent(site, "--read-only") as client:
        tools = (await client.list_tools()).tools
        assert all(one.annotations and one.annotations.read_only_hint for one in tools)
        blocked = await client.call_tool("region_create", {"name": "no", "display_name": "No"})
        assert blocked.is_error
    assert "no" not in {one["name"] for one in site.done("region", "list")}


async def test_an_agent_has_the_callers_permissions_and_no_more(site: Site) -> None:
    key = {"GPUAAS_KEY_FILE": str(site.folder / "operator.key"), "GPUAAS_URL": site.url}
    async with agent(site, environment=key) as client:
        me = told(await client.call_tool("whoami_read", {}))
        assert me["kind"] == "service_account"
        denied = await client.call_tool("region_create", {"name": "no", "display_name": "No"})
        assert told(denied)["code"] == "permission_denied"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("agrees", [True, False])
async def test_a_person_is_asked_before_something_is_destroyed(
    site: Site, mode: str, agrees: bool
) -> None:
    asked: list[str] = []

    async def person(
        _: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"confirm": agrees})

    role = site.done("role", "create", "--name", f"r-{mode}-{agrees}".lower(), "--permissions",
                     "apps.instance.read")  # fmt: skip
    async with agent(site, mode=mode, elicitation_callback=person) as client:
        answer = await client.call_tool("role_delete", {"role_id": role["id"]})
        assert answer.is_error is not agrees
    assert len(asked) == 1
    assert role["id"] in asked[0]
    assert site.gpuaas("role", "show", role["id"]).code == (4 if agrees else 0)


async def test_where_nobody_can_be_asked_the_thing_is_named_twice(site: Site) -> None:
    role = site.done("role", "create", "--name", "twice", "--permissions", "apps.instance.read")
    async with agent(site) as client:
        refused = await client.call_tool("role_delete", {"role_id": role["id"]})
        assert refused.is_error
        assert "Call again" in told(refused)["error"]
        assert site.gpuaas("role", "show", role["id"]).code == 0
        sure = {"role_id": role["id"], "confirm": role["id"]}
        assert not (await client.call_tool("role_delete", sure)).is_error
    assert site.gpuaas("role", "show", role["id"]).code == 4
