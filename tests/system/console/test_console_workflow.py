"""The workflow a tenant's administrator follows, by clicks alone, on the template app's controller:
deploy, watch, grow, drain, remove, stop, start, take down; and out of a failure, or of what was
begun, by its buttons."""

import re
from typing import Any

from console_ground import MEMBER, OWNER, Ground, publish, template_manifest
from page_facts import fact
from playwright.async_api import Locator, Page, expect


async def test_the_target_workflow_by_clicks(visit: Any, site: Ground, picture: Any) -> None:
    site.hold("gpu-01", "gpu-02", "gpu-03", "gpu-04", sku="h200-8")
    page = await visit(OWNER)
    await page.get_by_role("navigation").get_by_role("link", name="Catalog", exact=True).click()
    await expect(page.get_by_role("link", name="Web service", exact=True)).to_be_visible()
    await picture(page, "catalog")
    await _begin(page, "inference")
    await _trail_ends(page, "Catalog", "Web service", "Deploy Web service")
    await picture(page, "deploy")
    await page.get_by_role("radio", name="gpu-01").click()
    await page.get_by_role("button", name="Next", exact=True).click()

    await expect(page.get_by_text("Gateway, Server")).to_be_visible()
    await expect(page.get_by_text("€21.40").first).to_be_visible()
    await expect(page.get_by_text("€15,622.00")).to_be_visible()
    await expect(page.get_by_text("Project Vision, tenant Acme Research")).to_be_visible()
    await picture(page, "review")
    # A double click is one deploy.
    await page.get_by_role("button", name="Deploy", exact=True).dblclick()
    await page.wait_for_url("**/instances/**")
    await _healthy(page)
    named = [one for one in _instances(site) if one["resource_name"] == "inference"]
    assert len(named) == 1
    await _trail_ends(page, "Vision", "Instances", "inference")
    await _told_who_uses(await visit(OWNER), site, machine="gpu-01", instance="inference")

    other = await visit(MEMBER)
    await other.goto(page.url.removeprefix(site.home))
    await _healthy(other)
    await expect(other.get_by_role("button", name="Actions")).to_have_count(0)
    await expect(other.get_by_role("button", name="Add servers")).to_have_count(0)

    await _grow(page)
    await expect(other.get_by_role("tab", name="Members (5)")).to_be_visible()
    await page.get_by_role("tab", name="Overview").click()
    await expect(page.get_by_text("5 serving").first).to_be_visible()
    await picture(page, "instance", until="Topology")

    await _drain_and_remove(page, picture)
    await _act(page, "Stop", "Stop")
    await expect(fact(other, "Status")).to_contain_text("Stopped")
    await _act(page, "Start", "Start")
    await expect(fact(other, "Status")).to_contain_text("Running")
    await _take_down(page)
    await expect(fact(other, "Status")).to_contain_text("Deleted")
    await page.goto(f"/allocations/{site.allocations['gpu-01']}")
    await expect(page.get_by_text("Nothing: it is free")).to_be_visible()
    await picture(page, "allocation")


async def test_a_failed_deploy_is_recovered_by_its_buttons(
    visit: Any, site: Ground, picture: Any
) -> None:
    site.hold("cpu-01")
    site.occupy("cpu-01", "gateway")
    page = await visit(OWNER)
    await page.goto(f"/projects/{site.project_id}/catalog/template/deploy")
    await _named(page, "recovered")
    await page.get_by_role("radio", name="cpu-01").click()
    await page.get_by_role("button", name="Next", exact=True).click()
    await page.get_by_role("button", name="Deploy", exact=True).click()
    await page.wait_for_url("**/instances/**")

    await expect(page.get_by_text("machine_taken").first).to_be_visible()
    await expect(page.get_by_text("carries the gateway of somebody-else").first).to_be_visible()
    for way in ("Retry", "Reconcile", "Abandon"):
        await expect(page.get_by_role("button", name=way, exact=True).first).to_be_visible()
    await page.get_by_role("link", name="Home", exact=True).last.click()
    needs = page.get_by_role("table", name="Needs attention")
    await expect(needs.get_by_role("row", name=re.compile("Deploy of recovered"))).to_be_visible()
    runs = page.get_by_role("table", name="What runs here")
    await expect(runs.get_by_role("row", name=re.compile("recovered"))).to_be_visible()
    await picture(page, "home")
    await runs.get_by_role("link", name="recovered").click()
    await page.get_by_role("link", name="Everything about it").first.click()
    await page.wait_for_url("**/operations/**")
    for question in ("Instance", "Member", "Operation", "Correlation id", "What the app says"):
        await expect(fact(page, question)).to_be_visible()
    await expect(page.get_by_text("Everything that carries the correlation id")).to_be_visible()

    site.clear("cpu-01")
    await page.get_by_role("button", name="Retry", exact=True).click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("button", name="Retry", exact=True).click()
    await expect(page.get_by_text("Succeeded").first).to_be_visible()
    await fact(page, "Instance").get_by_role("link").click()
    await _healthy(page)

    await page.get_by_role("link", name=re.compile("^web_")).first.click()
    await page.wait_for_url("**/correlations/**")
    await expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
    timeline = page.get_by_role("table", name="Timeline")
    request = timeline.get_by_role("row", name="POST /api/v1/projects/Vision/app-instances")
    await expect(request.get_by_text("Olga Owner")).to_be_in_viewport(ratio=1)
    await expect(timeline.get_by_text(re.compile("(user|proj)_"))).to_have_count(0)
    await picture(page, "correlation")


