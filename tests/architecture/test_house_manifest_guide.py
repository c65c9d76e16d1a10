"""The reference in the manifest guide is what the models say."""

from __future__ import annotations

import re

from tools import manifest_guide


def test_the_reference_is_what_the_code_says() -> None:
    page = manifest_guide.PAGE.read_text()

    assert manifest_guide.rendered(page) == page, "run make docs"


def test_every_type_it_links_to_is_there() -> None:
    page = manifest_guide.PAGE.read_text()
    headings = {title.lower() for title in re.findall(r"^### (\w+)$", page, re.MULTILINE)}

    assert set(re.findall(r"\]\(#(\w+)\)", page)) - headings == set()
