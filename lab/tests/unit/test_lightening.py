"""A package that was packed anew holds what it held, and unpacks without xz."""

from __future__ import annotations

import io
import lzma
import subprocess
import tarfile
from pathlib import Path

from gpuaas_lab.lightening import package_lighten

CONTROL = b"Package: odd\nVersion: 1\nArchitecture: all\nMaintainer: Nobody\nDescription: odd\n"


def _tar(name: str, content: bytes) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.GNU_FORMAT) as archive:
        entry = tarfile.TarInfo(name)
        entry.size, entry.uid, entry.mode = len(content), 4711, 0o4755
        archive.addfile(entry, io.BytesIO(content))
    return made.getvalue()


def _member(name: str, content: bytes) -> bytes:
    head = f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode()
    return head + content + b"\n" * (len(content) % 2)


def _told(*words: str | Path) -> bytes:
    return subprocess.run(["dpkg-deb", *words], check=True, capture_output=True).stdout


def test_a_package_keeps_what_it_holds_and_loses_its_slow_packing(tmp_path: Path) -> None:
    package, data = tmp_path / "odd_1_all.deb", _tar("./usr/bin/odd", b"an odd length")
    package.write_bytes(
        b"!<arch>\n"
        + _member("debian-binary", b"2.0\n")
        + _member("control.tar.xz", lzma.compress(_tar("./control", CONTROL)))
        + _member("data.tar.xz", lzma.compress(data))
    )
    package_lighten(package)
    assert b"data.tar.gz" in package.read_bytes()
    assert b".xz" not in package.read_bytes()
    assert _told("--fsys-tarfile", package) == data
    assert _told("--field", package, "Version") == b"1\n"


def test_a_package_that_is_packed_otherwise_stays_as_it_is(tmp_path: Path) -> None:
    package, data = tmp_path / "plain_1_all.deb", _tar("./usr/bin/odd", b"even")
    members = (("debian-binary", b"2.0\n"), ("data.tar", data))
    whole = b"!<arch>\n" + b"".join(_member(*one) for one in members)
    package.write_bytes(whole)
    package_lighten(package)
    assert package.read_bytes() == whole
