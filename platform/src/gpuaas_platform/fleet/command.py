"""The one command an operator runs on a host. Pure.

It needs Python alone: what it fetches is run only when its digest is the one in the command, so
the way there need not be trusted, and the token comes by a pipe, out of sight of process lists.
"""

import shlex
from dataclasses import dataclass
from typing import Final

from gpuaas_contract.common import API_PREFIX
from gpuaas_contract.fleet import AGENT_FILE

# The digest decides, so the certificate of where it came from is of no weight here.
_BOOTSTRAP: Final = (
    "import hashlib as h,os,ssl,sys,urllib.request as r;"
    "u,d,*a=sys.argv[1:];"
    'sys.excepthook=lambda *e:print("gpuaas-agent: the agent cannot be fetched from "+u+": "'
    '+str(getattr(e[1],"reason",e[1])),file=sys.stderr);'
    f'b=r.urlopen(u+"{API_PREFIX}/agent/{AGENT_FILE}",'
    "context=ssl._create_unverified_context(),timeout=60).read();"
    'h.sha256(b).hexdigest()==d or sys.exit("this is not the agent the command names");'
    'p="/run/gpuaas-agent.pyz";open(p,"wb").write(b);'
    'os.execv(sys.executable,[sys.executable,p,"enroll",u,*a])'
)


@dataclass(frozen=True)
class Enrolling:
    """What the command has to say."""

    platform_url: str
    token: str
    agent_digest: str
    ca_digest: str | None


def command_text(wanted: Enrolling) -> str:
    """To be run as root, in any POSIX shell."""
    words = ["python3", "-c", _BOOTSTRAP, wanted.platform_url, wanted.agent_digest]
    if wanted.ca_digest is not None:
        words += ["--ca-digest", wanted.ca_digest]
    return f"printf %s {shlex.quote(wanted.token)} | {shlex.join(words)}"
