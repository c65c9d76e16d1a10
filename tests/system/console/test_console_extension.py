"""An app nobody has heard of is drawn from its manifest alone; and what was typed into its wizard
outlives the session, a reload and a lost answer."""

import re
from typing import Any

from console_ground import OWNER, PASSWORD, Ground, publish, template_manifest
from playwright.async_api import APIResponse, Locator, Page, Route, expect
from stopped_clock import clock_stopped

REPORT_SCROLLS_LATE = """
const stop = (event) => event.isTrusted && event.stopImmediatePropagation();
window.addEventListener("scroll", stop, { capture: true });
window.reportScroll = () => document.dispatchEvent(new Event("scroll", { bubbles: true }));
"""
"""A page hears of a scroll when the test says so, in place of with the next frame."""


async def test_an_unknown_app_is_deployed_from_its_manifest_alone(
    visit: Any, site: Ground, picture: Any
) -> None:
    site.hold("led-01")
    site.hold("led-big", sku="h200-8")
    publish(site, "ledger", _ledger(), "3.0.0")
    rules = {"name": "no-large", "rules": {"skus": {"deny": ["h200-*"]}}}
    overlay = site.admin.made(f"/projects/{site.project_id}/policy-overlays", rules)
    page = await visit(OWNER)
    with site.controller("ledger"):
        await _configure(page, site, "books")
        await picture(page, "extension")
        await page.get_by_role("button", name="Next", exact=True).click()
        await expect(page.get_by_text("Replicas", exact=True)).to_be_visible()
        await expect(page.get_by_text("led-01").first).to_be_visible()
        await page.get_by_role("button", name="Deploy", exact=True).click()
        await page.wait_for_url("**/instances/**")
        await expect(page.get_by_text("Healthy").first).to_be_visible()
        await expect(page.get_by_text("Where the books are")).to_be_visible()
        await expect(page.get_by_role("button", name="Add a keeper")).to_be_enabled()
        await page.get_by_role("tab", name="Settings").click()
        await expect(page.get_by_text("Weekly")).to_be_visible()
    site.admin.send("DELETE", f"/policy-overlays/{overlay['id']}")


async def test_what_was_typed_outlives_the_session_and_a_reload(visit: Any, site: Ground) -> None:
    site.hold("kept-01")
    page = await visit(OWNER)
    await page.goto(f"/projects/{site.project_id}/catalog/template/deploy")
    await page.get_by_role("textbox", name="Name").fill("kept")
    await page.get_by_role("button", name="Cancel").click()
    asked = page.get_by_role("dialog", name="Drop what you filled in?")
    await asked.get_by_role("button", name="Cancel").click()
    await expect(asked).to_have_count(0)
    await page.get_by_role("button", name="Next", exact=True).click()
    await page.get_by_role("radio", name="kept-01").click()
    await page.get_by_text("Settings", exact=True).click()
    await page.get_by_role("textbox", name="Greeting").fill("Still here")
    await page.get_by_role("button", name="Next", exact=True).click()
    await expect(page.get_by_text("Still here")).to_be_visible()
    await page.context.clear_cookies()
    await page.evaluate("window.dispatchEvent(new Event('online'))")  # everything is read again
    dialog = page.get_by_role("dialog", name="Your session has ended")
    await dialog.get_by_label("Password").fill(PASSWORD)
    await dialog.get_by_role("button", name="Sign in", exact=True).click()
    await expect(dialog).to_have_count(0)
    await expect(page.get_by_text("Still here")).to_be_visible()
    await page.reload()
    await expect(page.get_by_text("Still here")).to_be_visible()

    # The answer of the deploy is lost: sent again, it is still one deploy.
    lost: list[APIResponse] = []

    async def lose(route: Route) -> None:
        if route.request.method == "POST" and not lost:
            lost.append(await route.fetch())
            await route.abort("connectionreset")
        else:
            await route.fallback()

    await page.route("**/app-instances", lose)
    await page.get_by_role("button", name="Deploy", exact=True).click()
    await expect(page.get_by_text("The platform does not answer")).to_be_visible()
    await page.get_by_role("button", name="Deploy", exact=True).click()
    await page.wait_for_url("**/instances/**")
    await expect(page.get_by_text("Healthy").first).to_be_visible()
    listed = site.admin.get(f"/projects/{site.project_id}/app-instances")["items"]
    assert len([one for one in listed if one["resource_name"] == "kept"]) == 1


async def test_a_slip_beside_a_dialog_drops_nothing_and_enter_sends_it(
    visit: Any, site: Ground
) -> None:
    page = await visit(OWNER)
    await page.goto(f"/projects/{site.project_id}/policy")
    await page.get_by_role("button", name="Add rules").click()
    dialog = page.get_by_role("dialog")
    name = dialog.get_by_label("Name", exact=True)
    await name.fill("shut")
    await page.mouse.click(3, 300)
    await expect(name).to_have_value("shut")
    await dialog.get_by_role("button", name=re.compile("Region: what may be used")).click()
    await page.get_by_role("option", name="Nothing").click()
    await name.press("Enter")
    await expect(dialog).to_have_count(0)
    rules = page.get_by_role("table", name="Rules of this project")
    row = rules.get_by_role("row", name="shut")
    await expect(row).to_contain_text("only nothing")
    await row.get_by_role("button", name="Change shut").click()
    await dialog.get_by_label(re.compile("^Why")).fill("Closed for the move")
    await dialog.get_by_role("button", name="Save").click()
    await expect(row).to_contain_text("Closed for the move")
    [made] = [
        one
        for one in site.admin.get(f"/projects/{site.project_id}/policy-overlays")["items"]
        if one["name"] == "shut"
    ]
    assert made["rules"] == {"regions": {"allow": [], "deny": []}}
    site.admin.send("DELETE", f"/policy-overlays/{made['id']}")


