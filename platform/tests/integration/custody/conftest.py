"""A server for secrets, one for all tests of this folder."""

from collections.abc import Iterator

import pytest
from openbao_server import OpenBao, openbao_running


@pytest.fixture(scope="session")
def openbao() -> Iterator[OpenBao]:
    with openbao_running() as server:
        yield server
