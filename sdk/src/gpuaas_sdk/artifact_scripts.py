"""What a machine runs to fetch an artifact: one script, with whatever it has to fetch with. Pure.

The URL opens the content, so it never stands on a command line or in a file: the script reads it
from its standard input and hands it on the same way. What was fetched before a break lies beside
the destination, named by the digest, and is gone on from there. The file appears under its name
whole and verified, or not at all. Used by `artifacts.py`.
"""

import shlex
from dataclasses import dataclass
from typing import Final

REFUSED: Final = 41
"""The platform answered and does not give it: the URL has ended, or never opened it."""
NO_WAY: Final = 42
"""The platform could not be reached from the machine."""
NO_TOOL: Final = 43
"""The machine has nothing that fetches."""
WRONG: Final = 44
"""What came is not what the digest says; it was removed."""
_LACKS: Final = 45  # the machine's Python has no HTTP

# One pass: what comes is digested and written as it comes. Python from 3.6 on; where its library
# lacks something, the next tool is tried. It is written in small pieces: Linux gives a large write
# large folios, and on a machine whose memory is in pieces it spends longer finding them than
# copying (measured: 1 MiB writes take twice the processor time of 32 KiB ones).
_FETCH: Final = r"""
import sys
try:
    import _hashlib, hashlib, http.client, os, time, urllib.parse
    url = urllib.parse.urlsplit(sys.stdin.readline().strip())
    connect = http.client.HTTPConnection if url.scheme == "http" else http.client.HTTPSConnection
except (ImportError, AttributeError):
    sys.exit(@LACKS@)
part, size = sys.argv[1], int(sys.argv[2])
buffer, piece = memoryview(bytearray(1 << 17)), 1 << 15
digest = hashlib.sha256()
file = open(part, "ab+", 0)
have, failures = 0, 0
if os.fstat(file.fileno()).st_size > size:
    file.truncate(0)
file.seek(0)
while True:
    count = file.readinto(buffer)
    if not count:
        break
    digest.update(buffer[:count])
    have += count
while have < size:
    before = have
    headers = {"Range": "bytes=%d-" % have} if have else {}
    said, answered = "", False
    try:
        connection = connect(url.netloc, timeout=60)
        connection.request("GET", url.path + "?" + url.query, headers=headers)
        answer = connection.getresponse()
        answered = True
        if answer.status >= 500 or answer.status == 429:
            said = "the platform answers %d" % answer.status
        elif answer.status not in (200, 206):
            sys.stderr.write("the platform answers %d\n" % answer.status)
            sys.exit(@REFUSED@)
        else:
            if have and answer.status != 206:
                file.truncate(0)
                digest, have, before = hashlib.sha256(), 0, 0
            while have < size:
                count = answer.readinto(buffer)
                if not count:
                    break
                digest.update(buffer[:count])
                view = buffer[:count]
                while view:
                    view = view[file.write(view[:piece]):]
                have += count
    except (OSError, ValueError, http.client.HTTPException) as error:
        said = str(error) or type(error).__name__
        if getattr(error, "errno", None) in (28, 30, 122):
            sys.stderr.write(said + "\n")
            sys.exit(1)
    failures = 0 if have > before else failures + 1
    if have < size and failures >= 5:
        sys.stderr.write((said or "the content ends early") + "\n")
        sys.exit(1 if answered else @NO_WAY@)
    if have < size:
        time.sleep(min(0.2 * 2 ** failures, 5))
print(digest.hexdigest())
"""


@dataclass(frozen=True)
class Fetching:
    """What is fetched, and how it is to lie there."""

    path: str
    digest: str
    size: int
    mode: int
    owner: str


