"""What people come to read: an instance through its quieter tabs and the machine under it, an app
with the labels of its versions, events as they happen; and who holds which role."""

import re
from typing import Any

from console_ground import ADMIN, MEMBER, OWNER, Ground, publish, template_manifest
from page_facts import fact
from playwright.async_api import expect


async def test_an_instance_and_its_machine_are_read_to_the_end(visit: Any, site: Ground) -> None:
    site.hold("read-01", sku="h200-8")
    instance = site.deploy("read", "read-01")
    page = await visit(MEMBER)
    await page.goto(f"/instances/{instance['id']}?tab=access")
    panel = page.get_by_role("tabpanel")
    await expect(panel.get_by_role("button", name="Copy url")).to_be_visible()
    await page.get_by_role("tab", name="Events").click()
    event = panel.get_by_role("row").filter(has_text="apps.operation.succeeded").first
    await expect(event.get_by_role("link")).to_have_count(2)  # its subject, everything with it
    await page.get_by_role("tab", name="App detail").click()
    await expect(panel.get_by_text("2 serving")).to_be_visible()
    await page.get_by_role("tab", name=re.compile("Members")).click()
    await panel.get_by_role("link", name="read-01").first.click()
    await page.wait_for_url("**/allocations/**")
    await expect(page.get_by_text("ssh -o CertificateFile=")).to_be_visible()
    await expect(fact(page, "GPUs")).to_have_text("8 × H200")  # noqa: RUF001 - the sign that the page shows
    await expect(fact(page, "Held by")).to_have_text("Project Vision, tenant Acme Research")
    await expect(fact(page, "Used by").get_by_role("link", name="read")).to_be_visible()
    members = page.get_by_role("table", name="What sits on it")
    await expect(members.get_by_role("link")).to_have_text(["Gateway", "Server"])

    operator = await visit(ADMIN)
    await operator.goto("/admin/capacity?nodes.q=read-01")
    await operator.get_by_role("rowheader").get_by_role("link", name="read-01", exact=True).click()
    await operator.wait_for_url("**/admin/nodes/**")
    await expect(fact(operator, "GPUs")).to_have_text("8 × H200")  # noqa: RUF001 - the sign that the page shows
    await expect(fact(operator, "Held as").get_by_role("link", name="read-01")).to_be_visible()


async def test_a_member_that_is_gone_is_shown_when_asked_for_and_named_in_the_history(
    visit: Any, site: Ground
) -> None:
    site.hold("gone-01", "gone-02")
    instance = site.deploy("parted", "gone-01")
    asked = {"kind": "add_server", "input": {"allocation_ids": [site.allocations["gone-02"]]}}
    site.admin.made(f"/app-instances/{instance['id']}/operations", asked)
    page = await visit(OWNER)
    await page.goto(f"/instances/{instance['id']}?tab=members")
    row = page.get_by_role("row", name=re.compile("gone-02"))
    await expect(row.get_by_text("Ready").first).to_be_visible()
    await page.get_by_role("checkbox", name="Server on gone-02").click()
    await page.get_by_role("button", name="Remove", exact=True).click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("button", name="Remove servers").click()
    await expect(page.get_by_role("tab", name="Members (2)")).to_be_visible()
    await expect(row).to_have_count(0)
    await page.get_by_role("checkbox", name="Removed ones too").click()
    await expect(row.get_by_text("Removed")).to_be_visible()
    await page.get_by_role("tab", name="History").click()
    removal = page.get_by_role("row").filter(has=page.get_by_role("link", name="Remove servers"))
    await expect(removal).to_contain_text("on gone-02")


async def test_versions_of_an_app_carry_honest_labels(visit: Any, site: Ground) -> None:
    publish(site, "labelled", template_manifest(), "1.0.0")
    newer = {"version": "1.1.0", "manifest": template_manifest(), "publish": True}
    site.admin.made("/apps/labelled/versions", newer)
    page = await visit(ADMIN)
    await page.goto("/admin/apps/labelled")
    await page.get_by_role("button", name="Change 1.0.0").click()
    await page.get_by_role("menuitem", name="Deprecate").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("textbox", name="Why").fill("It forgets requests")
    await dialog.get_by_role("textbox", name="Version to choose instead").fill("1.1.0")
    await dialog.get_by_role("button", name="Deprecate", exact=True).click()
    await expect(dialog).to_have_count(0)

    reader = await visit(MEMBER)
    await reader.goto(f"/projects/{site.project_id}/catalog/labelled")
    old = reader.get_by_role("row", name="1.0.0")
    await expect(old.get_by_text("Deprecated")).to_be_visible()
    await expect(old).to_contain_text("It forgets requests")
    await expect(reader.get_by_role("row", name="1.1.0").get_by_text("Published")).to_be_visible()
    await expect(fact(reader, "Needs")).to_contain_text("Gateway (at least 1)")
    await expect(fact(reader, "Costs")).to_contain_text("Every machine the service holds.")


async def test_events_come_while_one_looks(visit: Any, site: Ground) -> None:
    page = await visit(MEMBER)
    await page.goto(f"/projects/{site.project_id}/events")
    await expect(page.get_by_role("link", name="Connection: Live")).to_be_visible()
    await expect(page.get_by_role("row").nth(1)).to_be_visible()
    site.hold("event-01")
    await page.get_by_role("link", name="event-01", exact=True).first.click()
    await expect(page.get_by_role("heading", name="event-01", level=1)).to_be_visible()


async def test_a_role_is_given_and_taken_away(visit: Any, site: Ground) -> None:
    page = await visit(OWNER)
    await page.goto(f"/projects/{site.project_id}/access")
    await page.get_by_role("button", name="Give a role").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("textbox", name="Email").fill(MEMBER)
    await dialog.get_by_role("button", name=re.compile("^Role")).click()
    await page.get_by_role("option", name=re.compile("^Project viewer")).click()
    await dialog.get_by_role("button", name="Give it").click()
    await expect(dialog).to_have_count(0)
    take = page.get_by_role("button", name=re.compile(f"Take away .*viewer.* from .*{MEMBER}"))
    await take.click()
    await dialog.get_by_role("button", name="Take away").click()
    await expect(dialog).to_have_count(0)
    await expect(take).to_have_count(0)
