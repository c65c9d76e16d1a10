"""The host's sources are read in both styles and carried over to another suite, or refused."""

from __future__ import annotations

import pytest

from gpuaas_lab import NoSource
from gpuaas_lab.sources import Entry, Release, for_suite, parse, release_parse, render

DEBIAN = Release("debian", "bookworm")
UBUNTU = Release("ubuntu", "noble")

DEB822 = """\
# a comment
Types: deb deb-src
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates bookworm-backports
Components: main contrib
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Enabled: no
Types: deb
URIs: http://off.example/
Suites: bookworm
Components: main

Types: deb-src
URIs: http://source.example/
Suites: bookworm
Components: main
"""

LINES = """\
# deb http://old.example/ bookworm main
deb http://mirror.example/debian bookworm main # inline
deb-src http://mirror.example/debian bookworm main
deb [arch=amd64,arm64 signed-by=/etc/key.gpg] https://mirror.example/debian bookworm-updates main
deb https://vendor.example/apt vendor-bookworm main
"""


def test_deb822_keeps_enabled_binary_sources_only() -> None:
    entries = parse(DEB822, "debian.sources")
    assert [entry.uris[0] for entry in entries] == [
        "http://mirror.example/debian",
        "http://mirror.example/debian-security",
    ]
    assert "BEGIN PGP" in dict(entries[0].fields)["Signed-By"]


def test_one_line_style_keeps_its_options() -> None:
    entries = parse(LINES, "sources.list")
    assert [entry.suites for entry in entries] == [
        ("bookworm",),
        ("bookworm-updates",),
        ("vendor-bookworm",),
    ]
    assert dict(entries[1].fields) == {"Architectures": "amd64 arm64", "Signed-By": "/etc/key.gpg"}


def test_another_suite_is_derived_without_backports_and_vendors() -> None:
    for text, name in ((DEB822, "debian.sources"), (LINES, "sources.list")):
        derived = for_suite(parse(text, name), DEBIAN, "trixie")
        suites = {suite for entry in derived for suite in entry.suites}
        assert suites <= {"trixie", "trixie-updates", "trixie-security"}
        assert {"trixie", "trixie-updates"} <= suites


def test_the_hosts_own_suite_is_used_as_it_is() -> None:
    own = for_suite(parse(DEB822, "debian.sources"), DEBIAN, "bookworm")
    assert own[0].suites == ("bookworm", "bookworm-updates")


def test_an_entry_that_names_the_suite_wins_over_derived_ones() -> None:
    entries = [
        Entry(("http://a.example",), ("bookworm",), ("main",)),
        Entry(("http://b.example",), ("trixie",), ("main",)),
    ]
    assert [entry.uris for entry in for_suite(entries, DEBIAN, "trixie")] == [("http://b.example",)]


def test_an_ubuntu_host_serves_its_own_suite_and_refuses_debian() -> None:
    entries = [Entry(("http://u.example",), ("noble", "noble-updates"), ("main", "universe"))]
    assert for_suite(entries, UBUNTU, "noble")[0].suites == ("noble", "noble-updates")
    with pytest.raises(NoSource, match="no package source of this ubuntu noble host serves trixie"):
        for_suite(entries, UBUNTU, "trixie")


def test_what_is_rendered_reads_back_the_same() -> None:
    entries = parse(DEB822, "debian.sources")
    assert parse(render(entries), "again.sources") == entries


def test_os_release_is_read_with_and_without_quotes() -> None:
    assert release_parse('ID=debian\nVERSION_CODENAME="trixie"\n') == Release("debian", "trixie")