def fetch_script(wanted: Fetching) -> str:
    """Fetch, verify, put in place. The URL is the first line of the standard input."""
    if not wanted.path.startswith("/") or wanted.path.endswith("/"):
        raise ValueError(f"{wanted.path!r} is not the absolute path of a file")
    program = _FETCH.strip()
    for word, status in (("@REFUSED@", REFUSED), ("@NO_WAY@", NO_WAY), ("@LACKS@", _LACKS)):
        program = program.replace(word, str(status))
    return "\n".join(
        [
            *_beginning(wanted),
            "IFS= read -r url || exit 64",
            f"program={shlex.quote(program)}",
            _SHELL.strip(),
            *_ending(),
        ]
    )


def verify_script(wanted: Fetching, arrived: str) -> str:
    """The same end for a file that was brought in another way."""
    lines = [*_beginning(wanted), f"part={shlex.quote(arrived)}", 'sum=$(digest "$part")']
    return "\n".join([*lines, *_ending()])


def part_path(wanted: Fetching) -> str:
    """Where what has come so far lies until it is whole."""
    folder, _, _ = wanted.path.rpartition("/")
    return f"{folder}/.gpuaas-{wanted.digest.removeprefix('sha256:')[:32]}.part"


def _beginning(wanted: Fetching) -> list[str]:
    """What is wanted, and the end at once where it is there already."""
    return [
        "set -u",
        f"path={shlex.quote(wanted.path)}",
        f"want={shlex.quote(wanted.digest.removeprefix('sha256:'))}",
        f"size={wanted.size:d}",
        f"mode={wanted.mode:o}",
        f"owner={shlex.quote(wanted.owner)}",
        f"part={shlex.quote(part_path(wanted))}",
        _DIGEST.strip(),
        'mkdir -p -- "${path%/*}/" || exit 1',
        'there() { [ -f "$path" ] && [ "$(stat -c %s -- "$path")" -eq "$size" ]; }',
        'if there && [ "$(digest "$path")" = "$want" ]; then',
        '  chown -- "$owner" "$path" && chmod -- "$mode" "$path" && echo present',
        "  exit",
        "fi",
    ]


def _ending() -> list[str]:
    return [
        'if [ "$sum" != "$want" ]; then',
        '  rm -f -- "$part"',
        f'  echo "what came has the digest $sum, not $want" >&2; exit {WRONG}',
        "fi",
        'chown -- "$owner" "$part" && chmod -- "$mode" "$part" && sync -- "$part" &&',
        '  mv -fT -- "$part" "$path" && echo fetched',
    ]


# openssl uses what the processor has for this; coreutils' own is several times slower.
_DIGEST: Final = """
digest() {
  if command -v openssl >/dev/null 2>&1; then openssl dgst -sha256 -r -- "$1" | cut -d' ' -f1
  else sha256sum -- "$1" | cut -d' ' -f1; fi
}
"""

_SHELL: Final = f"""
sum=; status={_LACKS}
if command -v python3 >/dev/null 2>&1; then
  sum=$(printf '%s\\n' "$url" | python3 -c "$program" "$part" "$size"); status=$?
fi
if [ $status -ne {_LACKS} ]; then
  [ $status -eq 0 ] || exit $status
elif command -v curl >/dev/null 2>&1; then
  [ "$(stat -c %s -- "$part" 2>/dev/null || echo 0)" -eq "$size" ] ||
  printf 'url = "%s"\\n' "$url" | curl --config - --fail --silent --show-error --retry 4 \\
    --retry-connrefused --connect-timeout 15 --continue-at - --output "$part"
  case $? in 0) ;; 22|33) exit {REFUSED};; 5|6|7|28) exit {NO_WAY};; *) exit 1;; esac
  sum=$(digest "$part")
elif command -v wget >/dev/null 2>&1; then
  [ "$(stat -c %s -- "$part" 2>/dev/null || echo 0)" -eq "$size" ] ||
  printf '%s\\n' "$url" | wget -q -c -T 60 -O "$part" -i -
  case $? in 0) ;; 8) exit {REFUSED};; 4) exit {NO_WAY};; *) exit 1;; esac
  sum=$(digest "$part")
else
  echo 'no python3, curl or wget here' >&2; exit {NO_TOOL}
fi
"""