async def test_a_machine_that_does_not_answer_is_marked_and_not_given_up(
    visit: Any, site: Ground
) -> None:
    """Unreachable is shown beside the state, and the connection that breaks heals by itself."""
    site.hold("edge-01")
    page = await visit(OWNER)
    await page.goto(f"/projects/{site.project_id}/catalog/template/deploy")
    await _named(page, "edge")
    await page.get_by_role("radio", name="edge-01").click()
    await page.get_by_role("button", name="Next", exact=True).click()
    await page.get_by_role("button", name="Deploy", exact=True).click()
    await page.wait_for_url("**/instances/**")
    await _healthy(page)
    await page.context.set_offline(True)
    lost = page.get_by_role("link", name=re.compile("Connection: (Offline|Reconnecting)"))
    await expect(lost).to_be_visible()
    # What happens meanwhile is there once the connection is, without anybody asking for it.
    await page.get_by_role("tab", name="History").click()
    running = next(one for one in _instances(site) if one["resource_name"] == "edge")
    site.admin.made(f"/app-instances/{running['id']}/reconcile")
    await page.context.set_offline(False)
    await expect(page.get_by_role("link", name="Connection: Live")).to_be_visible()
    await expect(page.get_by_role("row", name=re.compile("^Reconcile"))).to_be_visible()
    await _healthy(page)
    site.silence("edge-01")
    await page.get_by_role("button", name="Actions").click()
    await page.get_by_role("menuitem", name="Reconcile").click()
    await page.get_by_role("dialog").get_by_role("button", name="Reconcile").click()
    await page.get_by_role("tab", name=re.compile("Members")).click()
    table = page.get_by_role("table")
    await expect(table.get_by_text("Unreachable").first).to_be_visible()
    await expect(table.get_by_text("Ready").first).to_be_visible()
    site.wake("edge-01")


async def test_what_is_abandoned_shows_its_evidence_and_sets_the_machine_aside(
    visit: Any, site: Ground
) -> None:
    site.hold("left-01")
    site.occupy("left-01", "gateway")
    instance = site.place("left", "left-01")
    page = await visit(OWNER)
    await page.goto(f"/instances/{instance['id']}")
    await page.get_by_role("button", name="Abandon", exact=True).first.click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_text("There is no evidence")).to_be_visible()
    await dialog.get_by_role("textbox", name="Reason").fill("The machine goes back")
    await dialog.get_by_role("button", name="Abandon", exact=True).click()
    await expect(dialog).to_have_count(0)
    await page.goto(f"/allocations/{site.allocations['left-01']}")
    await expect(page.get_by_text("Cleanup blocked").first).to_be_visible()


