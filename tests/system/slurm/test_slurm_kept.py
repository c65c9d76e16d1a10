"""What a machine had before a cluster came stays when it goes: packages, keys, databases, users.

By the app's own scripts, as its steps run them, on one machine that had munge, a database server
and a user `slurm` of somebody else's; then on the same without the server, whose files stay.
"""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import pytest

from gpuaas_lab import Lab, Machine, packages
from gpuaas_slurm.bundling import ROLES
from gpuaas_slurm.delivery import bundle_name
from gpuaas_slurm.distribution import DISTRIBUTIONS
from gpuaas_slurm.model import Accounting
from gpuaas_slurm.onmachine.residue import residue_env, residue_found
from gpuaas_slurm.onmachine.scripts import HOME, MUNGE_KEY, Script, script_text
from gpuaas_slurm.render.slurmdbd_conf import database_statements
from tools.slurm_site import bundles_ready
from tools.suites import suites

pytestmark = [
    pytest.mark.system,
    pytest.mark.timeout(600),
    pytest.mark.rotates("trouble around a cluster"),
]

SUITE: Final = suites()[0]
DISTRIBUTION: Final = DISTRIBUTIONS[SUITE]
BUNDLE: Final = f"{HOME}.tar"
LINKS: Final = " ".join(f"{link.path}:{link.target}" for link in DISTRIBUTION.links)
THEIRS: Final = (
    "useradd --system slurm && systemctl enable --now munge mariadb"
    " && mariadb -e 'CREATE DATABASE theirs; CREATE TABLE theirs.kept (n int)'"
)
DATABASES: Final = "SHOW DATABASES; SHOW TABLES IN theirs; SELECT user FROM mysql.user"
STANDS: Final = (
    "dpkg-query -W -f '${db:Status-Abbrev} ${Package}\\n'; cat /etc/passwd /etc/group"
    f" && sha256sum {MUNGE_KEY} && munge -n | unmunge >/dev/null"
    f" && systemctl is-active munge mariadb && mariadb -N -e {shlex.quote(DATABASES)}"
)
STOPS: Final = "systemctl disable --now mariadb"
REMOVES: Final = "dpkg --remove mariadb-server"
SERVER: Final = "dpkg-query -W -f '${db:Status-Status}' mariadb-server"
FILES: Final = "cd /var/lib/mysql && ls -d */ && ls theirs /etc/mysql/mariadb.cnf"
ACCOUNTING: Final = Accounting()


async def test_what_was_there_before_a_cluster_stays_when_it_goes(
    lab_factory: Callable[..., Awaitable[Lab]],
) -> None:
    lab = await lab_factory("slurm-kept", 1, SUITE)
    machine = lab.machine("n1")
    names = DISTRIBUTION.packages(ROLES["controller"])
    offered = await packages.fetch(SUITE, names)
    await lab.install(["n1"], replace(offered, names=("mariadb-server", "munge")))
    await machine.run(THEIRS)
    before = (await machine.run(STANDS)).stdout

    await comes(machine, names)
    assert (await machine.run(STANDS)).stdout != before
    left = await residue(machine)
    assert "munge installed" not in left["package"]
    assert "slurmctld installed" in left["package"]
    await goes(machine)
    assert (await machine.run(STANDS)).stdout == before

    # Without their server, its files are theirs all the same.
    await machine.run(f"{STOPS} && {REMOVES}")
    before = (await machine.run(FILES)).stdout
    await comes(machine, names)
    assert (await machine.run(FILES)).stdout != before
    await goes(machine)
    assert (await machine.run(FILES)).stdout == before
    assert (await machine.run(SERVER)).stdout == "not-installed"


async def comes(machine: Machine, names: Sequence[str]) -> None:
    """What the steps of a deploy bring that can be somebody else's."""
    bundle = await bundles_ready(SUITE) / bundle_name(SUITE, "controller")
    await machine.write(BUNDLE, bundle.read_bytes())
    wanted = {"NAMES": " ".join(names), "LINKS": LINKS, "ARCHIVE": BUNDLE}
    await ran(machine, Script("install", wanted))
    await ran(machine, Script("munge", input=b"k" * 1024))
    statements = "".join(f"{one};\n" for one in database_statements(ACCOUNTING))
    await ran(machine, Script("database", {"DATABASE": ACCOUNTING.database}, statements.encode()))


async def goes(machine: Machine) -> None:
    """What the last step of a decommission does; nothing of ours is left."""
    probe = residue_env(kept_packages=False)
    cleaning = {"LINKS": LINKS, "DATABASE": ACCOUNTING.database, "PROBE": script_text("residue")}
    await ran(machine, Script("clean", {**probe, **cleaning}))
    assert await residue(machine) == {}


async def ran(machine: Machine, script: Script) -> None:
    """Run a script as a step does."""
    await machine.run(
        f"{given(script.environment)} sh -c {shlex.quote(script.text)}", stdin=script.input
    )


async def residue(machine: Machine) -> dict[str, list[str]]:
    """What the probe says that runs once everything is taken off."""
    env = given(residue_env(kept_packages=False))
    return residue_found((await machine.run(f"{env} sh -s", stdin=script_text("residue"))).stdout)


def given(env: Mapping[str, str]) -> str:
    """An environment in front of a command."""
    return "env " + " ".join(f"{name}={shlex.quote(value)}" for name, value in env.items())
