"""What a page of the console says beside its labels."""

import re

from playwright.async_api import Locator, Page


def fact(page: Page, label: str, at: int = 0) -> Locator:
    """The value beside a label; beside the second of that name where the first is another's."""
    pair = page.locator("dt", has_text=re.compile(f"^{label}$")).nth(at)
    return pair.locator("xpath=following-sibling::dd[1]")