async def test_an_upgrade_the_way_back_and_a_server_that_returns_by_clicks(
    visit: Any, site: Ground
) -> None:
    site.hold("up-01", "up-02")
    publish(site, "upgraded", template_manifest(), "1.0.0")
    newer = {"version": "1.1.0", "manifest": template_manifest(), "publish": True}
    with site.controller("upgraded"):
        instance = site.place("upgraded", "up-01", slug="upgraded", version="1.0.0")
        page = await visit(OWNER)
        await page.goto(f"/instances/{instance['id']}")
        await _healthy(page)
        await page.get_by_role("button", name="Actions").click()
        back = page.get_by_role("menuitem", name="Roll back", exact=True)
        await expect(back).to_be_disabled()
        await page.keyboard.press("Escape")
        site.admin.made("/apps/upgraded/versions", newer)
        await _upgrade(page, "1.1.0")
        await expect(page.get_by_text("upgraded 1.1.0")).to_be_visible()
        await _roll_back(page, "1.0.0")
        await expect(page.get_by_text("upgraded 1.0.0")).to_be_visible()
        await _healthy(page)

        # From the middle of an upgrade that failed the way back is the version it still has.
        site.occupy("up-01", "gateway")
        await _upgrade(page, "1.1.0")
        await expect(page.get_by_text("carries the gateway of somebody-else").first).to_be_visible()
        site.occupy("up-01", "gateway", owner=instance["id"])
        await _roll_back(page, "1.0.0")
        await _healthy(page)
        await expect(page.get_by_text("upgraded 1.0.0")).to_be_visible()

        await page.get_by_role("button", name="Add servers").click()
        await page.get_by_role("dialog").get_by_role("checkbox", name="up-02").click()
        await page.get_by_role("dialog").get_by_role("button", name="Add servers").click()
        await page.get_by_role("tab", name=re.compile("Members")).click()
        row = page.get_by_role("row", name=re.compile("up-02"))
        await expect(row.get_by_text("Ready").first).to_be_visible()
        for action, state in (("Drain", "Drained"), ("Resume", "Ready")):
            chosen = page.get_by_role("checkbox", name="Server on up-02")
            if not await chosen.is_checked():
                await chosen.click()
            await page.get_by_role("button", name=action, exact=True).click()
            dialog = page.get_by_role("dialog")
            await dialog.get_by_role("button", name=f"{action} servers").click()
            await expect(row.get_by_text(state).first).to_be_visible()


async def test_what_is_under_way_is_cancelled_by_its_button(visit: Any, site: Ground) -> None:
    """What then is, is shown: the operation as cancelled, what it left behind as not well."""
    site.hold("halt-01", "halt-02")
    instance = site.deploy("halted", "halt-01")
    site.silence("halt-02")
    page = await visit(OWNER)
    await page.goto(f"/instances/{instance['id']}")
    await page.get_by_role("button", name="Add servers").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("checkbox", name="halt-02").click()
    await dialog.get_by_role("button", name="Add servers").click()
    # It would go on: a machine that does not answer may do so later.
    await expect(page.get_by_text(re.compile(r"^Attempt 1 of \d+ failed$"))).to_be_visible()
    await page.get_by_role("button", name="Cancel operation", exact=True).click()
    await dialog.get_by_role("button", name="Cancel operation", exact=True).click()
    await page.get_by_role("tab", name="History").click()
    row = page.get_by_role("row", name=re.compile("halt-02"))
    await expect(row.get_by_text("Cancelled")).to_be_visible()

    await row.get_by_role("link", name="Add servers").click()
    await page.wait_for_url("**/operations/**")
    await expect(fact(page, "Operation")).to_contain_text("Cancelled")
    await expect(page.get_by_text("It failed")).to_have_count(0)
    await expect(page.get_by_role("button", name="Cancel operation")).to_have_count(0)
    await fact(page, "Instance").get_by_role("link").click()
    await page.get_by_role("tab", name=re.compile("Members")).click()
    await expect(row.get_by_text("Failed").first).to_be_visible()
    site.wake("halt-02")
    await page.get_by_role("checkbox", name="Server on halt-02").click()
    await page.get_by_role("button", name="Remove", exact=True).click()
    await dialog.get_by_role("button", name="Remove servers").click()
    await expect(page.get_by_role("tab", name="Members (2)")).to_be_visible()
    await expect(fact(page, "Status")).to_contain_text("Running")


async def _begin(page: Page, name: str) -> None:
    """From the catalog to the machines of a deploy."""
    await (
        page.get_by_role("button", name="Deploy Web service")
        .or_(page.get_by_role("link", name="Deploy Web service"))
        .click()
    )
    await _named(page, name)


async def _named(page: Page, name: str) -> None:
    await page.get_by_role("textbox", name="Name").fill(name)
    await page.get_by_role("button", name="Next", exact=True).click()
    await expect(page.get_by_role("heading", name="Configure")).to_be_visible()


async def _trail_ends(page: Page, *steps: str) -> None:
    trail = page.get_by_role("navigation", name="Breadcrumbs").get_by_role("listitem")
    for back, step in enumerate(reversed(steps), start=1):
        await expect(trail.nth(-back)).to_have_text(step)


