"""The founding validation on real machines, whole: also the login is real here.

It is run from an environment that holds the wheels of CLI, SDK and contract and nothing else of
ours, against a platform it reaches by its address alone.
"""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_site import Said, Site, app_publish

from tools import host
from tools.ground import ADMINISTRATOR, Ground
from tools.setup import UV

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(600)]
ROOT = Path(__file__).resolve().parents[3]
OURS = ("contract", "sdk", "cli")


@pytest.fixture(scope="session")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with the command line's wheel and what it declares."""
    home = tmp_path_factory.mktemp("elsewhere")
    wheels = home / "wheels"
    for package in OURS:
        build = ("-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels))
        done = subprocess.run(
            [sys.executable, *build],
            cwd=ROOT / package,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    environment = {**host.environment(), "UV_INDEX_STRATEGY": "unsafe-best-match"}
    made = home / "env"
    for words in (
        ["venv", "--no-project", "--python", str(host.python_base()), str(made)],
        ["pip", "install", "--python", str(made / "bin" / "python"), "--find-links", str(wheels),
         "--constraints", str(ROOT / "requirements" / "dev.txt"),
         *(str(next(wheels.glob(f"gpuaas_{one}-*.whl"))) for one in OURS)],
    ):  # fmt: skip
        done = subprocess.run(
            [str(UV), *words],
            env=environment,
            cwd=home,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    return made / "bin"


@pytest.fixture(scope="module")
async def ground(ground_factory: Any) -> Ground:
    """Three machines held by a project."""
    found: Ground = await ground_factory("slice", 3)
    return found


@pytest.fixture
def site(ground: Ground, tmp_path: Path) -> Site:
    """Somebody who types, as the tenant's administrator."""
    made = Site(ground.url, tmp_path)
    (tmp_path / "password").write_text(ground.password)
    how = ("--email", ADMINISTRATOR, "--password-file", "password", "--project", ground.project_id)
    assert made.gpuaas("login", "--url", ground.url, *how).code == 0
    (tmp_path / "operator.key").write_text(ground.project.key)
    made.ids |= {ground.held[one]: one for one in ground.allocations}
    tenant = made.done("project", "show")["org_id"]
    assert made.gpuaas("context", "set", "--tenant", tenant).code == 0
    app_publish(made, "template")
    return made


async def test_every_check_passes_on_real_machines(site: Site, elsewhere: Path) -> None:
    with site.controller():
        silent = site.folder / "state" / "machines" / f"{site.ids['n3']}.unreachable"
        said = await asyncio.to_thread(
            _typed, elsewhere, site,
            "validate", "slice", "--app", "template", "--target", "n1", "--worker", "n2",
            "--broken", "n3", "--break-with", f"touch {silent}", "--mend-with", f"rm -f {silent}",
            "--operator-key", "operator.key", "--report-json", "slice.json",
        )  # fmt: skip
        report = json.loads((site.folder / "slice.json").read_text())
        wrong = [one for one in report["checks"] if one["result"] != "passed"]
        assert wrong == [], said.err
        assert said.code == 0
        smoke = await asyncio.to_thread(_typed, elsewhere, site, "smoke", "--app", "template")
        assert smoke.code == 0, smoke.err
    probe = "import importlib.util as u; print(u.find_spec('gpuaas_platform'))"
    python = str(elsewhere / "python")
    there = await asyncio.to_thread(
        subprocess.run, [python, "-c", probe], capture_output=True, text=True, check=True
    )
    assert there.stdout.strip() == "None"


def _typed(programs: Path, site: Site, *words: str) -> Said:
    environment = site.environment()
    environment["PATH"] = f"{programs}:{environment['PATH']}"
    done = subprocess.run(
        [str(programs / "gpuaas"), *words],
        cwd=site.folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )
    return Said(done.returncode, done.stdout, done.stderr)
