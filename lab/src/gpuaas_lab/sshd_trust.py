"""What a machine's sshd trusts, put there as one whole: for machines made to order.

Used by `provider.py`. The order says what; this knows where it lies on a machine and what makes
sshd go by it. Returns only when the machine itself has seen that it holds.
"""

from __future__ import annotations

import base64
import io
import shlex
import tarfile
from collections.abc import Mapping
from typing import Any

from gpuaas_lab.machine import Machine

FOLDER = "/etc/ssh/gpuaas-provider"
_SSHD = f"""TrustedUserCAKeys {FOLDER}/ca.pub
AuthorizedPrincipalsFile {FOLDER}/principals/%u
RevokedKeys {FOLDER}/revoked
"""
# sshd reads the files anew for every login; of its own configuration it learns by a reload, and
# while it reloads it takes no connections.
_SCRIPT = f"""set -eu
umask 077
exec 9>/run/gpuaas-provider.lock
umask 022
flock 9
there={FOLDER}
part=/etc/ssh/sshd_config.d/gpuaas-provider.conf
new=$(mktemp -d /etc/ssh/.gpuaas-provider.XXXXXX)
trap 'rm -rf "$new"' EXIT
tar -x -C "$new"
mkdir -p "$there/principals"
# What closes comes before what opens: a crash in between leaves too little, never too much.
mv "$new/revoked" "$there/revoked"
for known in "$there"/principals/*; do
    name=${{known##*/}}
    [ -e "$known" ] && [ ! -e "$new/principals/$name" ] || continue
    # What an app wrote for people of this allocation is theirs to take back.
    [ -z "$holder" ] || [ ! -s "$known" ] || grep -qv "^$holder:" "$known" || continue
    rm "$known"
done
for wanted in "$new"/principals/*; do
    [ ! -e "$wanted" ] || mv "$wanted" "$there/principals/"
done
mv "$new/ca.pub" "$there/ca.pub"
sync "$there"/revoked "$there"/ca.pub "$there"/principals "$there"
if ! cmp -s "$new/sshd.conf" "$part"; then
    mv "$new/sshd.conf" "$part"
    /usr/sbin/sshd -t || {{ rm "$part"; exit 1; }}
    systemctl reload ssh
fi
follows=$(/usr/sbin/sshd -T)
for line in "trustedusercakeys $there/ca.pub" "revokedkeys $there/revoked" \\
    "authorizedprincipalsfile $there/principals/%u"; do
    echo "$follows" | grep -qxF "$line" || {{ echo "sshd does not go by: $line" >&2; exit 1; }}
done
"""


async def trust_put(machine: Machine, allocation_id: str, trust: Mapping[str, Any]) -> None:
    """Have sshd take exactly these certificates: of these authorities, for these principals."""
    principals: Mapping[str, list[str]] = trust["principals"]
    holder = allocation_id if principals else ""
    await machine.run(f"holder={shlex.quote(holder)}\n{_SCRIPT}", stdin=packed(trust))


def packed(trust: Mapping[str, Any]) -> bytes:
    """Everything a machine gets, as an archive."""
    files = {
        "ca.pub": "".join(f"{line}\n" for line in trust["authorities"]).encode(),
        "revoked": base64.b64decode(trust["krl"]),
        "sshd.conf": _SSHD.encode(),
    }
    for user, names in trust["principals"].items():
        files[f"principals/{user}"] = "".join(f"{name}\n" for name in names).encode()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()
