"""What somebody is called on machines, as pure rules: a Unix name from an email address.

Called by the store when a user is made. A name is made once and kept: it stands in the files and
records of machines.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

FIRST_UID: Final = 200_000
"""Above every distribution's own ranges (people, sub-ids of one person, dynamic users)."""

_LONGEST: Final = 32
_NUMBERED: Final = re.compile(r"u\d+")
# Names that mean something on a machine before anybody is added to it.
_TAKEN: Final = frozenset(
    {
        "adm", "admin", "audio", "backup", "bin", "cdrom", "chrony", "daemon", "debian", "dialout",
        "disk", "docker", "fax", "floppy", "ftp", "games", "gnats", "halt", "input", "irc", "kmem",
        "kvm", "list", "lp", "mail", "man", "messagebus", "mysql", "news", "nginx", "nobody",
        "nogroup", "ntp", "operator", "plugdev", "polkitd", "postgres", "proxy", "redis", "render",
        "root", "sgx", "shadow", "shutdown", "src", "sshd", "staff", "sudo", "sync", "sys",
        "systemd-network", "systemd-resolve", "systemd-timesync", "tape", "tty", "ubuntu", "users",
        "utmp", "uucp", "video", "voice", "wheel", "www-data",
    }
)  # fmt: skip


def posix_names(email: str, uid: int) -> Iterator[str]:
    """Names to try, best first; the last one is nobody else's by its making."""
    base = _base(email)
    if base and base not in _TAKEN:
        yield base
    for number in range(2, 10):
        if base:
            yield f"{base[: _LONGEST - 1]}{number}"
    yield f"u{uid}"


def _base(email: str) -> str:
    local = email.partition("@")[0].partition("+")[0]
    plain = unicodedata.normalize("NFKD", local).encode("ascii", "ignore").decode().lower()
    word = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    if word and not word[0].isalpha():
        word = f"u-{word}"
    if _NUMBERED.fullmatch(word):  # that form is for those who get no other name
        word = f"u-{word[1:]}"
    return word[:_LONGEST].rstrip("-")
