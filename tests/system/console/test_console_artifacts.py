"""Artifacts by clicks: a source, a trusted key, a file sent from the browser, and its life until it
is retired."""

import base64
import hashlib
import secrets
from typing import Any

from console_ground import ADMIN, MEMBER, Ground
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from playwright.async_api import Page, expect


async def test_a_file_is_published_promoted_deprecated_and_retired(
    visit: Any, site: Ground, picture: Any
) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    content = secrets.token_bytes(300_000)
    signature = base64.b64encode(key.sign(content, ec.ECDSA(SHA256()))).decode()
    page = await visit(ADMIN)
    await _source(page)
    await _trust(page, key.public_key())

    await page.get_by_role("button", name="Publish an artifact").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("textbox", name="Name").fill("tools/runtime")
    await dialog.get_by_role("textbox", name="Version").fill("1.2.3")
    await dialog.get_by_role("textbox", name="Signature").fill(signature)
    await dialog.get_by_role("button", name="Publish", exact=True).click()
    await expect(dialog.get_by_text("No file is chosen")).to_be_visible()
    file = {"name": "runtime.tar", "mimeType": "application/x-tar", "buffer": content}
    await dialog.locator("input[type=file]").set_input_files(files=[file])
    await dialog.get_by_role("button", name="Publish", exact=True).click()
    await expect(dialog).to_have_count(0)
    row = page.get_by_role("row", name="tools/runtime")
    await expect(row.get_by_text("Published")).to_be_visible()
    await expect(row.get_by_text("Verified")).to_be_visible()

    await row.get_by_role("link").first.click()
    await page.wait_for_url("**/artifacts/**")
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    await expect(page.get_by_text(digest)).to_be_visible()
    await _changed(page, "Promote")
    await expect(page.get_by_text("Promoted", exact=True)).to_be_visible()
    await expect(page.get_by_text("stable", exact=True)).to_be_visible()
    await picture(page, "artifact")
    await _changed(page, "Deprecate", "Take 1.2.4")
    await expect(page.get_by_text("Take 1.2.4")).to_be_visible()
    await _changed(page, "Restore")
    await _changed(page, "Retire", "Nobody uses it")
    await expect(page.get_by_text("Retired", exact=True)).to_be_visible()
    await expect(page.get_by_role("button", name="Promote")).to_have_count(0)

    member = await visit(MEMBER)
    await member.goto(page.url.removeprefix(site.home))
    await expect(member.get_by_text(digest)).to_be_visible()
    await expect(member.get_by_role("link", name="Artifacts", exact=True)).to_have_count(0)


async def _source(page: Page) -> None:
    """A source for every tenant, and the way to its page."""
    await page.get_by_role("link", name="Artifacts", exact=True).click()
    await page.get_by_role("tab", name="Sources").click()
    await page.get_by_role("button", name="Add a source").first.click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("textbox", name="Name", exact=True).fill("shelf")
    # A registry's questions are asked of a registry alone.
    await expect(dialog.get_by_text("Registry and repository")).to_have_count(0)
    await dialog.get_by_role("button", name="Add", exact=True).click()
    await page.get_by_role("link", name="blob://platform/shelf").click()
    await page.wait_for_url("**/artifact-sources/**")


async def _trust(page: Page, key: ec.EllipticCurvePublicKey) -> None:
    pem = key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    await page.get_by_role("button", name="Trust a key").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("textbox", name="Name").fill("release")
    await dialog.get_by_role("textbox", name="Public key").fill(pem)
    await dialog.get_by_role("button", name="Trust it").click()
    await expect(page.get_by_role("button", name="Revoke release")).to_be_visible()


async def _changed(page: Page, change: str, reason: str | None = None) -> None:
    await page.get_by_role("button", name=change, exact=True).click()
    dialog = page.get_by_role("dialog")
    if reason is not None:
        await dialog.get_by_role("textbox").fill(reason)
    await dialog.get_by_role("button", name=change, exact=True).click()
    await expect(dialog).to_have_count(0)
