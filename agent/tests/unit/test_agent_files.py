"""The agent's own folder, where somebody may have left something before."""

import stat
from pathlib import Path

import pytest

from gpuaas_agent.files import folder_own


def test_a_folder_of_ones_own_is_kept_and_closed(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "state"
    folder_own(folder)
    (folder / "config.json").write_text("kept")
    folder.chmod(0o755)
    folder_own(folder)
    assert (folder / "config.json").read_text() == "kept"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("planted", ["link", "writable", "file"])
def test_what_others_left_in_its_place_is_not_trusted(tmp_path: Path, planted: str) -> None:
    folder, elsewhere = tmp_path / "state", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "identity").write_text("theirs")
    if planted == "link":
        folder.symlink_to(elsewhere)
    elif planted == "file":
        folder.write_text("")
    else:
        folder.mkdir()
        (folder / "identity").symlink_to(elsewhere / "identity")
        folder.chmod(0o777)
    folder_own(folder)
    assert not folder.is_symlink()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list(folder.iterdir()) == []
    assert (elsewhere / "identity").read_text() == "theirs"
