"""What a package set's index says, and which names are refused before anything is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuaas_lab import LabError
from gpuaas_lab.image import PACKAGES, recipe_key
from gpuaas_lab.packages import _checked, _stanza


def test_a_stanza_carries_the_control_fields_and_where_the_file_is(tmp_path: Path) -> None:
    file = tmp_path / "a_1_all.deb"
    file.write_bytes(b"12345")
    control = "Package: a\nSize: 9\nDescription: short\n long\n .\n end\nDepends: b"
    stanza = _stanza(control, file, "f" * 64).splitlines()
    assert stanza == [
        *("Package: a", "Description: short", " long", " .", " end", "Depends: b"),
        *("Filename: ./a_1_all.deb", "Size: 5", f"SHA256: {'f' * 64}"),
    ]


@pytest.mark.parametrize("name", ["-o", "a b", "a;b", "A", "", "../a"])
def test_what_is_no_package_name_never_reaches_apt(name: str) -> None:
    with pytest.raises(LabError, match="is not a package name"):
        _checked([name])


def test_names_are_a_set() -> None:
    assert _checked(["jq", "gcc", "jq"]) == ("gcc", "jq")
    with pytest.raises(LabError, match="at least one"):
        _checked([])


def test_the_image_key_changes_with_the_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    before = recipe_key("bookworm", "x86_64")
    assert before == recipe_key("bookworm", "x86_64") != recipe_key("trixie", "x86_64")
    monkeypatch.setattr("gpuaas_lab.image.PACKAGES", (*PACKAGES, "vim"))
    assert recipe_key("bookworm", "x86_64") != before
