"""A direction about access that somebody kept and sends again is known as such."""

from pathlib import Path

import pytest

from gpuaas_agent.access import access_stale
from gpuaas_agent.files import json_put
from gpuaas_agent.places import Places


@pytest.mark.parametrize(
    ("told", "stale"),
    [
        ("2026-11-15T17:00:00Z", False),
        ("2026-11-15T17:00:00.5Z", False),
        ("2026-11-15T16:59:45Z", False),  # another replica's clock
        ("2026-11-15T16:50:00Z", True),
    ],
)
def test_older_than_what_holds(tmp_path: Path, told: str, *, stale: bool) -> None:
    places = Places(tmp_path)
    assert not access_stale(places, {"issued_at": told})
    places.state.mkdir(parents=True)
    json_put(places.access, {"revision": "r", "issued_at": "2026-11-15T17:00:00.25Z"})
    assert access_stale(places, {"issued_at": told}) is stale
