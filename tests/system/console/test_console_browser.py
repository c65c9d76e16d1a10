"""The console in a real browser, on a real platform: signing in, what one may see, how it looks to
everybody: keyboard, screen reader, phone."""

import asyncio
import re
from collections.abc import Sequence
from functools import partial
from itertools import zip_longest
from typing import Any
from urllib.parse import urlsplit

from console_ground import ADMIN, MEMBER, OWNER, PASSWORD, Ground
from examined_page import After, dialog, examined
from playwright.async_api import Page, Route, expect

PROJECT_PAGES = (
    "catalog",
    "catalog/template",
    "catalog/template/deploy",
    "instances",
    "events?tab=webhooks",
    "operations",
    "access?tab=credentials",
    "allocations",
    "access?tab=secrets",
    "usage",
    "access",
    "policy",
    "access?tab=service-accounts",
    "events",
    "access?tab=explain",
)
"""One after the other they are pages of their own: what was left is never taken for what came."""
OTHER_PAGES = (
    "/platform",
    "/home",
    "/audit",
    "/correlations",
    "/projects",
    "/account",
    "/device",
    "/artifacts",
    "/tenants",
    "/artifacts?tab=sources",
    "/admin/capacity",
    "/admin/apps",
    "/admin/apps/template",
)
CAPACITY_TABS = ("enrolments", "kinds", "regions", "policy")
TENANT_TABS = ("people", "roles", "entitlements", "policy", "webhooks", "quotas", "break-glass")


async def test_wrong_password_is_said_with_the_correlation_id(visit: Any) -> None:
    page = await visit()
    await page.goto("/sign-in")
    await page.get_by_label("Email").fill(OWNER)
    await page.get_by_label("Password").fill("not the password at all")
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await expect(page.get_by_text("sign_in_failed").first).to_be_visible()
    await expect(page.get_by_role("button", name="Copy the correlation id")).to_be_visible()


async def test_a_deep_link_leads_there_after_signing_in_and_nothing_comes_from_elsewhere(
    visit: Any, site: Ground
) -> None:
    page = await visit()
    hosts: set[str] = set()
    page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
    wanted = f"/projects/{site.project_id}/allocations?allocations.q=gpu"
    await page.goto(wanted)
    await page.get_by_label("Email").fill(OWNER)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await page.wait_for_url(f"**{wanted}")
    await expect(page.get_by_role("heading", name="Allocations", level=1)).to_be_visible()
    await expect(page.get_by_role("link", name="Connection: Live")).to_be_visible()
    await page.get_by_role("button", name="Olga Owner").click()
    await page.get_by_role("menuitem", name="Sign out").click()
    await expect(page.get_by_label("Email")).to_be_visible()
    assert len(hosts) == 1


async def test_a_member_is_offered_nothing_they_may_not_do_and_is_denied_it(
    visit: Any, site: Ground
) -> None:
    page = await visit(MEMBER)
    await page.goto(f"/projects/{site.project_id}/catalog")
    await expect(page.get_by_role("link", name="Web service", exact=True)).to_be_visible()
    await expect(page.get_by_text("Deploy", exact=True)).to_have_count(0)
    navigation = page.get_by_role("navigation")
    for name in ("Tenants", "Published apps", "Capacity", "Audit"):
        await expect(navigation.get_by_role("link", name=name, exact=True)).to_have_count(0)
    await page.goto(f"/projects/{site.project_id}/allocations")
    await expect(page.get_by_role("heading", name="Allocations", level=1)).to_be_visible()
    await expect(page.get_by_role("button", name="Get an allocation")).to_have_count(0)
    # What the console does not offer, the platform does not do either.
    body = {"app_slug": "template", "name": "sneaky", "settings": {}}
    for path, sent in (
        (f"/api/v1/projects/{site.project_id}/app-instances", body),
        (f"/api/v1/projects/{site.project_id}/service-accounts", {"name": "sneaky"}),
        ("/api/v1/regions", {"name": "sneaky", "display_name": "Sneaky"}),
    ):
        assert await _posted(page, path, sent) == 403


