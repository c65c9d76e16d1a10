"""Where a person is and what waits for them there: home with what needs attention and the way out
of it; and somebody of two tenants, who is in one place at a time and sees that place alone."""

import re
from typing import Any

from console_ground import OWNER, PASSWORD, Ground
from playwright.async_api import Locator, Page, expect

TWICE = "tara@acme.example"


async def test_home_names_what_needs_attention_and_leads_to_the_way_out(
    visit: Any, site: Ground
) -> None:
    site.hold("need-01", "need-02")
    site.occupy("need-01", "gateway")
    page = await visit(OWNER)
    await expect(page.get_by_role("heading", name="Needs attention")).to_be_visible()
    # It comes by itself, and goes when it is mended.
    site.place("blocked", "need-01")
    failed = _need(page, "Deploy of blocked")
    await expect(failed).to_contain_text("need-01 carries the gateway of somebody-else")
    await expect(failed).to_contain_text("Failed")
    site.clear("need-01")
    await _retried(page, failed)
    await expect(_need(page, "blocked")).to_have_count(0)

    shaky = site.deploy("shaky", "need-02")
    site.silence("need-02")
    site.admin.made(f"/app-instances/{shaky['id']}/reconcile")
    silent = _need(page, "shaky")
    await expect(silent).to_contain_text("Unreachable")
    site.wake("need-02")
    await silent.get_by_role("link").click()
    await page.wait_for_url("**/instances/**")
    await page.get_by_role("button", name="Actions").click()
    await page.get_by_role("menuitem", name="Reconcile").click()
    await page.get_by_role("dialog").get_by_role("button", name="Reconcile").click()
    await _home(page)
    await expect(_need(page, "shaky")).to_have_count(0)


async def test_a_member_whose_adding_failed_is_named_though_others_came(
    visit: Any, site: Ground
) -> None:
    site.hold("grow-01", "grow-02", "grow-03")
    instance = site.deploy("grown", "grow-01")
    site.occupy("grow-02", "server")
    page = await visit(OWNER)
    await page.goto(f"/instances/{instance['id']}")
    await page.get_by_role("button", name="Add servers").click()
    dialog = page.get_by_role("dialog")
    for name in ("grow-02", "grow-03"):
        await dialog.get_by_role("checkbox", name=name).click()
    await dialog.get_by_role("button", name="Add servers").click()
    follow = page.get_by_role("link", name="Follow it")
    # The one that failed stays in sight, whichever was asked for last.
    failed = page.get_by_role("heading", name=re.compile("Add servers . Server on grow-02"))
    await expect(page.get_by_role("tab", name="Members (4)")).to_be_visible()
    await expect(page.get_by_text("machine_taken")).to_be_visible()
    await expect(failed).to_be_visible()
    await page.get_by_role("tab", name="History").click()
    came = page.get_by_role("row", name=re.compile("grow-03"))
    await expect(came.get_by_text("Succeeded")).to_be_visible()
    await expect(failed).to_be_visible()
    await follow.click()
    await page.wait_for_url("**/operation-groups/**")
    await expect(page.get_by_text("Partly failed")).to_be_visible()
    await expect(page.get_by_text("2 of 2")).to_be_visible()
    await expect(page.get_by_role("row", name=re.compile("grow-02.*carries"))).to_be_visible()

    await _home(page)
    need = _need(page, "Add server of grown")
    await expect(need).to_contain_text("grow-02 carries the server of somebody-else")
    site.clear("grow-02")
    await _retried(page, need)
    await expect(need).to_have_count(0)


async def test_a_person_of_two_tenants_is_in_one_place_at_a_time(visit: Any, site: Ground) -> None:
    genome = _another_tenant(site)
    speech = _another_project(site)
    site.hold("talk-01", project_id=speech)
    site.hold("gene-01", project_id=genome)
    page = await visit(TWICE)
    await _switch(page, "Genome")
    await expect(page.get_by_text("In Genome.")).to_be_visible()
    await page.get_by_role("navigation").get_by_role("link", name="Allocations").click()
    await page.wait_for_url(f"**/projects/{genome}/allocations")
    await expect(page.get_by_role("link", name="gene-01")).to_be_visible()
    await _holds_nothing_of(page, "Acme", "Speech", "talk-01")

    # The same page, in the other place.
    await _switch(page, "Speech")
    await page.wait_for_url(f"**/projects/{speech}/allocations")
    await expect(page.get_by_role("link", name="talk-01")).to_be_visible()
    await _holds_nothing_of(page, "Beta", "Genome", "gene-01")

    # A link to something of the other place leads into it, and stays there.
    await page.goto(f"/allocations/{site.allocations['gene-01']}")
    for _ in ("first", "again"):
        await expect(page.get_by_role("heading", name="gene-01", level=1)).to_be_visible()
        await expect(page.get_by_role("button", name="Project: Genome")).to_be_visible()
        instances = page.get_by_role("navigation").get_by_role("link", name="Instances")
        await expect(instances).to_have_attribute("href", f"/projects/{genome}/instances")
        await page.reload()
    await _holds_nothing_of(page, "Acme", "Speech", "talk-01")