async def test_a_choice_is_not_lost_to_a_scroll_that_is_reported_late(
    visit: Any, site: Ground
) -> None:
    """A list that has just opened chooses its side of the field again when the page is scrolled:
    not between the press and the release on one of its options."""
    publish(site, "late-scroll", _ledger(), "1.0.0")
    page = await visit(OWNER)
    await page.add_init_script(REPORT_SCROLLS_LATE)
    await page.clock.install()
    await page.goto(f"/projects/{site.project_id}/catalog/late-scroll/deploy")
    await page.get_by_role("button", name="Next", exact=True).click()
    field = page.get_by_role("button", name=re.compile("Close the books"))
    option = page.get_by_role("option", name="Weekly")
    await expect(field).to_be_visible()
    await expect(page.get_by_text("Reading", exact=True)).to_have_count(0)
    # A list has just opened for as long as the clock stands still.
    async with clock_stopped(page):
        await _opened_upwards(page, field, option)
        await field.evaluate("one => one.scrollIntoView({ block: 'start' })")
        await page.evaluate("reportScroll()")
        assert not await _is_above(option, field), "a list moves when it hears of the scroll"
        await page.keyboard.press("Escape")

        await _opened_upwards(page, field, option)
        await field.evaluate("one => one.scrollIntoView({ block: 'start' })")
        await option.hover()
        await page.mouse.down()
        await page.evaluate("reportScroll()")
        assert await _is_above(option, field)
        await page.mouse.up()
        await expect(option).to_have_count(0)
        await expect(field).to_contain_text("Weekly")


async def _opened_upwards(page: Page, field: Locator, option: Locator) -> None:
    """The list of a field for which there is no room below it, once its click is over."""
    await field.evaluate("one => one.scrollIntoView({ block: 'end' })")
    await field.click()
    await page.clock.run_for(1)
    assert await _is_above(option, field)


async def _is_above(one: Locator, other: Locator) -> bool:
    upper, lower = await one.bounding_box(), await other.bounding_box()
    assert upper is not None
    assert lower is not None
    return upper["y"] < lower["y"]


async def _configure(page: Page, site: Ground, name: str) -> None:
    """Fill in every kind of field the app asks for."""
    await page.goto(f"/projects/{site.project_id}/catalog/ledger/deploy")
    await page.get_by_role("textbox", name="Name").fill(name)
    await page.get_by_role("button", name="Next", exact=True).click()
    denied = page.get_by_role("row", name=re.compile("led-big"))
    await expect(denied.get_by_text("Policy forbids it")).to_be_visible()
    await expect(denied.get_by_role("radio")).to_be_disabled()
    await page.get_by_role("radio", name="led-01").click()
    replicas = page.get_by_role("spinbutton", name="Replicas")
    await replicas.fill("12")
    await expect(page.get_by_text("Replicas must be 9 or less.")).to_be_visible()
    await replicas.fill("3")
    await expect(page.get_by_text("Replicas must be 9 or less.")).to_have_count(0)
    await page.get_by_role("button", name=re.compile("Close the books")).click()
    await page.get_by_role("option", name="Weekly").click()
    # Only now is there anything to ask about the day.
    await page.get_by_role("textbox", name="On which day").fill("Friday")
    await page.get_by_role("button", name="Add", exact=True).click()
    await page.get_by_role("textbox", name="Value 1").fill("finance")
    await page.get_by_role("button", name="Next", exact=True).click()
    nameless = page.get_by_text("Labels has the value “finance” without a name.")
    await expect(nameless).to_be_visible()
    await page.get_by_role("textbox", name="Name 1").fill("team")
    await expect(nameless).to_have_count(0)


def _ledger() -> dict[str, Any]:
    """The template's machinery under other names, with a form of its own."""
    manifest = template_manifest()
    manifest["summary"] = "Keeps books on machines that are held already."
    manifest["panels"] = [
        {
            "kind": "facts",
            "key": "books",
            "title": "Where the books are",
            "items": [{"label": "Address", "pointer": "/access/url", "format": "link"}],
        },
        {"kind": "topology", "key": "shape", "title": "Shape", "source": "members"},
    ]
    manifest["actions"][0]["label"] = "Add a keeper"
    deploy = manifest["operations"][0]
    fields = deploy["input"]["properties"]
    fields["gateway_allocation_id"]["title"] = "Where the books are kept"
    fields["replicas"] = {
        "title": "Replicas", "type": "integer", "minimum": 1, "maximum": 9, "x-order": 6,
    }  # fmt: skip
    fields["closing"] = {
        "title": "Close the books", "enum": ["daily", "weekly", "monthly", "yearly"],
        "x-widget": "select", "default": "monthly", "x-order": 7,
    }  # fmt: skip
    fields["day"] = {
        "title": "On which day", "type": "string", "maxLength": 20, "x-order": 8,
        "x-show-when": {"pointer": "/closing", "equals": "weekly"},
    }  # fmt: skip
    fields["labels"] = {
        "title": "Labels", "type": "object", "x-widget": "key_value", "x-order": 9,
        "additionalProperties": {"type": "string"},
    }  # fmt: skip
    deploy["input"]["required"].append("replicas")
    return manifest
