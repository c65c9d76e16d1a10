"""Labs that end at the same moment share the folder their disks go to, and clear it away."""

from pathlib import Path

import pytest

from gpuaas_lab import store, teardown
from gpuaas_lab.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(state=tmp_path / "state")


async def test_a_disk_goes_though_another_lab_clears_the_way_away(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = store.lab_folder(settings, "one")
    (folder / "machines" / "n1").mkdir(parents=True)
    shared = settings.state / ".removing"
    made = Path.mkdir
    cleared: list[Path] = []

    def made_and_cleared(path: Path, mode: int = 0o777, *, exist_ok: bool = False) -> None:
        made(path, mode, exist_ok=exist_ok)
        if path == shared and not cleared:
            path.rmdir()
            cleared.append(path)

    monkeypatch.setattr(Path, "mkdir", made_and_cleared)
    await teardown._disks_remove(settings, "one")
    assert cleared == [shared]
    assert not folder.exists()
    assert not shared.exists()


def test_what_waits_there_is_nothing_when_the_folder_is_gone(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "glob", gone)
    assert teardown._in_bin(settings, "one") == []
