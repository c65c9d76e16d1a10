"""The code in the app team's guide runs as it stands there."""

import re
from pathlib import Path
from typing import Any

import pytest

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "app-team.md"
MACHINE = {"type": "string", "x-widget": "allocation_picker"}
MANIFEST: dict[str, Any] = {
    "manifest_version": 1,
    "runtime_backend": "files",
    "operating_modes": ["tenant_dedicated"],
    "control_plane_scopes": ["project"],
    "machine_access": ["certificate"],
    "components": [{"key": "file", "title": "File", "min_members": 1}],
    "topologies": [{"key": "single_node", "title": "One machine"}],
    "operations": [
        {
            "kind": "deploy",
            "title": "Deploy",
            "purpose": "deploy",
            "target": "instance",
            "input": {
                "type": "object",
                "additionalProperties": False,
                "properties": {"machine": MACHINE},
                "required": ["machine"],
            },
            "placement": [{"pointer": "/machine", "component": "file"}],
        },
        {
            "kind": "decommission",
            "title": "Decommission",
            "purpose": "delete",
            "target": "instance",
            "destructive": True,
            "confirmation": {"title": "Take it down?", "text": "The file is removed."},
        },
    ],
    "health": [{"word": "there", "health": "healthy"}],
    "lifecycle": {"delete": {"destroys": "The file.", "verifies_absence": True}},
    "runbook_url": "https://example.test/files",
}


@pytest.mark.skipif(not GUIDE.exists(), reason="the guide is not part of the package")
def test_the_guides_app_is_proven_by_the_guides_test(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert len(blocks) == 2
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(GUIDE), "exec"), names)  # noqa: S102 - the guide's own code
    proven = names["prove"](tmp_path, MANIFEST)
    assert proven.steps == ("write",)
