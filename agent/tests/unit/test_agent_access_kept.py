"""What an app wrote for its people stays while its allocation holds the machine, and no longer."""

from pathlib import Path
from typing import Any

import pytest

from gpuaas_agent import access
from gpuaas_agent.access import access_apply, access_revision
from gpuaas_agent.places import Places


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    made = Places(tmp_path)
    monkeypatch.setattr(access, "_dropin_put", lambda _: None)
    monkeypatch.setattr(access, "sessions_end", lambda: 0)
    monkeypatch.setattr(access, "file_put", lambda path, data, _: path.write_bytes(data))
    made.state.mkdir(parents=True)
    made.ssh_folder.parent.mkdir(parents=True)
    return made


def direction(holder: str, at: str) -> dict[str, Any]:
    return {
        "revision": at,
        "issued_at": at,
        "krl": "",
        "ca_keys": [],
        "principals": {"root": [holder]} if holder else {},
    }


def test_an_apps_files_stay_while_its_allocation_holds_the_machine(places: Places) -> None:
    access_apply(places, direction("alloc_1", "1"))
    folder = places.ssh_folder / "principals"
    (folder / "ada").write_text("alloc_1:user_1\n")
    (folder / "eve").write_text("alloc_1:user_2\nalloc_9:user_2\n")
    access_apply(places, direction("alloc_1", "2"))
    assert sorted(one.name for one in folder.iterdir()) == ["ada", "root"]


@pytest.mark.parametrize("holder", ["alloc_2", ""])
def test_they_go_when_the_machine_changes_hands(places: Places, holder: str) -> None:
    access_apply(places, direction("alloc_1", "1"))
    folder = places.ssh_folder / "principals"
    (folder / "ada").write_text("alloc_1:user_1\n")
    access_apply(places, direction(holder, "2"))
    assert not (folder / "ada").exists()


def test_who_goes_is_let_in_no_more_before_the_list_of_the_next_is_there(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was revoked is told for one holder: the list before must outlive whom it was for."""
    access_apply(places, direction("alloc_1", "1"))
    root = places.ssh_folder / "principals" / "root"
    seen: list[tuple[str, str]] = []

    def put(path: Path, data: bytes, _: object) -> None:
        path.write_bytes(data)
        seen.append((path.name, root.read_text()))

    monkeypatch.setattr(access, "file_put", put)
    access_apply(places, direction("alloc_2", "2"))
    written = [one for one in seen if one[0] in {"revoked", "root"}]
    assert written == [("root", ""), ("revoked", ""), ("root", "alloc_2\n")]


def test_logins_end_when_the_holder_goes_and_only_then(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[str] = []
    monkeypatch.setattr(access, "sessions_end", lambda: ended.append(access_revision(places)))
    for holder, at in (("alloc_1", "1"), ("alloc_1", "2"), ("", "3"), ("", "4"), ("alloc_2", "5")):
        access_apply(places, direction(holder, at))
    assert ended == ["2"]  # while the direction before still counted as the one that holds
    access_apply(places, direction("alloc_3", "6"))
    assert ended == ["2", "5"]