async def test_every_page_is_for_screen_readers_and_phones_too(visit: Any, site: Ground) -> None:
    """No serious finding of axe, and nothing to scroll sideways for at the width of a phone."""
    owner = await visit(OWNER, examined=True)
    admin = await visit(ADMIN, examined=True)
    nobody = await visit(examined=True)
    await nobody.goto("/platform")
    of_project = [f"/projects/{site.project_id}/{path}" for path in PROJECT_PAGES]
    tenant = [f"/tenants/{site.tenant_id}?tab={tab}" for tab in TENANT_TABS]
    capacity = [f"/admin/capacity?tab={tab}" for tab in CAPACITY_TABS]
    # A tab of a page is the same page as the one before: others stand between them.
    of_owners = [*_in_turn(of_project, _instance_pages(site)), *_done_by_an_owner(site)]
    of_admins = [*_in_turn(OTHER_PAGES, tenant), *_in_turn(_made_pages(site), capacity)]
    of_owner, of_admin, of_nobody = await asyncio.gather(
        examined(owner, of_owners), examined(admin, of_admins), examined(nobody, ["/sign-in"])
    )
    assert of_owner | of_admin | of_nobody == {}


async def test_a_phone_shows_each_row_whole_and_acts_on_what_is_chosen(
    visit: Any, site: Ground, picture: Any
) -> None:
    site.hold("palm-01", "palm-02")
    instance = site.deploy("palm", "palm-01")
    page = await visit(OWNER)
    await page.set_viewport_size({"width": 390, "height": 844})
    await page.goto(f"/projects/{site.project_id}/allocations?allocations.q=palm")
    card = page.get_by_role("listitem").filter(has=page.get_by_role("link", name="palm-02"))
    await expect(card).to_contain_text("Free")
    await expect(card).to_contain_text("16 CPUs, 64 GiB")
    first = page.get_by_role("list", name="Allocations").get_by_role("listitem").first
    await expect(first).to_contain_text("palm-01")
    await page.get_by_role("button", name="Order of allocations").click()
    await page.get_by_role("option", name="Order: Name, last first").click()
    await expect(first).to_contain_text("palm-02")
    await expect(page).to_have_url(re.compile("allocations.sort=-name"))

    await page.goto(f"/instances/{instance['id']}")
    box = page.locator(".topology-box").first
    await expect(box).to_contain_text("Gateway")
    size = await box.bounding_box()
    assert size is not None
    assert size["width"] > 200  # a picture in columns would be drawn too small to read
    await page.get_by_role("tab", name=re.compile("Members")).click()
    await page.get_by_role("button", name="Add servers").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("checkbox", name="palm-02").click()
    await expect(dialog.get_by_text("The topology changes from")).to_be_visible()
    await dialog.get_by_role("button", name="Add servers").click()
    await page.get_by_role("checkbox", name="Server on palm-02").click()
    await page.get_by_role("button", name="Drain", exact=True).click()
    await dialog.get_by_role("button", name="Drain servers").click()
    await expect(page.get_by_role("definition").filter(has_text="Drained").first).to_be_visible()
    await page.evaluate("scrollTo(0, 0)")
    await picture(page, "phone", width=390)


async def test_a_page_lost_on_its_way_is_asked_for_again(visit: Any, site: Ground) -> None:
    """As when the network changes under the browser."""
    page = await visit(OWNER)
    lost: set[str] = set()

    async def lose(route: Route) -> None:
        kind = route.request.resource_type
        if kind in lost:
            await route.fallback()
        else:
            lost.add(kind)
            await route.abort("internetdisconnected")

    await page.route("**/assets/deploy-*", lose)
    await page.goto(f"/projects/{site.project_id}/catalog/template/deploy")
    await expect(page.get_by_role("heading", name="Version and name")).to_be_visible()
    assert lost == {"script", "stylesheet"}
    sheets = "[...document.styleSheets].filter(({ href }) => href?.includes('/deploy-')).length"
    assert await page.evaluate(sheets) == 1


async def test_a_menu_opened_while_the_page_still_comes_stays_what_it_is(
    visit: Any, site: Ground
) -> None:
    """The bar knows its menus by their place: what comes late may not move them on."""
    page = await visit(OWNER)
    held = {"**/api/v1/projects?*": asyncio.Event(), "**/api/v1/events/stream*": asyncio.Event()}
    for path, released in held.items():
        await page.route(path, partial(_held, released))
    projects, stream = held.values()
    account = page.get_by_role("button", name="Olga Owner")
    await page.goto("/home")
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    await expect(account).to_have_count(0)
    projects.set()
    await account.click()
    stream.set()
    await expect(page.get_by_role("link", name="Connection: Live")).to_be_visible()
    await expect(page.get_by_role("menuitem", name="Sign out")).to_be_visible()
    await expect(page.get_by_role("menuitemcheckbox")).to_have_count(0)