async def _told_who_uses(page: Page, site: Ground, *, machine: str, instance: str) -> None:
    """What stands in the way is looked at beside the wizard, which keeps what was typed."""
    await page.goto(f"/projects/{site.project_id}/catalog/template/deploy")
    await _named(page, "beside")
    row = page.get_by_role("row", name=machine)
    await expect(row.get_by_text("Another instance uses it.")).to_be_visible()
    async with page.expect_popup() as opened:
        await row.get_by_role("link", name=instance).click()
    beside = await opened.value
    await expect(beside.get_by_role("heading", name=instance, level=1)).to_be_visible()
    await beside.close()
    await page.get_by_role("button", name="Previous", exact=True).click()
    await expect(page.get_by_role("textbox", name="Name")).to_have_value("beside")


async def _healthy(page: Page) -> None:
    await expect(fact(page, "Health")).to_contain_text("Healthy")
    await expect(fact(page, "Status")).to_contain_text("Running")


async def _grow(page: Page) -> None:
    """Add three servers at once, and watch them come."""
    await page.get_by_role("button", name="Add servers").click()
    dialog = page.get_by_role("dialog")
    # The gateway's machine is listed with the reason why it cannot be chosen.
    await expect(dialog.get_by_text("It already carries a member")).to_be_visible()
    for name in ("gpu-02", "gpu-03", "gpu-04"):
        await dialog.get_by_role("checkbox", name=name).click()
    await expect(dialog.get_by_text("The topology changes from")).to_be_visible()
    await expect(dialog.get_by_text("3 operations: each succeeds or fails")).to_be_visible()
    await dialog.get_by_role("button", name="Add servers").click()
    await page.get_by_role("tab", name=re.compile("Members")).click()
    await expect(page.get_by_role("tab", name="Members (5)")).to_be_visible()
    await expect(page.get_by_role("table").get_by_text("Ready")).to_have_count(5)


async def _drain_and_remove(page: Page, picture: Any) -> None:
    await page.get_by_role("tab", name=re.compile("Members")).click()
    await page.get_by_role("checkbox", name="Server on gpu-04").click()
    await page.get_by_role("button", name="Drain", exact=True).click()
    await page.get_by_role("dialog").get_by_role("button", name="Drain servers").click()
    row = page.get_by_role("row", name=re.compile("gpu-04"))
    await expect(row.get_by_text("Drained").first).to_be_visible()
    await picture(page, "members")
    await page.get_by_role("button", name="Remove", exact=True).click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_text("their machines are checked for leftovers")).to_be_visible()
    await dialog.get_by_role("button", name="Remove servers").click()
    await expect(page.get_by_role("tab", name="Members (4)")).to_be_visible()


async def _act(page: Page, label: str, title: str) -> None:
    await page.get_by_role("button", name="Actions").click()
    await page.get_by_role("menuitem", name=label, exact=True).click()
    await page.get_by_role("dialog").get_by_role("button", name=title, exact=True).click()
    await expect(page.get_by_role("dialog")).to_have_count(0)


async def _take_down(page: Page) -> None:
    await page.get_by_role("button", name="Actions").click()
    await page.get_by_role("menuitem", name="Decommission").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_text("It destroys:")).to_be_visible()
    confirm = dialog.get_by_role("button", name="Decommission", exact=True)
    await confirm.click()
    await expect(dialog.get_by_text("It is not the name of the instance.")).to_be_visible()
    await dialog.get_by_role("textbox").last.fill("inference")
    await confirm.click()
    await expect(fact(page, "Status")).to_contain_text("Deleted")


async def _upgrade(page: Page, version: str) -> None:
    dialog = await _asking(page, "Upgrade")
    await dialog.get_by_role("button", name=re.compile("Version")).click()
    await page.get_by_role("option", name=version).click()
    await dialog.get_by_role("button", name="Upgrade", exact=True).click()
    await expect(dialog).to_have_count(0)


async def _roll_back(page: Page, version: str) -> None:
    """Nobody is asked where to: it is said."""
    dialog = await _asking(page, "Roll back")
    await expect(dialog.get_by_text(f"Version {version} runs afterwards.")).to_be_visible()
    await dialog.get_by_role("button", name="Roll back", exact=True).click()
    await expect(dialog).to_have_count(0)


async def _asking(page: Page, label: str) -> Locator:
    """The dialog of an action of the instance."""
    await page.get_by_role("button", name="Actions").click()
    await page.get_by_role("menuitem", name=label, exact=True).click()
    return page.get_by_role("dialog")


def _instances(site: Ground) -> list[dict[str, Any]]:
    return list(site.admin.get(f"/projects/{site.project_id}/app-instances")["items"])
