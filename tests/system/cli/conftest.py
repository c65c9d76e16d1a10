"""One furnished platform for the tests of the command line."""

from collections.abc import Iterator

import pytest
from cli_site import Site, furnish, served_site


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    """A platform with a tenant, a project, machines and the template app, and its controller."""
    with served_site() as made:
        furnish(made)
        with made.controller():
            yield made