async def test_the_keyboard_alone_leads_to_the_content(visit: Any, site: Ground) -> None:
    page = await visit(OWNER)
    await page.goto(f"/projects/{site.project_id}/instances")
    await expect(page.get_by_role("heading", name="Instances", level=1)).to_be_visible()
    await page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    await expect(skip).to_be_focused()
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    inside = "document.getElementById('content').contains(document.activeElement)"
    await page.wait_for_function(inside)


async def _held(released: asyncio.Event, route: Route) -> None:
    await released.wait()
    await route.continue_()


def _in_turn(one: Sequence[str | After], other: Sequence[str | After]) -> list[str | After]:
    return [path for pair in zip_longest(one, other) for path in pair if path is not None]


def _done_by_an_owner(site: Ground) -> list[str | After]:
    """What an owner opens: the steps of a deploy, forms for a machine and a role, an old link."""
    site.hold("examined-free")
    project = f"/projects/{site.project_id}"
    deploy = f"{project}/catalog/template/deploy"
    accounts = site.admin.get(f"{project}/service-accounts")["items"]
    return [
        After(deploy, "its second step", _name),
        f"/service-accounts/{accounts[0]['id']}",
        After(deploy, "its third step", _choose),
        dialog(f"{project}/allocations", "Get an allocation"),
        "/no-such-page",
        dialog(f"{project}/access", "Give a role"),
    ]


async def _name(page: Page) -> None:
    await page.get_by_role("textbox", name="Name").fill("examined-too")
    await page.get_by_role("button", name="Next", exact=True).click()
    await expect(page.get_by_role("radio", name="examined-free")).to_be_visible()


async def _choose(page: Page) -> None:
    """What was typed before is kept, and so is the step."""
    await page.get_by_role("radio", name="examined-free").click()
    await page.get_by_role("button", name="Next", exact=True).click()
    await expect(page.get_by_role("heading", name="Review")).to_be_visible()


def _made_pages(site: Ground) -> list[str]:
    """Pages of single things: a source, what is published to it, a webhook, a node, the tenant."""
    source = site.admin.made("/artifact-sources", {"name": "examined"})["id"]
    file = {"name": "tool", "version": "1", "digest": f"sha256:{'0' * 64}", "size": 1}
    artifact = site.admin.made(f"/artifact-sources/{source}/artifacts", file)["id"]
    hook = {"url": "http://127.0.0.1:9/hook", "description": "Examined"}
    webhook = site.admin.made(f"/tenants/{site.tenant_id}/webhooks", hook)["webhook"]["id"]
    node = site.admin.get("/nodes")["items"][0]["id"]
    return [
        f"/artifact-sources/{source}",
        f"/artifacts/{artifact}",
        f"/webhooks/{webhook}",
        f"/admin/nodes/{node}",
        f"/tenants/{site.tenant_id}",
    ]


def _instance_pages(site: Ground) -> list[str | After]:
    """What an instance leads to, and itself through its tabs."""
    site.hold("examined", "examined-2", "examined-3")
    instance = site.deploy("examined", "examined")
    page = f"/instances/{instance['id']}"
    more = [site.allocations["examined-2"], site.allocations["examined-3"]]
    asked = {"kind": "add_server", "input": {"allocation_ids": more}}
    group = site.admin.made(f"/app-instances/{instance['id']}/operations", asked)
    tabs = ("overview", "members", "operations", "access", "usage", "events", "detail", "settings")
    return [
        *(f"{page}?tab={tab}" for tab in tabs),
        f"/operations/{instance['last_operation_id']}",
        f"/correlations/{instance['correlation_id']}",
        f"/allocations/{site.allocations['examined']}",
        f"/operation-groups/{group['group_id']}",
        dialog(f"{page}?tab=members", "Add servers"),
    ]


async def _posted(page: Page, path: str, body: dict[str, Any]) -> int:
    """The status of a request the page itself would be able to send."""
    script = """async ([path, body]) => {
        const token = document.cookie.match(/gpuaas_csrf=([^;]+)/)[1];
        const headers = {"Content-Type": "application/json", "X-CSRF-Token": token};
        return (await fetch(path, {method: "POST", headers, body: JSON.stringify(body)})).status;
    }"""
    return int(await page.evaluate(script, [path, body]))