async def test_who_is_of_one_tenant_sees_nothing_of_another(visit: Any, site: Ground) -> None:
    genome = _another_tenant(site)
    site.hold("gene-02", project_id=genome)
    page = await visit(OWNER)
    for path in (
        f"/allocations/{site.allocations['gene-02']}",
        f"/projects/{genome}/instances",
        f"/projects/{genome}/allocations",
    ):
        await page.goto(path)
        await expect(page.get_by_role("button", name="Project: Vision")).to_be_visible()
        await expect(page.get_by_text("not_found").first).to_be_visible()
        # Nor that there is nothing: it is not told.
        await expect(page.get_by_text(re.compile("Nothing runs|holds no machine"))).to_have_count(0)
        await _holds_nothing_of(page, "Genome", "Beta", "gene-02")
    await page.get_by_role("button", name="Project: Vision").click()
    await expect(page.get_by_role("menuitemcheckbox", name="Vision")).to_be_visible()
    await expect(page.get_by_role("menuitemcheckbox", name="Genome")).to_have_count(0)


def _need(page: Page, name: str) -> Locator:
    """What needs attention, by the words that name it."""
    table = page.get_by_role("table", name="Needs attention")
    return table.get_by_role("row").filter(has=page.get_by_role("link", name=name))


async def _home(page: Page) -> None:
    await page.get_by_role("navigation").get_by_role("link", name="Home", exact=True).click()
    await expect(page.get_by_role("heading", name="Needs attention")).to_be_visible()


async def _retried(page: Page, need: Locator) -> None:
    """By the way out that home leads to, and home again."""
    await need.get_by_role("rowheader").get_by_role("link").click()
    await page.wait_for_url("**/operations/**")
    await page.get_by_role("button", name="Retry", exact=True).click()
    await page.get_by_role("dialog").get_by_role("button", name="Retry", exact=True).click()
    await expect(page.get_by_text("Succeeded").first).to_be_visible()
    await _home(page)


async def _switch(page: Page, project: str) -> None:
    await page.get_by_role("button", name=re.compile("^Project: ")).click()
    await page.get_by_role("menuitemcheckbox", name=project).click()
    await expect(page.get_by_role("button", name=f"Project: {project}")).to_be_visible()


async def _holds_nothing_of(page: Page, *words: str) -> None:
    """Neither the page nor the navigation beside it."""
    shown = await page.locator("main").inner_text()
    shown += await page.get_by_role("navigation").first.inner_text()
    assert [word for word in words if word in shown] == []


def _another_tenant(site: Ground) -> str:
    """A second tenant with one project, in which somebody of the first works too."""
    known = [one for one in site.admin.get("/tenants")["items"] if one["name"] == "beta"]
    if known:
        projects = site.admin.get(f"/tenants/{known[0]['id']}/projects")["items"]
        return str(projects[0]["id"])
    org = site.admin.made("/tenants", {"name": "beta", "display_name": "Beta Labs"})["id"]
    site.admin.made("/admin/break-glass", {"org_id": org, "reason": "a test of two tenants"})
    named = {"name": "genome", "display_name": "Genome"}
    project = str(site.admin.made(f"/tenants/{org}/projects", named)["id"])
    person = {"email": TWICE, "display_name": "Tara Twice", "password": PASSWORD}
    site.admin.made(f"/tenants/{site.tenant_id}/users", person)
    _let_in(site, org, project)
    return project


def _another_project(site: Ground) -> str:
    """A second project of the first tenant."""
    named = {"name": "speech", "display_name": "Speech"}
    project = str(site.admin.made(f"/tenants/{site.tenant_id}/projects", named)["id"])
    _let_in(site, site.tenant_id, project)
    return project


def _let_in(site: Ground, org: str, project: str) -> None:
    scope = {"kind": "project", "org_id": org, "project_id": project}
    site.admin.made("/role-bindings", {"email": TWICE, "role": "project_admin", "scope": scope})
