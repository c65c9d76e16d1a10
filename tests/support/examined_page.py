"""Pages of the console as somebody with a screen reader, or with a phone, meets them; and what one
opens on them."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import Page, expect
from playwright.async_api import TimeoutError as TooLong

AXE = Path(__file__).parents[2] / "console" / "node_modules" / "axe-core" / "axe.min.js"
PHONE = 390
_STICKS_OUT = """width => [...document.querySelectorAll("#content *")]
    .filter((one) => one.getBoundingClientRect().right > width)
    .slice(-2).map((one) => one.outerHTML.slice(0, 300))"""


@dataclass(frozen=True)
class After:
    """A page after something was done on it, and where to look then."""

    path: str
    what: str
    do: Callable[[Page], Awaitable[None]]
    where: str = "#content"


def dialog(path: str, button: str) -> After:
    """What a button of a page opens."""

    async def press(page: Page) -> None:
        await page.get_by_role("button", name=button, exact=True).first.click()
        await expect(page.get_by_role("dialog").locator("form")).to_be_visible()

    return After(path, button, press, "[role=dialog]")


async def examined(page: Page, pages: Sequence[str | After]) -> dict[str, list[str]]:
    """What is wrong with pages for some; the frame around them is the same on every page."""
    await page.evaluate(f"(() => {{ {AXE.read_text()} }})()")
    found: dict[str, list[str]] = {}
    for number, one in enumerate(pages):
        found |= await _findings(page, one, frame=number == 0)
    return found


async def _findings(page: Page, one: str | After, *, frame: bool) -> dict[str, list[str]]:
    path, where = (one, "#content") if isinstance(one, str) else (one.path, one.where)
    await _arrived(page, path)
    if isinstance(one, After):
        await one.do(page)
        path = f"{path}: {one.what}"
    where = "document" if frame else f"'{where}'"
    said = await _broken_rules(page, where)
    # A phone has cards for rows, and this one is dark: another page, in other colours.
    await page.set_viewport_size({"width": PHONE, "height": 844})
    await page.emulate_media(color_scheme="dark")
    await expect(page.locator("body.awsui-dark-mode")).to_be_visible()
    try:
        fits = f"document.documentElement.scrollWidth <= {PHONE}"
        await page.wait_for_function(fits, timeout=10_000)
    except TooLong:
        said.append(f"wider than a phone: {await page.evaluate(_STICKS_OUT, PHONE)}")
    said += [f"on a phone in the dark, {one}" for one in await _broken_rules(page, where)]
    await page.emulate_media(color_scheme="light")
    await page.set_viewport_size({"width": 1280, "height": 900})
    return {path: said} if said else {}


async def _broken_rules(page: Page, where: str) -> list[str]:
    """Serious findings of axe, with what they were found on."""
    # Nothing that is asked of a page needs its style sheets fetched once more.
    options = "{resultTypes: ['violations'], preload: false}"
    results = await page.evaluate(f"axe.run({where}, {options})")
    return [
        f"{one['id']}: {node['html'][:200]}"
        for one in results["violations"]
        if one["impact"] in {"serious", "critical"}
        for node in one["nodes"][:3]
    ]


async def _arrived(page: Page, path: str) -> None:
    """Go to a page as its links do, and wait until it shows what it has read."""
    go = """path => {
        for (const one of document.querySelectorAll("#content h1")) one.dataset.left = "";
        history.pushState(null, "", path);
        dispatchEvent(new Event("popstate"));
    }"""
    await page.evaluate(go, path)
    await expect(page.locator("#content h1:not([data-left])").first).to_be_visible()
    await expect(page.get_by_text("Reading", exact=True)).to_have_count(0)
