"""The agent as one file for hosts: a zipapp of the package installed beside the platform.

Served to hosts, and named by its digest in the command an operator runs there. The same package
makes the same bytes in every replica. The platform never imports it.
"""

import hashlib
import importlib.util
import io
import re
import zipfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Final

from gpuaas_contract.errors import ErrorCode
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.problems import PlatformError

_PACKAGE: Final = "gpuaas_agent"
_DISTRIBUTION: Final = "gpuaas-agent"
_NUMBERS: Final = re.compile(r"\d{1,6}(\.\d{1,6}){0,3}")
_PART: Final = "fleet.agent_file"
_SHEBANG: Final = b"#!/usr/bin/env python3\n"
# Said before anything of ours is read, in words that every Python knows.
_MAIN: Final = """import sys
if sys.version_info < (3, 11):
    sys.exit("gpuaas-agent needs Python 3.11 or newer, this is %d.%d" % sys.version_info[:2])
from gpuaas_agent.main import main
sys.exit(main())
"""
_BIRTHDAY: Final = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, repr=False)
class AgentFile:
    """The agent's bytes, their SHA-256, and which release it is."""

    content: bytes
    digest: str
    version: str

    def newer_than(self, version: str) -> bool:
        """Whether an agent of this version should be replaced; never by an older one."""
        theirs, ours = (_NUMBERS.fullmatch(text) for text in (version, self.version))
        if theirs is None or ours is None:
            return False
        return _parts(theirs[0]) < _parts(ours[0])


def agent_file(platform: Platform) -> AgentFile:
    """The agent this platform gives out; made once per process."""
    made: AgentFile | None = platform.parts.get(_PART)
    if made is None:
        made = platform.parts[_PART] = _made(_folder())
    return made


def _folder() -> Path:
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise PlatformError(
            ErrorCode.UNAVAILABLE,
            "The package gpuaas-agent is not installed beside the platform; install it there.",
        )
    return Path(spec.origin).parent


def _made(folder: Path) -> AgentFile:
    files = {f"{_PACKAGE}/{path.relative_to(folder)}": path for path in folder.rglob("*.py")}
    packed = io.BytesIO(_SHEBANG)
    packed.seek(0, io.SEEK_END)
    with zipfile.ZipFile(packed, "a", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, "__main__.py", _MAIN.encode())
        for name in sorted(files):
            _add(archive, name, files[name].read_bytes())
    content = packed.getvalue()
    return AgentFile(content, hashlib.sha256(content).hexdigest(), metadata.version(_DISTRIBUTION))


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, _BIRTHDAY)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, content)
