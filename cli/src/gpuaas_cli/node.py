"""`gpuaas node enroll`: make a host a node of the platform, by one command run on it."""

import asyncio
import shlex
import sys
from dataclasses import dataclass
from typing import Annotated, Any

from gpuaas_cli.options import Changing, Connection, Waiting
from gpuaas_cli.output import note, show
from gpuaas_cli.said import Group, Parameter
from gpuaas_cli.session import OPERATION_FAILED, Session, Stop, dry_run_show, run
from gpuaas_sdk import Request

_LOOK_SECONDS = 1.0
_OPEN = {"pending"}
# Root needs no sudo, and a bare host may not have it. Whatever shell the user has reads this line.
_AS_ROOT = "sh -c 'test $(id -u) = 0 && exec sh -s; exec sudo -n sh -s'"


@Parameter(name="*", group=Group("The host", sort_key=5))
@dataclass(frozen=True, kw_only=True)
class Host:
    """What the platform should know of the host."""

    region: Annotated[str, Parameter(help="where it is")]
    sku: Annotated[str, Parameter(help="what kind of machine it is")]
    address: Annotated[str | None, Parameter(help="how others reach it; found out if absent")] = (
        None
    )
    platform_url: Annotated[
        str | None, Parameter(help="how the host reaches the platform; its public address")
    ] = None
    ssh: Annotated[
        str | None,
        Parameter(help="user@host: run the command there for you; more words are options of ssh"),
    ] = None


@dataclass(frozen=True, kw_only=True)
@Parameter(name="*")
class Enrolling(Changing, Waiting):
    """How it is asked, and whether one stays until the host has joined."""


def enroll(
    name: Annotated[str, Parameter(help="name of the node")],
    *,
    host: Host,
    enrolling: Enrolling | None = None,
    connection: Connection | None = None,
) -> int:
    """Enrol a host: prints the command to run on it as root, or runs it there over ssh.

    The token in the command is good for one host and for an hour. --wait stays until the host
    has joined.

    Examples
    --------
    $ gpuaas node enroll gpu-7 --region north --sku h100-8
    $ gpuaas node enroll gpu-7 --region north --sku h100-8 --ssh admin@gpu-7 --wait
    """
    given = enrolling or Enrolling()
    body: dict[str, Any] = {"node": {"name": name, "region": host.region, "sku": host.sku}}
    if host.address is not None:
        body["node"]["address"] = host.address
    if host.platform_url is not None:
        body["platform_url"] = host.platform_url
    if given.dry_run:
        asked = Request("POST", "/enrolments", body)
        return dry_run_show(asked, (connection or Connection()).output)

    async def command(session: Session) -> int:
        made = await session.ask("POST", "/enrolments", body, given)
        if host.ssh is not None:
            await _there(host.ssh, made["command"])
        elif session.options.output == "table":
            note(f"run this as root on {name} before {made['enrolment']['expires_at']}:")
            sys.stdout.write(made["command"] + "\n")
            sys.stdout.flush()
        else:
            show(made, session.options.output)
        if not given.wait:
            return 0
        return await _joined(session, made["enrolment"]["id"], given.timeout)

    return run(connection, command)


async def _there(where: str, command: str) -> None:
    """Run the command on the host; the token goes by standard input, not into a process list."""
    words = ("ssh", *shlex.split(where), _AS_ROOT)
    try:
        process = await asyncio.create_subprocess_exec(
            *words, stdin=asyncio.subprocess.PIPE, stdout=sys.stderr
        )
    except FileNotFoundError as error:
        raise Stop("there is no `ssh` here: install OpenSSH's client.") from error
    await process.communicate(f"{command}\n".encode())
    if process.returncode != 0:
        raise Stop(f"ssh {where} ended with {process.returncode}: the host has not joined")


async def _joined(session: Session, enrolment_id: str, patience: float) -> int:
    """Wait until the host has used its enrolment."""
    found: dict[str, Any] = {}
    try:
        async with asyncio.timeout(patience):
            while not found.get("used_at"):
                found = await session.read(f"/enrolments/{enrolment_id}")
                if found["status"] not in _OPEN and not found["used_at"]:
                    note(f"error: the enrolment is {found['status']}")
                    return OPERATION_FAILED
                await asyncio.sleep(0 if found["used_at"] else _LOOK_SECONDS)
    except TimeoutError:
        raise Stop(f"not joined after {patience:.0f} s; the enrolment stays open") from None
    show(await session.read(f"/nodes/{found['node_id']}"), session.options.output)
    return 0
