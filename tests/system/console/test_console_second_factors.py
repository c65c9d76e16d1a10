"""Second factors in a real browser: an authenticator app, and a passkey of chromium's own."""

import base64
import time
from typing import Any

import pytest
from console_ground import PASSWORD, Ground
from playwright.async_api import Page, expect

from gpuaas_platform.identity.totp import code_at

EMAILS = iter(f"factor{number}@acme.example" for number in range(9))


@pytest.fixture
def person(site: Ground) -> str:
    """Somebody of the tenant with no second factor yet."""
    email = next(EMAILS)
    body = {"email": email, "display_name": "Fay Factor", "password": PASSWORD}
    site.admin.made(f"/tenants/{site.tenant_id}/users", body)
    scope = {"kind": "tenant", "org_id": site.tenant_id}
    site.admin.made("/role-bindings", {"email": email, "role": "project_viewer", "scope": scope})
    return email


async def signing_in(page: Page, email: str) -> None:
    await page.get_by_label("Email").fill(email)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()


async def signed_out(page: Page, home: str) -> None:
    await page.context.clear_cookies()
    await page.goto(f"{home}/sign-in")


async def test_a_person_sets_up_an_app_and_signs_in_with_its_code(
    visit: Any, site: Ground, person: str
) -> None:
    page = await visit()
    await page.goto("/sign-in?return_to=/account")
    await signing_in(page, person)
    await page.get_by_role("button", name="Set up an authenticator app").click()
    await page.get_by_label("Present password").fill(PASSWORD)
    await page.get_by_role("button", name="Show the key").click()
    dialog = page.get_by_role("dialog", name="Type the code your app shows")
    shown = dialog.locator(".wrap-anywhere")
    await expect(shown).to_be_visible()
    secret = base64.b32decode((await shown.inner_text()).strip())
    step = int(time.time()) // 30
    await dialog.get_by_label("Code").fill(code_at(secret, step))
    await dialog.get_by_role("button", name="Confirm").click()
    await expect(page.get_by_text("Your recovery codes are shown once")).to_be_visible()

    await signed_out(page, site.home)
    await signing_in(page, person)
    await page.get_by_label("Code").fill("000000")
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await expect(page.get_by_text("The code is wrong, or it was used before.")).to_be_visible()
    await page.get_by_label("Code").fill(code_at(secret, step + 1))
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await page.wait_for_url("**/home")


async def test_a_person_adds_a_passkey_and_signs_in_with_it(
    visit: Any, site: Ground, person: str
) -> None:
    """By chromium's virtual authenticator, at a name: an address has no passkeys."""
    home = site.home.replace("127.0.0.1", "localhost")
    page = await visit()
    devtools = await page.context.new_cdp_session(page)
    await devtools.send("WebAuthn.enable")
    await devtools.send(
        "WebAuthn.addVirtualAuthenticator",
        {
            "options": {
                "protocol": "ctap2",
                "transport": "internal",
                "hasResidentKey": True,
                "hasUserVerification": True,
                "isUserVerified": True,
            }
        },
    )
    await page.goto(f"{home}/sign-in?return_to=/account")
    await signing_in(page, person)
    await page.get_by_role("button", name="Add a passkey").click()
    await page.get_by_label("Present password").fill(PASSWORD)
    await page.get_by_role("button", name="Make it").click()
    await expect(page.get_by_text("Your recovery codes are shown once")).to_be_visible()

    await signed_out(page, home)
    await signing_in(page, person)
    await page.get_by_role("button", name="Use a passkey").click()
    await page.wait_for_url("**/home")


async def test_a_tenant_that_requires_a_factor_leads_to_it(visit: Any, site: Ground) -> None:
    org_id = site.admin.made("/tenants", {"name": "strict"})["id"]
    asked = site.admin.send("PATCH", f"/tenants/{org_id}", {"second_factor_required": True})
    assert asked.status_code == 200, asked.text
    email = next(EMAILS)
    site.admin.made(f"/tenants/{org_id}/users", {"email": email, "password": PASSWORD})
    page = await visit()
    await page.goto("/sign-in")
    await signing_in(page, email)
    await page.wait_for_url("**/account")
    await expect(page.get_by_text("Set up a second factor to go on")).to_be_visible()
