"""`gpuaas-slurm doctor`: can a controller with this configuration work? Each lack has a remedy."""

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass

from gpuaas_sdk import Client, GpuaasError, ServiceAccountKey
from gpuaas_sdk.contract import AppInstance
from gpuaas_slurm.command.controller import config_of, options_add
from gpuaas_slurm.command.exit import CommandError, described
from gpuaas_slurm.config import Config, ConfigError, private_key_load
from gpuaas_slurm.words import counted

HELP = """\
Say whether a controller with this configuration can work.

Looks at the files, signs in, and lists the instances it would serve. Changes nothing.
"""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    good: bool
    what: str
    remedy: str = ""


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = described(commands, "doctor", HELP)
    options_add(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Examine and say."""
    bad = asyncio.run(_say(config_of(given)))
    if bad:
        raise CommandError(f"{bad} in the way")


async def _say(config: Config) -> int:
    bad = 0
    async for finding in examined(config):
        bad += not finding.good
        mark = "ok " if finding.good else "BAD"
        remedy = f"\n     → {finding.remedy}" if finding.remedy else ""
        sys.stdout.write(f"{mark}  {finding.what}{remedy}\n")
    return bad


async def examined(config: Config) -> AsyncIterator[Finding]:
    """Everything that is looked at, in order; what cannot be reached ends it."""
    if config.private_key_file is None:
        remedy = (
            "openssl genpkey -algorithm x25519 -out FILE, register its public half, and name it"
        )
        yield Finding(False, "no private key: secrets cannot be opened", remedy)
    else:
        try:
            private_key_load(config.private_key_file)
            yield Finding(True, f"private key in {config.private_key_file}")
        except ConfigError as error:
            yield Finding(False, str(error), "make it anew and register its public half")
    if config.key_file is None or not config.key_file.is_file():
        remedy = "create a key for a service account with the role app_operator, keep it in a file"
        yield Finding(False, f"no key of a service account in {config.key_file}", remedy)
        return
    key = ServiceAccountKey(config.key_file.read_text().strip())
    try:
        async with Client(config.url, key, user_agent="gpuaas-slurm") as client:
            listed = client.pages("/app-instances", AppInstance, app_slug=config.slug)
            served = [one.resource_name async for one in listed]
    except GpuaasError as error:
        yield Finding(False, f"{config.url}: {error}", "check the address, the key and its roles")
        return
    found = f"{counted(len(served), 'instance')} of {config.slug}"
    yield Finding(True, f"{config.url} lets it in; {found}")
