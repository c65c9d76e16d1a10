"""Commands that ask a real platform load nothing they do not use: a list, a read, a change.

Timings are measured by `python -m bench start`; this is what keeps them, and cannot be noisy.
"""

import subprocess
import sys

import pytest
from cli_site import EMAIL, Site

pytestmark = pytest.mark.integration
WHERE = "--tenant acme --project research"
HEAVY = {"asyncssh", "cryptography", "cyclopts", "httpx2", "mcp", "pydantic", "rich", "yaml"}


@pytest.mark.parametrize(
    ("line", "allowed"),
    [
        ("allocation list", set()),
        ("allocation list -o json", set()),
        ("allocation list -o csv", set()),
        ("allocation list -o yaml", {"yaml"}),
        ("allocation show n1", set()),
        ("whoami", set()),
        ("status", set()),
        ("node update n1 --status ready", set()),
        ("project create --name next --dry-run", set()),
        ("api GET /projects", set()),
        ("instance list --status running", set()),
        ("ssh-config n1 --renew", {"cryptography"}),
        (f"login --email {EMAIL} --password-file password --name admin {WHERE}", set()),
    ],
)
def test_a_command_loads_nothing_it_does_not_use(site: Site, line: str, allowed: set[str]) -> None:
    assert heavy_in(site, line) == (0, allowed)


def test_a_refusal_loads_nothing_either(site: Site) -> None:
    code, heavy = heavy_in(site, "allocation show alloc_0000000000000000000000")
    assert (code, heavy & HEAVY) == (4, set())


def heavy_in(site: Site, line: str) -> tuple[int, set[str]]:
    """How a command line ended, and which of the heavy modules it loaded."""
    code = f"""
import sys
from gpuaas_cli.main import called
ended = called({line.split()!r})
heavy = {HEAVY!r} & {{name.partition(".")[0] for name in sys.modules}}
sys.stderr.write("\\n" + " ".join(sorted(heavy)))
sys.exit(ended)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=site.folder,
        env=site.environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, set(done.stderr.rpartition("\n")[2].split())
