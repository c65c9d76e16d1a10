"""Who sits in front of the page: a role that somebody else gives is there at once, a session that
ended drops nothing for a slip, and the next person finds nothing of the one before."""

from typing import Any

from console_ground import MEMBER, OWNER, PASSWORD, Ground
from playwright.async_api import Page, expect


async def test_a_role_given_elsewhere_is_there_without_asking(visit: Any, site: Ground) -> None:
    page = await visit(MEMBER)
    await page.goto(f"/projects/{site.project_id}/allocations")
    await expect(page.get_by_role("link", name="Connection: Live")).to_be_visible()
    await expect(page.get_by_role("heading", name="Allocations", level=1)).to_be_visible()
    ask = page.get_by_role("button", name="Get an allocation").first
    await expect(ask).to_have_count(0)
    scope = {"kind": "project", "org_id": site.tenant_id, "project_id": site.project_id}
    given = {"email": MEMBER, "role": "project_admin", "scope": scope}
    binding = site.admin.made("/role-bindings", given)
    await expect(ask).to_be_visible()
    site.admin.send("DELETE", f"/role-bindings/{binding['id']}")
    await expect(ask).to_have_count(0)


async def test_an_ended_session_drops_nothing_for_a_slip_and_leaves_nothing_behind(
    visit: Any, site: Ground
) -> None:
    page = await visit(OWNER)
    access = f"/projects/{site.project_id}/access"
    await page.goto(access)
    await page.get_by_role("button", name="Give a role").click()
    typed = page.get_by_role("dialog", name="Give a role").get_by_role("textbox", name="Email")
    await typed.fill("somebody@acme.example")
    ended = await _end(page)
    await page.keyboard.press("Escape")
    await page.mouse.click(5, 500)
    await expect(ended).to_be_visible()
    await ended.get_by_label("Password").fill(PASSWORD)
    await ended.get_by_role("button", name="Sign in", exact=True).click()
    await expect(ended).to_have_count(0)
    await expect(typed).to_have_value("somebody@acme.example")

    ended = await _end(page)
    await ended.get_by_role("button", name="Leave this page").click()
    await page.wait_for_url(f"**/sign-in?return_to={access.replace('/', '%2F')}")
    await expect(page.get_by_text("Olga Owner")).to_have_count(0)
    await page.get_by_label("Email").fill(MEMBER)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await page.wait_for_url(f"**{access}")
    await expect(page.get_by_role("button", name="Mika Member")).to_be_visible()
    await expect(page.get_by_role("button", name="Give a role")).to_have_count(0)


async def _end(page: Page) -> Any:
    """The session ends, and whatever is read next says so."""
    await page.context.clear_cookies()
    await page.evaluate("window.dispatchEvent(new Event('online'))")
    ended = page.get_by_role("dialog", name="Your session has ended")
    await expect(ended).to_be_visible()
    return ended
